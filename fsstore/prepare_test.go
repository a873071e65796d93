package fsstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/agent/opencode/tree"
	"mend/change"
	"mend/internal/test/storetest"
)

// TestRefWithoutOtherIDs: the staged op has only the ids that the path of its record contains.
func TestRefWithoutOtherIDs(t *testing.T) {
	s := mustOpen(t, storetest.SmallTree(t), tree.Options{Owner: "own"})
	ops := storetest.SetText(t, mustLoad(t, s).AllRecords, "prt_12", "new")
	want := ops[0].Ref
	ops[0].Ref.Project = "global"
	st, err := s.Prepare(t.Context(), change.Plan{Ops: ops})
	if err != nil || st.Ops[0].Ref != want || st.Ops[0].Pre == nil || st.Ops[0].Post == nil {
		t.Errorf("Prepare = %+v, %v, want an op on %+v", st, err, want)
	}
}

// TestFolderIsFile: a record is missing if a file has the name of its folder, and its op is a conflict.
func TestFolderIsFile(t *testing.T) {
	root := storetest.SmallTree(t)
	s := mustOpen(t, root, tree.Options{Owner: "own"})
	ops := storetest.SetText(t, mustLoad(t, s).AllRecords, "prt_21", "new")
	if err := os.RemoveAll(filepath.Join(root, "part/msg_2")); err != nil {
		t.Fatal(err)
	}
	storetest.Put(t, root, "part/msg_2", "a file")
	if images, err := s.Read(t.Context(), storetest.Refs(ops...)); err != nil || images[0] != nil {
		t.Errorf("Read = %+v, %v, want no record", images, err)
	}
	_, err := s.Prepare(t.Context(), change.Plan{Ops: ops})
	var conflict *change.ConflictError
	if !errors.As(err, &conflict) || !strings.HasPrefix(conflict.Conflicts[0].Why, "its folder cannot be used: ") {
		t.Errorf("Prepare = %v, want a conflict about the folder", err)
	}
}

// TestLinkedFile: a file with a second hard link is not replaced, because that would break the link.
func TestLinkedFile(t *testing.T) {
	root := storetest.SmallTree(t)
	s := mustOpen(t, root, tree.Options{Owner: "own"})
	ops := storetest.SetText(t, mustLoad(t, s).AllRecords, "prt_21", "new")
	name := filepath.Join(root, "part/msg_2/prt_21.json")
	if err := os.Link(name, name+".copy"); err != nil {
		t.Fatal(err)
	}
	_, err := s.Prepare(t.Context(), change.Plan{Ops: ops})
	var conflict *change.ConflictError
	if !errors.As(err, &conflict) || !strings.Contains(conflict.Conflicts[0].Why, "2 hard links") {
		t.Errorf("Prepare = %v, want a conflict about the links", err)
	}
}
