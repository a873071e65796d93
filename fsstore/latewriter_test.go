package fsstore_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mend/agent/opencode/tree"
	"mend/change"
	"mend/fsstore"
	"mend/internal/test/storetest"
)

// TestLateWriter: bytes that another program writes through an old descriptor after the exchange are kept, whether the file
// was replaced or deleted.
func TestLateWriter(t *testing.T) {
	for _, part := range []string{"prt_11", "prt_13"} {
		root := storetest.SmallTree(t)
		s, staged, out := lateWriter(t, root, part)
		if out.State != change.Committed || len(out.Kept) != 1 {
			t.Fatalf("Commit = %+v, want a file that is kept", out)
		}
		after := storetest.Snapshot(t, root, fsstore.MendDir)
		again := settleTwice(t, s, staged, change.Committed)
		if len(again.Kept) != 1 || again.Kept[0] != out.Kept[0] {
			t.Errorf("Settle = %+v, want the same as Commit", again)
		}
		wantKept(t, root, out.Kept[0], part)
		storetest.Apply(t, s, change.Inverse(staged.Ops))
		storetest.Apply(t, s, staged.Ops)
		if got := storetest.Snapshot(t, root, fsstore.MendDir); !maps.Equal(got, after) {
			t.Errorf("the tree holds %v, want %v", got, after)
		}
		wantKept(t, root, out.Kept[0], part)

		// A kept file of a record does not prevent a restore of the record.
		root = storetest.SmallTree(t)
		before := storetest.Snapshot(t, root, fsstore.MendDir)
		s, staged, out = lateWriter(t, root, part)
		storetest.Put(t, root, "part/msg_4/prt_41.json", "another program's")
		back := settleTwice(t, s, staged, change.Conflicted)
		wantKept(t, root, out.Kept[0], part)
		got := storetest.Snapshot(t, root, fsstore.MendDir)
		delete(got, "part/msg_4")
		delete(got, "part/msg_4/prt_41.json")
		if !maps.Equal(got, before) || len(back.Conflicts) != 1 || len(back.Kept) != 1 {
			t.Errorf("%s: Settle = %+v, and the tree holds %v, want %v", part, back, got, before)
		}
	}
}

// lateWriter commits ops of every kind while another program has a file open, and writes into it after the exchange.
func lateWriter(t *testing.T, root, part string) (*tree.Store, change.Staged, change.Outcome) {
	t.Helper()
	s := mustOpen(t, root, tree.Options{Owner: "own"})
	staged := prepareMixed(t, s)
	held := hold(t, root, part)
	late := mustOpen(t, root, tree.Options{Owner: "own", Step: func(call string) error {
		if strings.HasPrefix(call, "barrier") {
			_, err := held.WriteAt([]byte("LATE"), 0)
			return err
		}
		return nil
	}})
	out, err := late.Commit(t.Context(), staged)
	if err != nil {
		t.Fatal(err)
	}
	return s, staged, out
}

// hold opens a part for writing, as another program.
func hold(t *testing.T, root, part string) *os.File {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(root, "part/msg_1", part+".json"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestWriterAfterCommit: Discard keeps bytes that another program writes through an old descriptor after Commit, and so does
// the cleanup after a crash.
func TestWriterAfterCommit(t *testing.T) {
	for _, crashed := range []bool{false, true} {
		for _, part := range []string{"prt_11", "prt_13"} {
			root := storetest.SmallTree(t)
			var notes []string
			s := mustOpen(t, root, tree.Options{Owner: "own", Note: func(text string) { notes = append(notes, text) }})
			staged := prepareMixed(t, s)
			held := hold(t, root, part)
			if out, err := s.Commit(t.Context(), staged); err != nil || out.State != change.Committed || len(out.Kept) > 0 {
				t.Fatalf("Commit = %+v, %v", out, err)
			}
			if _, err := held.WriteAt([]byte("LATE"), 0); err != nil {
				t.Fatal(err)
			}
			left := staged
			if crashed {
				left = change.Staged{}
			}
			after := storetest.Snapshot(t, root, fsstore.MendDir)
			for range 2 { // the second has nothing to do
				if err := s.Discard(t.Context(), left); err != nil {
					t.Errorf("Discard = %v", err)
				}
			}
			if got := storetest.Snapshot(t, root, fsstore.MendDir); !maps.Equal(got, after) {
				t.Errorf("Discard changed the tree: %v, want %v", got, after)
			}
			kept, err := filepath.Glob(filepath.Join(root, fsstore.KeptDir, "*"))
			if err != nil || len(kept) != 1 || len(notes) != 1 || !strings.HasSuffix(notes[0], kept[0]) {
				t.Fatalf("crashed %v, %s: kept is %v (%v), reported as %q", crashed, part, kept, err, notes)
			}
			if data, err := os.ReadFile(kept[0]); err != nil || !strings.HasPrefix(string(data), "LATE") {
				t.Errorf("%s holds %q, %v", kept[0], data, err)
			}
			if _, err := os.Stat(filepath.Join(root, fsstore.MendDir, "own")); err == nil {
				t.Error("the staging folder is left")
			}
		}
	}
}

func wantKept(t *testing.T, root, path, part string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, path))
	if err != nil || !strings.HasPrefix(string(data), "LATE") || !strings.Contains(path, "/"+part+".") {
		t.Errorf("%s holds %q, %v", path, data, err)
	}
}

// TestKeptIsListedOnce: a recovery of many deletions lists the kept files once, and not for each deletion.
func TestKeptIsListedOnce(t *testing.T) {
	paths := fsstore.Paths("notes")
	allocated := func(kept int) uint64 {
		root := storetest.FastDir(t)
		for i := range kept {
			storetest.Put(t, root, fmt.Sprintf("%s/file.%012d.1.json", fsstore.KeptDir, i), "")
		}
		var ops []change.Op
		for i := range 200 {
			name := fmt.Sprintf("file-%03d", i)
			storetest.Put(t, root, name, "x")
			ops = append(ops, change.Op{Ref: paths.Ref(name), Pre: &change.Image{Data: []byte("x"), Mode: 0o644}})
		}
		s, err := fsstore.New(root, paths, fsstore.Options{Owner: "own"})
		if err != nil {
			t.Fatal(err)
		}
		st, err := s.Prepare(t.Context(), change.Plan{Ops: ops})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 200 {
			if err := os.Remove(filepath.Join(root, fmt.Sprintf("file-%03d", i))); err != nil {
				t.Fatal(err)
			}
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if out, err := s.Settle(t.Context(), st); err != nil || out.State != change.Committed {
			t.Fatalf("Settle = %+v, %v", out, err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	few, many := allocated(1), allocated(1000)
	if many > few+4<<20 {
		t.Errorf("with 1 kept file %d KB are allocated, with 1000 %d KB", few>>10, many>>10)
	}
}

// TestKeptTwice: the outcome names all kept files of a record, and no other file in their folder.
func TestKeptTwice(t *testing.T) {
	root := storetest.SmallTree(t)
	s, staged, out := lateWriter(t, root, "prt_11")
	want := append(out.Kept, strings.Replace(out.Kept[0], ".1.json", ".2.json", 1))
	storetest.Put(t, root, want[1], "another program's")
	storetest.Put(t, root, fsstore.KeptDir+"/notes", "mine")
	if got := settleTwice(t, s, staged, change.Committed).Kept; !slices.Equal(got, want) {
		t.Errorf("Settle keeps %q, want %q", got, want)
	}
}
