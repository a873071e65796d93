package fsstore

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/change"
)

// TestLateWriter keeps a file open across the exchange, and writes into it after:
// one that is replaced, and one that is deleted. Fault case 26.
func TestLateWriter(t *testing.T) {
	needWrites(t)
	for _, part := range []string{"prt_11", "prt_13"} {
		root := smallTree(t)
		s, staged, out := lateWriter(t, root, part)
		if out.State != change.Committed || len(out.Kept) != 1 {
			t.Fatalf("Commit = %+v, want a file that is kept", out)
		}
		again := settled(t, s, staged, change.Committed)
		if len(again.Kept) != 1 || again.Kept[0] != out.Kept[0] {
			t.Errorf("Settle = %+v, want the same as Commit", again)
		}
		wantKept(t, root, out.Kept[0], part)
		after := snapshot(t, root, mendDir)
		mustApply(t, s, change.Inverse(staged.Ops))
		mustApply(t, s, staged.Ops)
		if got := snapshot(t, root, mendDir); !maps.Equal(got, after) {
			t.Errorf("the tree holds %v, want %v", got, after)
		}
		wantKept(t, root, out.Kept[0], part)

		// What is kept of a record does not keep it from coming back.
		root = smallTree(t)
		before := snapshot(t, root, mendDir)
		s, staged, out = lateWriter(t, root, part)
		put(t, root, "part/msg_4/prt_41.json", "another program's")
		back := settled(t, s, staged, change.Conflicted)
		wantKept(t, root, out.Kept[0], part)
		got := snapshot(t, root, mendDir)
		delete(got, "part/msg_4")
		delete(got, "part/msg_4/prt_41.json")
		if !maps.Equal(got, before) || len(back.Conflicts) != 1 || len(back.Kept) != 1 {
			t.Errorf("%s: Settle = %+v, and the tree holds %v, want %v", part, back, got, before)
		}
	}
}

// lateWriter commits the big plan, while another program has a file open.
func lateWriter(t *testing.T, root, part string) (*Store, change.Staged, change.Outcome) {
	t.Helper()
	s := mustOpen(t, root, "", Options{Owner: "own"})
	staged, err := s.Prepare(t.Context(), bigPlan(t, mustLoad(t, s)))
	if err != nil {
		t.Fatal(err)
	}
	held, err := os.OpenFile(filepath.Join(root, "part/msg_1", part+".json"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	late := mustOpen(t, root, "", Options{Owner: "own", Step: func(call string) error {
		if call == "barrier" {
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

func wantKept(t *testing.T, root, path, part string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, path))
	if err != nil || !strings.HasPrefix(string(data), "LATE") || !strings.Contains(path, "/"+part+".") {
		t.Errorf("%s holds %q, %v", path, data, err)
	}
}
