package fsstore_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"mend/agent/opencode/tree"
	"mend/change"
	"mend/fsstore"
	"mend/internal/test/storetest"
)

// TestNoExchange: without a system call that exchanges two files, the bytes that other programs write meanwhile are kept,
// too.
func TestNoExchange(t *testing.T) {
	if !storetest.RunInChild(t, 0) {
		return
	}
	storetest.DenyExchange(t)
	for name, test := range map[string]func(*testing.T){
		"ForeignBytesAfterExchange": TestForeignBytesAfterExchange, "LateWriter": TestLateWriter, "ManyLateWriters": TestManyLateWriters, "WriterAfterCommit": TestWriterAfterCommit,
	} {
		t.Run(name, test)
	}
}

// TestNoRenameFlags: a change works if the system does not know the flags of renameat2.
func TestNoRenameFlags(t *testing.T) {
	if !storetest.RunInChild(t, 0) {
		return
	}
	root := storetest.SmallTree(t)
	s := mustOpen(t, root, tree.Options{Owner: "own"})
	ops := storetest.MixedOps(t, mustLoad(t, s).AllRecords)
	for _, flag := range []uint32{unix.RENAME_EXCHANGE, unix.RENAME_NOREPLACE} {
		storetest.DenySyscall(t, unix.SYS_RENAMEAT2, 4, flag, unix.ENOSYS)
	}
	storetest.Apply(t, s, ops)
	wantNoMend(t, root)
}

// TestReplaceForeign: without a system call that exchanges two files, a record that another program writes after Prepare is
// a conflict, and keeps its bytes.
func TestReplaceForeign(t *testing.T) {
	if !storetest.RunInChild(t, 0) {
		return
	}
	storetest.DenyExchange(t)
	for _, part := range []string{"prt_11", "prt_13", "prt_41"} { // replaced, deleted, created
		root := storetest.SmallTree(t)
		name := filepath.Join(root, "part/msg_1", part+".json")
		if part == "prt_41" {
			name = filepath.Join(root, "part/msg_4", part+".json")
		}
		s := mustOpen(t, root, tree.Options{Owner: "own"})
		staged := prepareMixed(t, s)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("another program's"), 0o644); err != nil {
			t.Fatal(err)
		}
		before := storetest.Snapshot(t, root, fsstore.MendDir)
		out, err := s.Commit(t.Context(), staged)
		if err != nil || out.State != change.Aborted || len(out.Conflicts) != 1 || string(out.Conflicts[0].Now.Data) != "another program's" {
			t.Errorf("%s: Commit = %+v, %v, want the one conflict", part, out, err)
		}
		if err := s.Discard(t.Context(), staged); err != nil {
			t.Error(err)
		}
		if got := storetest.Snapshot(t, root, ""); !maps.Equal(got, before) {
			t.Errorf("%s: the tree holds %v, want %v", part, got, before)
		}
	}
}
