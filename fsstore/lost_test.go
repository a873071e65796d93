package fsstore_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"mend/agent/opencode/tree"
	"mend/change"
	"mend/fsstore"
	"mend/internal/test/storetest"
)

// TestLostStaging removes or damages the staging folder after each crash: the change is still reverted or complete.
func TestLostStaging(t *testing.T) {
	for name, spoil := range map[string]func(stage string) error{
		"gone":    os.RemoveAll,
		"no mend": func(stage string) error { return os.RemoveAll(filepath.Dir(filepath.Dir(stage))) },
		"zero":    func(stage string) error { return eachSlot(stage, func(p string) error { return os.Truncate(p, 0) }) },
		"torn":    func(stage string) error { return eachSlot(stage, func(p string) error { return os.Truncate(p, 7) }) },
		"empty":   func(stage string) error { return eachSlot(stage, os.Remove) },
	} {
		for n := 1; n <= 4; n++ {
			if n > 1 && (name == "zero" || name == "torn") {
				continue // then some staged files hold a Pre, and any other content belongs to another program
			}
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
					t.Errorf("%s: Settle survived a crash at %q", name, f.Calls[j])
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

// TestLostStagingRollback does the same after another program has written, so that the change is
// reverted without its staged files, and is cut at each call.
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
			t.Errorf("Settle survived a crash at %q", f.Calls[cut])
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
