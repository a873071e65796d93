package fsstore_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mend/agent/opencode/tree"
	"mend/change"
	"mend/fsstore"
	"mend/internal/test/storetest"
)

// TestForeignBytesAfterExchange: if a crash follows an exchange that took out another program's bytes, Settle puts them
// back.
func TestForeignBytesAfterExchange(t *testing.T) {
	for _, part := range []string{"prt_11", "prt_13"} {
		root := storetest.SmallTree(t)
		name := filepath.Join(root, "part/msg_1", part+".json")
		s := mustOpen(t, root, tree.Options{Owner: "own"})
		staged := prepareMixed(t, s)
		if err := os.WriteFile(name, []byte("another program's"), 0o644); err != nil {
			t.Fatal(err)
		}
		before := storetest.Snapshot(t, root, fsstore.MendDir)
		if err := s.Exchange(staged, part); err != nil {
			t.Fatal(err)
		}
		out := settleTwice(t, s, staged, change.Aborted)
		if len(out.Conflicts) != 1 || out.Conflicts[0].Ref.Part != part || string(out.Conflicts[0].Now.Data) != "another program's" {
			t.Errorf("%s: %+v", part, out)
		}
		if got := storetest.Snapshot(t, root, ""); !maps.Equal(got, before) {
			t.Errorf("%s: the tree holds %v, want %v", part, got, before)
		}
	}
}

// TestRollbackTouchesOnlyItsOps: a rollback leaves records alone that were not exchanged yet.
func TestRollbackTouchesOnlyItsOps(t *testing.T) {
	root := storetest.SmallTree(t)
	_, staged := killCommit(t, root, 1)
	storetest.Put(t, root, "part/msg_1/prt_13.json", "another program's")
	f := &storetest.Fault{At: 1 << 30}
	s := mustOpen(t, root, tree.Options{Owner: "own", Step: f.Step})
	if out, err := s.Settle(t.Context(), staged); err != nil || out.State != change.Aborted {
		t.Fatalf("Settle = %+v, %v, want %s", out, err, change.Aborted)
	}
	if want := []string{"rmdir part/msg_4", "barrier .mend/own/1 .mend . part part/msg_1"}; !slices.Equal(f.Calls, want) {
		t.Errorf("the calls are %q, want %q", f.Calls, want)
	}
}

// TestCrashedUndoIsReverted: if an undo has removed a folder before a crash and must be reverted, the folder and its content
// are restored.
func TestCrashedUndoIsReverted(t *testing.T) {
	for cut := 0; ; cut++ {
		root := storetest.SmallTree(t)
		s := mustOpen(t, root, tree.Options{Owner: "own"})
		done := storetest.Apply(t, s, storetest.MixedOps(t, mustLoad(t, s).AllRecords))
		if err := os.Chmod(filepath.Join(root, "part/msg_4"), 0o750); err != nil {
			t.Fatal(err)
		}
		done.Ops[0].Post.Mode = fs.ModeDir | 0o750
		before := storetest.Snapshot(t, root, "")
		staged, err := s.Prepare(t.Context(), change.Plan{Ops: change.Inverse(done.Ops)})
		if err != nil {
			t.Fatal(err)
		}
		f := &storetest.Fault{At: 4} // 0 place prt_13, 1 take prt_41, 2 exchange prt_11, 3 rmdir, 4 barrier
		if _, err := mustOpen(t, root, tree.Options{Owner: "own", Step: f.Step}).Commit(t.Context(), staged); err == nil {
			t.Fatal("Commit survived the crash")
		}
		storetest.Put(t, root, "part/msg_1/prt_11.json", "another program's")
		f = &storetest.Fault{At: cut}
		_, _ = mustOpen(t, root, tree.Options{Owner: "own", Step: f.Step}).Settle(t.Context(), staged)
		settleTwice(t, s, staged, change.Conflicted)
		got := storetest.Snapshot(t, root, "")
		delete(got, "part/msg_1/prt_11.json")
		delete(before, "part/msg_1/prt_11.json")
		if !maps.Equal(got, before) {
			t.Errorf("cut at %d: the tree holds %v, want %v", cut, got, before)
		}
		if !f.Hit() {
			return
		}
	}
}

// TestFolderRemovedBeforeRevert: bytes of another program that cannot be put back, because their folder is gone, are kept.
func TestFolderRemovedBeforeRevert(t *testing.T) {
	root := storetest.SmallTree(t)
	s := mustOpen(t, root, tree.Options{Owner: "own"})
	loaded := mustLoad(t, s)
	after := loaded.Clone()
	after.Messages[1].Remove(after.Messages[1].Parts[0].Ref)
	staged, err := s.Prepare(t.Context(), change.Plan{Ops: change.Diff(loaded.AllRecords, after.AllRecords)})
	if err != nil {
		t.Fatal(err)
	}
	storetest.Put(t, root, "part/msg_2/prt_21.json", "another program's")
	f := &storetest.Fault{At: 1} // after the exchange
	if _, err := mustOpen(t, root, tree.Options{Owner: "own", Step: f.Step}).Commit(t.Context(), staged); err == nil {
		t.Fatal("Commit survived the crash")
	}
	if err := os.RemoveAll(filepath.Join(root, "part/msg_2")); err != nil {
		t.Fatal(err)
	}
	out := settleTwice(t, s, staged, change.Conflicted)
	if len(out.Kept) != 1 {
		t.Fatalf("Settle = %+v, want a file that is kept", out)
	}
	if data, err := os.ReadFile(filepath.Join(root, out.Kept[0])); string(data) != "another program's" {
		t.Errorf("%s holds %q, %v", out.Kept[0], data, err)
	}
}
