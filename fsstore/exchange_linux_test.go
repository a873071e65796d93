package fsstore

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"mend/change"
	"mend/internal/storetest"
)

// TestContractNoExchange is the whole contract where the file system can neither
// exchange two files nor refuse to overwrite one. Fault case 32.
func TestContractNoExchange(t *testing.T) {
	if !storetest.RunInChild(t, 0) {
		return
	}
	storetest.DenyExchange(t)
	storetest.Run(t, func(t *testing.T) storetest.Harness { return harness(t, smallTree(t), "opencode") })
}

// TestNoExchange has the user told of the smaller promise, once for each change,
// and only where it is smaller.
func TestNoExchange(t *testing.T) {
	if !storetest.RunInChild(t, 0) {
		return
	}
	root := smallTree(t)
	before := snapshot(t, root, "")
	var notes []string
	s := mustOpen(t, root, "", Options{Owner: "own", Note: func(text string) { notes = append(notes, text) }})
	ops := bigPlan(t, mustLoad(t, s))
	st := mustApply(t, s, ops)
	if len(notes) > 0 {
		t.Errorf("where it can exchange, the user is told %q", notes)
	}
	after := snapshot(t, root, "")
	storetest.DenyExchange(t)
	st = mustApply(t, s, change.Inverse(st.Ops))
	if got := snapshot(t, root, ""); !maps.Equal(got, before) {
		t.Errorf("undone, the tree holds %v, want %v", got, before)
	}
	mustApply(t, s, change.Inverse(st.Ops))
	if got := snapshot(t, root, ""); !maps.Equal(got, after) {
		t.Errorf("done again, the tree holds %v, want %v", got, after)
	}
	if len(notes) != 2 {
		t.Errorf("the user is told %q, want one note for each change", notes)
	}
}

// TestNoRenameFlags works in a sandbox that knows nothing of renameat2.
func TestNoRenameFlags(t *testing.T) {
	if !storetest.RunInChild(t, 0) {
		return
	}
	root := smallTree(t)
	s := mustOpen(t, root, "", Options{Owner: "own"})
	ops := bigPlan(t, mustLoad(t, s))
	for _, flag := range []uint32{unix.RENAME_EXCHANGE, unix.RENAME_NOREPLACE} {
		storetest.DenySyscall(t, unix.SYS_RENAMEAT2, 4, flag, unix.ENOSYS)
	}
	mustApply(t, s, ops)
	wantNoMend(t, root)
}

// TestReplaceForeign has another program write just before the rename, where
// nothing can be exchanged: the look finds it.
func TestReplaceForeign(t *testing.T) {
	if !storetest.RunInChild(t, 0) {
		return
	}
	storetest.DenyExchange(t)
	for _, part := range []string{"prt_11", "prt_13", "prt_41"} { // replaced, deleted, created
		root := smallTree(t)
		name := filepath.Join(root, "part/msg_1", part+".json")
		if part == "prt_41" {
			name = filepath.Join(root, "part/msg_4", part+".json")
		}
		s := mustOpen(t, root, "", Options{Owner: "own"})
		staged, err := s.Prepare(t.Context(), bigPlan(t, mustLoad(t, s)))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("another program's"), 0o644); err != nil {
			t.Fatal(err)
		}
		before := snapshot(t, root, mendDir)
		out, err := s.Commit(t.Context(), staged)
		if err != nil || out.State != change.Aborted || len(out.Conflicts) != 1 || string(out.Conflicts[0].Now.Data) != "another program's" {
			t.Errorf("%s: Commit = %+v, %v, want the one conflict", part, out, err)
		}
		if err := s.Discard(t.Context(), staged); err != nil {
			t.Error(err)
		}
		if got := snapshot(t, root, ""); !maps.Equal(got, before) {
			t.Errorf("%s: the tree holds %v, want %v", part, got, before)
		}
	}
}
