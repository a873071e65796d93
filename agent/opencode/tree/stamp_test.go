package tree

import (
	"os"
	"path/filepath"
	"testing"

	"mend/change"
	"mend/internal/test/storetest"
)

// TestStampChanges: every change of a record or a name gives another stamp.
func TestStampChanges(t *testing.T) {
	root := storetest.SmallTree(t)
	s := mustOpen(t, root, Options{})
	seen := map[[32]byte]string{}
	wantNewStamp := func(after string) {
		t.Helper()
		stamp, err := s.Stamp(t.Context(), change.Head{ID: "ses_1"})
		must(t, err)
		if other, known := seen[stamp.Sum]; known {
			t.Errorf("the stamp after %s equals the stamp after %s", after, other)
		}
		seen[stamp.Sum] = after
	}
	wantNewStamp("nothing")
	storetest.Put(t, root, "part/msg_1/prt_8.json", storetest.TextJSON("msg_1", "prt_8", "x"))
	wantNewStamp("a new part")
	storetest.Put(t, root, "part/msg_1/prt_8.json", storetest.TextJSON("msg_1", "prt_8", "xy"))
	wantNewStamp("a longer part")
	must(t, os.Rename(filepath.Join(root, "part/msg_1/prt_8.json"), filepath.Join(root, "part/msg_1/prt_7.json")))
	wantNewStamp("another name")
	must(t, os.Rename(filepath.Join(root, "part/msg_1/prt_7.json"), filepath.Join(root, "part/msg_2/prt_7.json")))
	wantNewStamp("another message")
	storetest.Put(t, root, "message/ses_1/msg_8.json", storetest.MessageJSON("ses_1", "msg_8", "user", 9))
	wantNewStamp("a new message")
}
