package fsstore

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"mend/change"
	"mend/internal/safedir"
	"mend/session"
)

func TestShare(t *testing.T) {
	s := mustOpen(t, smallTree(t), "", Options{})
	bad := errors.New("bad")
	for _, n := range []int{0, 1, worthwhile, 2*worthwhile - 1, 10 * worthwhile} {
		calls := make([]atomic.Int32, n)
		err := s.share(n, func(_ *safedir.Buffer, i int) error {
			calls[i].Add(1)
			return nil
		})
		for i := range calls {
			if calls[i].Load() != 1 || err != nil {
				t.Fatalf("share(%d) called for %d %d times, %v", n, i, calls[i].Load(), err)
			}
		}
		var after atomic.Int32
		err = s.share(n, func(_ *safedir.Buffer, i int) error {
			after.Add(1)
			return bad
		})
		if most := int32(max(1, n/worthwhile)); n > 0 && !errors.Is(err, bad) || after.Load() > most {
			t.Errorf("share(%d) = %v after %d failures, want at most %d", n, err, after.Load(), most)
		}
	}
}

// manyOps writes parts to a tree, and returns a plan that replaces, deletes and
// creates so many.
func manyOps(t *testing.T, root string, n int) []change.Op {
	t.Helper()
	var ops []change.Op
	for i := range n {
		o := change.Op{Ref: session.Ref{Kind: session.KindPart, Session: "ses_1", Message: "msg_4", Part: fmt.Sprintf("prt_4%04d", i)}}
		before := textJSON("msg_4", o.Ref.Part, strings.Repeat("before ", i))
		if i%3 > 0 {
			put(t, root, "part/msg_4/"+o.Ref.Part+".json", before)
			o.Pre = &change.Image{Data: []byte(before), Mode: 0o644}
		}
		if i%3 < 2 {
			o.Post = &change.Image{Data: []byte(textJSON("msg_4", o.Ref.Part, strings.Repeat("after ", i))), Mode: 0o604}
		}
		ops = append(ops, o)
	}
	change.Sort(ops)
	return ops
}

// TestManyRecords changes as many records as are worked on at once, takes that
// back, and finds what other programs wrote to some of them before and meanwhile.
func TestManyRecords(t *testing.T) {
	needWrites(t)
	root := smallTree(t)
	ops := manyOps(t, root, 5*worthwhile)
	s := mustOpen(t, root, "", Options{Owner: "own"})
	before := snapshot(t, root, "")
	st := mustApply(t, s, ops)
	for _, o := range ops {
		data, err := os.ReadFile(filepath.Join(root, "part/msg_4", o.Ref.Part+".json"))
		if o.Post == nil && !errors.Is(err, os.ErrNotExist) || o.Post != nil && string(data) != string(o.Post.Data) {
			t.Fatalf("%s %s: it holds %q, %v", o.Verb(), o.Ref, data, err)
		}
	}
	mustApply(t, s, change.Inverse(st.Ops))
	if got := snapshot(t, root, ""); !maps.Equal(got, before) {
		t.Fatalf("after undo the tree holds %v, want %v", got, before)
	}

	var others []session.Ref
	for i, o := range ops {
		if i%29 == 0 {
			others = append(others, o.Ref)
			put(t, root, "part/msg_4/"+o.Ref.Part+".json", "written by another program into "+o.Ref.Part)
		}
	}
	before = snapshot(t, root, "")
	_, err := s.Prepare(t.Context(), ops)
	var conflict *change.ConflictError
	if !errors.As(err, &conflict) {
		t.Fatalf("Prepare = %v, want a conflict", err)
	}
	var found []session.Ref
	for _, c := range conflict.Conflicts {
		found = append(found, c.Ref)
		if want := "written by another program into " + c.Ref.Part; c.Now == nil || string(c.Now.Data) != want {
			t.Errorf("the conflict about %s says that it holds %v, want %q", c.Ref, c.Now, want)
		}
	}
	if !slices.Equal(found, others) {
		t.Errorf("conflicts about %v, want %v", found, others)
	}
	if got := snapshot(t, root, ""); !maps.Equal(got, before) {
		t.Errorf("after the conflict the tree holds %v, want %v", got, before)
	}
}

// TestManyLateWriters writes into many files after they were exchanged.
func TestManyLateWriters(t *testing.T) {
	needWrites(t)
	root := smallTree(t)
	ops := manyOps(t, root, 5*worthwhile)
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
	s := mustOpen(t, root, "", Options{Owner: "own"})
	st, err := s.Prepare(t.Context(), ops)
	if err != nil {
		t.Fatal(err)
	}
	late := mustOpen(t, root, "", Options{Owner: "own", Step: func(call string) error {
		for _, f := range held {
			if call == "barrier" {
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
