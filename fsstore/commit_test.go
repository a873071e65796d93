package fsstore_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"mend/agent/opencode/tree"
	"mend/change"
	"mend/fsstore"
	"mend/internal/test/storetest"
)

// TestMissingFolders: a change creates missing folders, on two levels, with the mode of the folder above. Its undo removes
// them, except a folder with a file of another program.
func TestMissingFolders(t *testing.T) {
	for _, other := range []bool{false, true} {
		testMissingFolders(t, other)
	}
}

func testMissingFolders(t *testing.T, other bool) {
	t.Helper()
	root := storetest.SmallTree(t)
	if err := os.RemoveAll(filepath.Join(root, "part")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root, 0o750); err != nil {
		t.Fatal(err)
	}
	before := storetest.Snapshot(t, root, "")
	s := mustOpen(t, root, tree.Options{Owner: "own"})
	loaded := mustLoad(t, s)
	after := loaded.Clone()
	for i := range after.Messages {
		m := &after.Messages[i]
		m.Insert(after.NewTextPart(m, "prt_"+m.ID, "[user interrupted]"))
		m.Parts[0].Mode = 0o640
	}
	st := storetest.Apply(t, s, change.Diff(loaded.AllRecords, after.AllRecords))
	if len(st.Ops) != 4+5 {
		t.Errorf("Prepare returns %d ops, want 4 and 5 folders", len(st.Ops))
	}
	for _, p := range []string{"part", "part/msg_2"} {
		if fi, err := os.Stat(filepath.Join(root, p)); err != nil || fi.Mode() != fs.ModeDir|0o750 {
			t.Errorf("%s is %v, %v, want a folder with the mode of the folder above", p, fi, err)
		}
	}
	if got := mustLoad(t, s).Messages[3].Parts; len(got) != 1 || got[0].Defect != nil || got[0].Text != "[user interrupted]" {
		t.Errorf("the new part is %+v", got)
	}
	if other {
		storetest.Put(t, root, "part/msg_2/other.json", "{}")
	}
	storetest.Apply(t, s, change.Inverse(st.Ops))
	if other {
		if _, err := os.Stat(filepath.Join(root, "part/msg_2/other.json")); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(filepath.Join(root, "part")); err != nil {
			t.Fatal(err)
		}
	}
	if got := storetest.Snapshot(t, root, ""); !maps.Equal(got, before) {
		t.Errorf("after the undo the tree holds %v, want %v", got, before)
	}
}

// TestFolderMeanwhile: if another program creates the folder that the change creates, or removes the folder that the undo
// removes, a rollback leaves the folder as the other program did.
func TestFolderMeanwhile(t *testing.T) {
	root := storetest.SmallTree(t)
	s := mustOpen(t, root, tree.Options{Owner: "own"})
	staged := prepareMixed(t, s)
	folder := filepath.Join(root, "part/msg_4")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := cancelAfter(t, 2)
	defer cancel()
	if out, err := s.Commit(ctx, staged); err != nil || out.State != change.Aborted || out.Cause == nil {
		t.Errorf("Commit = %+v, %v, want %s", out, err, change.Aborted)
	}
	if _, err := os.Stat(folder); err != nil {
		t.Errorf("the folder that another program created is gone: %v", err)
	}
	if out, err := s.Settle(t.Context(), staged); err != nil || out.State != change.Aborted {
		t.Errorf("Settle = %+v, %v, want %s", out, err, change.Aborted)
	}
	if err := s.Discard(t.Context(), staged); err != nil {
		t.Fatal(err)
	}
	storetest.Apply(t, s, staged.Ops)
	undo, err := s.Prepare(t.Context(), change.Plan{Ops: change.Inverse(staged.Ops)})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(root, "part/msg_4/prt_41.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	out, err := s.Commit(t.Context(), undo)
	if err != nil || out.State != change.Aborted || len(out.Conflicts) != 1 || out.Conflicts[0].Ref.Part != "prt_41" {
		t.Errorf("Commit = %+v, %v, want %s and a conflict on prt_41", out, err, change.Aborted)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("the folder that another program removed exists again")
	}
}

// TestVanishedFolder: if another program removes the folder of the records, before Commit or after a crash in it, each of
// their ops is a conflict, and no folder is created again.
func TestVanishedFolder(t *testing.T) {
	for _, at := range []int{0, 1, 2, 3, 4} { // of Commit's calls; 4 is the barrier
		root := storetest.SmallTree(t)
		s := mustOpen(t, root, tree.Options{Owner: "own"})
		staged := prepareMixed(t, s)
		if at > 0 {
			f := &storetest.Fault{At: at}
			if _, err := mustOpen(t, root, tree.Options{Owner: "own", Step: f.Step}).Commit(t.Context(), staged); err == nil {
				t.Fatal("Commit survived the crash")
			}
		}
		if err := os.RemoveAll(filepath.Join(root, "part/msg_1")); err != nil {
			t.Fatal(err)
		}
		out, err := s.Commit(t.Context(), staged)
		if at > 0 {
			out, err = s.Settle(t.Context(), staged)
		}
		if err != nil || out.State != change.Aborted && out.State != change.Conflicted || len(out.Conflicts) == 0 {
			t.Errorf("killed at call %d: %+v, %v, want conflicts", at, out, err)
		}
		for _, c := range out.Conflicts {
			if c.Why != fsstore.WhyFolderMissing || c.Now != nil {
				t.Errorf("killed at call %d: the conflict on %s is %q, holding %v", at, c.Ref, c.Why, c.Now)
			}
		}
		if err := s.Discard(t.Context(), staged); err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{"part/msg_1", "part/msg_4", ".mend"} {
			if _, err := os.Stat(filepath.Join(root, p)); err == nil {
				t.Errorf("killed at call %d: %s exists", at, p)
			}
		}
	}
}
