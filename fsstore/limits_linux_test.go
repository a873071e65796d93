package fsstore

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"mend/change"
	"mend/internal/storetest"
)

// TestUmask applies and undoes the plan under the widest and the narrowest umask. Fault case 37.
func TestUmask(t *testing.T) {
	needWrites(t)
	if !storetest.RunInChild(t, 0) {
		return
	}
	for _, mask := range []int{0, 0o077} {
		syscall.Umask(0o022)
		root := smallTree(t)
		before := snapshot(t, root, "")
		s := mustOpen(t, root, "", Options{Owner: "own"})
		loaded := mustLoad(t, s)
		syscall.Umask(mask)
		st := mustApply(t, s, bigPlan(t, loaded))
		for p, want := range map[string]fs.FileMode{"part/msg_1/prt_11.json": 0o600, "part/msg_4/prt_41.json": 0o600, "part/msg_4": fs.ModeDir | 0o755} {
			if fi, err := os.Stat(filepath.Join(root, p)); err != nil || fi.Mode() != want {
				t.Errorf("under umask %o %s is %v, %v, want %v", mask, p, fi, err, want)
			}
		}
		mustApply(t, s, change.Inverse(st.Ops))
		if got := snapshot(t, root, ""); !maps.Equal(got, before) {
			t.Errorf("under umask %o the undo gives %v, want %v", mask, got, before)
		}
	}
}

// TestUnreadable takes the rights to read away, one thing after the other. Fault case 8.
func TestUnreadable(t *testing.T) {
	if !storetest.RunInChild(t, storetest.NobodyUID) || os.Geteuid() == 0 {
		return
	}
	root := smallTree(t)
	s := mustOpen(t, root, "", Options{Owner: "own"})
	part := filepath.Join(root, "part/msg_1/prt_12.json")
	mustChmod(t, part, 0)
	p := mustLoad(t, s).Message("msg_1").Part("prt_12")
	if p == nil || !p.Unreadable() || p.Defect.Why != "permission denied" {
		t.Errorf("a file that may not be read is loaded as %+v", p)
	}
	if _, err := s.Read(t.Context(), refs(change.Op{Ref: p.Ref})); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Read = %v, want %v", err, fs.ErrPermission)
	}
	mustChmod(t, part, 0o644)
	mustChmod(t, filepath.Join(root, "message/ses_1/msg_2.json"), 0o200)
	mustChmod(t, filepath.Join(root, "part/msg_3"), 0)
	mustChmod(t, filepath.Join(root, "session/global/ses_1.json"), 0)
	loaded := mustLoad(t, s)
	if m := loaded.Message("msg_2"); m == nil || !m.Unreadable() || len(m.Parts) != 3 {
		t.Errorf("a message that may not be read is loaded as %+v", m)
	}
	if !loaded.Info.Unreadable() || len(loaded.Messages) != 4 {
		t.Errorf("the session is loaded as %+v", loaded)
	}
	wantStray(t, loaded.Stray, "part/msg_3")
	if loaded.Stray[0].Message != "msg_3" {
		t.Errorf("stray is %+v, want it to be of msg_3", loaded.Stray)
	}
	mustChmod(t, filepath.Join(root, "message/ses_1"), 0)
	wantStray(t, mustLoad(t, s).Stray, "message/ses_1")
	mustChmod(t, filepath.Join(root, "session/global"), 0)
	heads, err := s.List(t.Context())
	if err != nil || len(heads) != 2 || heads[0].ID != "ses_1" {
		t.Fatalf("List = %+v, %v, want ses_1 and what is stray", heads, err)
	}
	wantStray(t, heads[1].Stray, "session/global")
	mustChmod(t, root, 0)
	if _, err := s.List(t.Context()); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("List of a root that may not be read = %v", err)
	}
}

func mustChmod(t *testing.T, name string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

// TestReadOnly works on a tree that may not be written, and on one in which only
// some folder may not be. Fault case 11.
func TestReadOnly(t *testing.T) {
	needWrites(t)
	if !storetest.RunInChild(t, storetest.NobodyUID) || os.Geteuid() == 0 {
		return
	}
	root := smallTree(t)
	s := mustOpen(t, root, "", Options{Owner: "own"})
	loaded := mustLoad(t, s)
	ops := bigPlan(t, loaded)
	before := snapshot(t, root, "")
	mustChmod(t, root, 0o555)
	if _, err := s.Prepare(t.Context(), ops); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Prepare in a root that may not be written = %v", err)
	}
	mustLoad(t, s)
	mustChmod(t, root, 0o755)
	for _, folder := range []string{"part", "part/msg_1"} {
		mustChmod(t, filepath.Join(root, folder), 0o555)
		staged, err := s.Prepare(t.Context(), ops)
		if err != nil {
			t.Fatal(err)
		}
		out, err := s.Commit(t.Context(), staged)
		if err != nil || out.State != change.Aborted || !errors.Is(out.Cause, fs.ErrPermission) {
			t.Errorf("Commit with %s read-only = %+v, %v", folder, out, err)
		}
		if err := s.Discard(t.Context(), staged); err != nil {
			t.Error(err)
		}
		mustChmod(t, filepath.Join(root, folder), 0o755)
		if got := snapshot(t, root, ""); !maps.Equal(got, before) {
			t.Errorf("with %s read-only the tree holds %v, want %v", folder, got, before)
		}
	}
}

// TestOwner works as root on another user's store. Fault case 37.
func TestOwner(t *testing.T) {
	needWrites(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can own files of others")
	}
	root := smallTree(t)
	if err := filepath.WalkDir(root, func(p string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chown(p, storetest.NobodyUID, storetest.NobodyUID))
	}); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, root, "", Options{Owner: "own"})
	staged, err := s.Prepare(t.Context(), bigPlan(t, mustLoad(t, s)))
	if err != nil {
		t.Fatal(err)
	}
	wantOwner(t, root)
	if out, err := s.Commit(t.Context(), staged); err != nil || out.State != change.Committed {
		t.Fatalf("Commit = %+v, %v", out, err)
	}
	wantOwner(t, root)
	if err := os.RemoveAll(filepath.Join(root, mendDir)); err != nil {
		t.Fatal(err)
	}
	mustApply(t, s, change.Inverse(staged.Ops))
	wantOwner(t, root)
}

func wantOwner(t *testing.T, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(p string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := os.Lstat(p)
		if err == nil && fi.Sys().(*syscall.Stat_t).Uid != storetest.NobodyUID {
			t.Errorf("%s belongs to another user now", p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
