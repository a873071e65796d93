package fsstore_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/agent/opencode/tree"
	"mend/change"
	"mend/fsstore"
	"mend/internal/test/storetest"
)

// TestLostStaging: if the staging folder or its files are lost after a crash, the change is still reverted or finished.
func TestLostStaging(t *testing.T) {
	for name, spoil := range map[string]func(stage string) error{
		"gone":    os.RemoveAll,
		"no mend": func(stage string) error { return os.RemoveAll(filepath.Dir(filepath.Dir(stage))) },
		"empty":   func(stage string) error { return eachSlot(stage, os.Remove) },
	} {
		for n := 1; n <= 4; n++ {
			root := storetest.SmallTree(t)
			s, staged := killCommit(t, root, n)
			if err := spoil(filepath.Join(root, staged.Dir)); err != nil {
				t.Fatal(err)
			}
			// The recovery is cut, too.
			for j := 0; ; j++ {
				f := &storetest.Fault{At: j}
				_, err := mustOpen(t, root, tree.Options{Owner: "own", Step: f.Step}).Settle(t.Context(), staged)
				if !f.Hit() {
					break
				}
				if err == nil {
					t.Errorf("%s: Settle = nil after a fault at %q", name, f.Calls[j])
				}
			}
			want := change.Aborted
			if n == 4 { // everything is in place
				want = change.Committed
			}
			out := settleTwice(t, s, staged, want)
			if len(out.Kept) > 0 {
				t.Errorf("%s, killed at call %d: %+v", name, n, out)
			}
			for _, o := range staged.Ops {
				images, err := s.Read(t.Context(), storetest.Refs(o))
				image := o.Pre
				if n == 4 {
					image = o.Post
				}
				if err != nil || !images[0].Equal(image) {
					t.Errorf("%s, killed at call %d: %s holds %+v, %v", name, n, o.Ref, images[0], err)
				}
			}
			wantNoMend(t, root)
		}
	}
}

func eachSlot(stage string, f func(path string) error) error {
	entries, err := os.ReadDir(stage)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		if err := f(filepath.Join(stage, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// TestStepsOfRestage pins the calls of a Settle that reverts a finished change without its staged files: new ones are
// durable before they are renamed.
func TestStepsOfRestage(t *testing.T) {
	root := storetest.SmallTree(t)
	_, staged := killCommit(t, root, 4)
	if err := os.RemoveAll(filepath.Join(root, fsstore.MendDir)); err != nil {
		t.Fatal(err)
	}
	storetest.Put(t, root, "part/msg_4/prt_41.json", "another program's")
	f := &storetest.Fault{At: 1 << 30}
	if _, err := mustOpen(t, root, tree.Options{Owner: "own", Step: f.Step}).Settle(t.Context(), staged); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(f.Calls, "\n"); got != stepsOfRestage {
		t.Errorf("the calls are\n%s\nwant\n%s", got, stepsOfRestage)
	}
}

const stepsOfRestage = `mkdir .mend
mkdir .mend/own
mkdir .mend/own/1.again
stage part msg_1/prt_11
write part msg_1/prt_11
chmod part msg_1/prt_11
stage part msg_1/prt_13
write part msg_1/prt_13
chmod part msg_1/prt_13
barrier
restage part msg_1/prt_11
restage part msg_1/prt_13
place part msg_1/prt_13
exchange part msg_1/prt_11
rmdir part/msg_4
barrier .mend/own/1.again .mend . part part/msg_1 part/msg_4`

// TestLostStagingRollback: a Settle that reverts a change without its staged files may be cut at each call.
func TestLostStagingRollback(t *testing.T) {
	for cut := 0; ; cut++ {
		root := storetest.SmallTree(t)
		before := storetest.Snapshot(t, root, fsstore.MendDir)
		s, staged := killCommit(t, root, 4)
		if err := os.RemoveAll(filepath.Join(root, fsstore.MendDir)); err != nil {
			t.Fatal(err)
		}
		storetest.Put(t, root, "part/msg_4/prt_41.json", "another program's")
		f := &storetest.Fault{At: cut}
		_, err := mustOpen(t, root, tree.Options{Owner: "own", Step: f.Step}).Settle(t.Context(), staged)
		if f.Hit() && err == nil {
			t.Errorf("Settle = nil after a fault at %q", f.Calls[cut])
		}
		out := settleTwice(t, s, staged, change.Conflicted)
		if len(out.Conflicts) != 1 || string(out.Conflicts[0].Now.Data) != "another program's" {
			t.Errorf("cut at %d: %+v", cut, out)
		}
		got := storetest.Snapshot(t, root, "")
		delete(got, "part/msg_4/prt_41.json")
		delete(got, "part/msg_4")
		if !maps.Equal(got, before) {
			t.Errorf("cut at %d: the tree holds %v, want %v", cut, got, before)
		}
		if !f.Hit() {
			return
		}
	}
}
