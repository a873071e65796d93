package fsstore_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mend/agent/opencode/tree"
	"mend/change"
	"mend/internal/test/storetest"
)

// manyOps writes parts to a tree, and returns a plan that replaces, deletes and creates n of them.
func manyOps(t *testing.T, root string, n int) []change.Op {
	t.Helper()
	var ops []change.Op
	for i := range n {
		o := change.Op{Ref: change.Ref{Kind: change.KindPart, Session: "ses_1", Message: "msg_4", Part: fmt.Sprintf("prt_4%04d", i)}}
		before := storetest.TextJSON("msg_4", o.Ref.Part, strings.Repeat("before ", i))
		if i%3 > 0 {
			storetest.Put(t, root, "part/msg_4/"+o.Ref.Part+".json", before)
			o.Pre = &change.Image{Data: []byte(before), Mode: 0o644}
		}
		if i%3 < 2 {
			o.Post = &change.Image{Data: []byte(storetest.TextJSON("msg_4", o.Ref.Part, strings.Repeat("after ", i))), Mode: 0o604}
		}
		ops = append(ops, o)
	}
	change.Sort(ops)
	return ops
}

// TestManyRecords: a change of many records is made and undone. Exactly the records that another program has written are
// conflicts, with their content.
func TestManyRecords(t *testing.T) {
	root := storetest.SmallTree(t)
	ops := manyOps(t, root, 300)
	s := mustOpen(t, root, tree.Options{Owner: "own"})
	before := storetest.Snapshot(t, root, "")
	st := storetest.Apply(t, s, ops)
	for _, o := range ops {
		data, err := os.ReadFile(filepath.Join(root, "part/msg_4", o.Ref.Part+".json"))
		if o.Post == nil && !errors.Is(err, os.ErrNotExist) || o.Post != nil && string(data) != string(o.Post.Data) {
			t.Fatalf("%s %s: it holds %q, %v", o.Verb(), o.Ref, data, err)
		}
	}
	storetest.Apply(t, s, change.Inverse(st.Ops))
	if got := storetest.Snapshot(t, root, ""); !maps.Equal(got, before) {
		t.Fatalf("after undo the tree holds %v, want %v", got, before)
	}

	var others []change.Ref
	for i, o := range ops {
		if i%29 == 0 {
			others = append(others, o.Ref)
			storetest.Put(t, root, "part/msg_4/"+o.Ref.Part+".json", "written by another program into "+o.Ref.Part)
		}
	}
	before = storetest.Snapshot(t, root, "")
	_, err := s.Prepare(t.Context(), change.Plan{Ops: ops})
	var conflict *change.ConflictError
	if !errors.As(err, &conflict) {
		t.Fatalf("Prepare = %v, want a conflict", err)
	}
	var found []change.Ref
	for _, c := range conflict.Conflicts {
		found = append(found, c.Ref)
		if want := "written by another program into " + c.Ref.Part; c.Now == nil || string(c.Now.Data) != want {
			t.Errorf("the conflict on %s has the content %v, want %q", c.Ref, c.Now, want)
		}
	}
	if !slices.Equal(found, others) {
		t.Errorf("conflicts on %v, want %v", found, others)
	}
	if got := storetest.Snapshot(t, root, ""); !maps.Equal(got, before) {
		t.Errorf("after the conflict the tree holds %v, want %v", got, before)
	}
}

// TestManyLateWriters: if another program writes into several files after their exchange, each is kept.
func TestManyLateWriters(t *testing.T) {
	root := storetest.SmallTree(t)
	ops := manyOps(t, root, 300)
	var held []*os.File
	for i, o := range ops {
		if o.Pre != nil && i%17 == 0 {
			f, err := os.OpenFile(filepath.Join(root, "part/msg_4", o.Ref.Part+".json"), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			held = append(held, f)
		}
	}
	s := mustOpen(t, root, tree.Options{Owner: "own"})
	st, err := s.Prepare(t.Context(), change.Plan{Ops: ops})
	if err != nil {
		t.Fatal(err)
	}
	late := mustOpen(t, root, tree.Options{Owner: "own", Step: func(call string) error {
		for _, f := range held {
			if strings.HasPrefix(call, "barrier") {
				if _, err := f.WriteAt([]byte("LATE"), 0); err != nil {
					return err
				}
			}
		}
		return nil
	}})
	out, err := late.Commit(t.Context(), st)
	if err != nil || out.State != change.Committed || len(out.Kept) != len(held) {
		t.Fatalf("Commit = %v with %d kept, %v, want %d", out.State, len(out.Kept), err, len(held))
	}
	for i, f := range held {
		wantKept(t, root, out.Kept[i], strings.TrimSuffix(filepath.Base(f.Name()), ".json"))
	}
}
