package tree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"mend/change"
	"mend/internal/test/storetest"
)

// TestContractNoExchange runs the contract suite on a file system that can neither exchange two files nor refuse to
// overwrite one. A plain run has a sample of the pairs of cuts. Fault case 32 (docs/verified.md).
func TestContractNoExchange(t *testing.T) {
	if !storetest.RunInChild(t, 0) {
		return
	}
	storetest.DenyExchange(t)
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		h := harness(t, storetest.SmallTree(t))
		h.Slow = true
		return h
	})
}

// TestNoOpenat2 runs the contract suite and the tests of special files in a sandbox that refuses openat2. A plain run
// has only the special files.
func TestNoOpenat2(t *testing.T) {
	if !storetest.RunInChild(t, 0) {
		return
	}
	storetest.DenySyscall(t, unix.SYS_OPENAT2, -1, 0, unix.EPERM)
	if storetest.AllCases() {
		storetest.Run(t, func(t *testing.T) storetest.Harness { return harness(t, storetest.SmallTree(t)) })
	}
	testSpecialFiles(t)
	testLinkedFolders(t)
}

// TestUnreadable: files and folders without read permission are unreadable or stray, and the others are still loaded.
// Fault case 8 (docs/verified.md).
func TestUnreadable(t *testing.T) {
	if !storetest.RunInChild(t, storetest.NobodyUID) || os.Geteuid() == 0 {
		return
	}
	root := storetest.SmallTree(t)
	s := mustOpen(t, root, Options{Owner: "own"})
	part := filepath.Join(root, "part/msg_1/prt_12.json")
	storetest.Chmod(t, part, 0)
	p := mustLoad(t, s).Message("msg_1").Part("prt_12")
	if p == nil || !p.Unreadable() || p.Defect.Why != "permission denied" {
		t.Errorf("a file that may not be read is loaded as %+v", p)
	}
	if _, err := s.Read(t.Context(), storetest.Refs(change.Op{Ref: p.Ref})); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Read = %v, want %v", err, fs.ErrPermission)
	}
	storetest.Chmod(t, part, 0o644)
	storetest.Chmod(t, filepath.Join(root, "message/ses_1/msg_2.json"), 0o200)
	storetest.Chmod(t, filepath.Join(root, "part/msg_3"), 0)
	storetest.Chmod(t, filepath.Join(root, "session/global/ses_1.json"), 0)
	loaded := mustLoad(t, s)
	if m := loaded.Message("msg_2"); m == nil || !m.Unreadable() || len(m.Parts) != 3 {
		t.Errorf("a message that may not be read is loaded as %+v", m)
	}
	if !loaded.Info.Unreadable() || len(loaded.Messages) != 4 {
		t.Errorf("the session is loaded as %+v", loaded)
	}
	wantStray(t, loaded.Stray, "part/msg_3")
	if loaded.Stray[0].Message != "msg_3" {
		t.Errorf("the stray folder is %+v, want message msg_3", loaded.Stray)
	}
	storetest.Chmod(t, filepath.Join(root, "message/ses_1"), 0)
	wantStray(t, mustLoad(t, s).Stray, "message/ses_1")
	storetest.Chmod(t, filepath.Join(root, "session/global"), 0)
	heads, err := s.List(t.Context())
	if err != nil || len(heads) != 2 || heads[0].ID != "ses_1" {
		t.Fatalf("List = %+v, %v, want ses_1 and the stray folders", heads, err)
	}
	wantStray(t, heads[1].Stray, "session/global")
	storetest.Chmod(t, root, 0)
	if _, err := s.List(t.Context()); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("List of a root that may not be read = %v", err)
	}
}
