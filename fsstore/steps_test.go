package fsstore_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mend/agent/opencode/tree"
	"mend/change"
	"mend/internal/test/storetest"
)

// TestSteps pins the calls that change the disk, in their order, and the folders that each barrier syncs.
func TestSteps(t *testing.T) {
	root := storetest.SmallTree(t)
	if err := os.RemoveAll(filepath.Join(root, "part/msg_2")); err != nil {
		t.Fatal(err)
	}
	f := &storetest.Fault{At: 1 << 30}
	s := mustOpen(t, root, tree.Options{Owner: "own", Step: f.Step})
	st := storetest.Apply(t, s, storetest.MixedOps(t, mustLoad(t, s).AllRecords))
	f.Calls = append(f.Calls, "-- undo")
	storetest.Apply(t, s, change.Inverse(st.Ops))
	got := regexp.MustCompile(`[0-9a-f]{64}`).ReplaceAllString(strings.Join(f.Calls, "\n"), "HASH")
	if got != steps {
		t.Errorf("the calls are\n%s\nwant\n%s", got, steps)
	}
}

// steps are the calls of a change with an op of every kind, and of its undo.
const steps = `mkdir .mend
mkdir .mend/own
mkdir .mend/own/1.new
stage folder msg_4/
chmod folder msg_4/
stage part msg_1/prt_11
write part msg_1/prt_11
chmod part msg_1/prt_11
stage part msg_4/prt_41
write part msg_4/prt_41
chmod part msg_4/prt_41
barrier .mend/own/1.new .mend/own .mend .
finish .mend/own/1
make folder msg_4/
exchange part msg_1/prt_11
place part msg_4/prt_41
take part msg_1/prt_13
barrier .mend/own/1 .mend . part part/msg_1 part/msg_4
unlink .mend/own/1/1-HASH-HASH
unlink .mend/own/1/3-none-HASH
rmdir .mend/own/1
rmdir .mend/own
rmdir .mend
-- undo
mkdir .mend
mkdir .mend/own
mkdir .mend/own/1.new
stage part msg_1/prt_13
write part msg_1/prt_13
chmod part msg_1/prt_13
stage part msg_1/prt_11
write part msg_1/prt_11
chmod part msg_1/prt_11
barrier .mend/own/1.new .mend/own .mend .
finish .mend/own/1
place part msg_1/prt_13
take part msg_4/prt_41
exchange part msg_1/prt_11
rmdir part/msg_4
barrier .mend/own/1 .mend . part/msg_1 part
unlink .mend/own/1/1-none-HASH
unlink .mend/own/1/2-HASH-HASH
rmdir .mend/own/1
rmdir .mend/own
rmdir .mend`
