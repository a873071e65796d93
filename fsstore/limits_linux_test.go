package fsstore_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"mend/agent/opencode/tree"
	"mend/change"
	"mend/fsstore"
	"mend/internal/test/storetest"
)

// TestUmask: files and folders get the modes of the plan, whatever the umask.
func TestUmask(t *testing.T) {
	if !storetest.RunInChild(t, 0) {
		return
	}
	for _, mask := range []int{0, 0o077} {
		syscall.Umask(0o022)
		root := storetest.SmallTree(t)
		before := storetest.Snapshot(t, root, "")
		s := mustOpen(t, root, tree.Options{Owner: "own"})
		loaded := mustLoad(t, s)
		syscall.Umask(mask)
		st := storetest.Apply(t, s, storetest.MixedOps(t, loaded.AllRecords))
		for p, want := range map[string]fs.FileMode{"part/msg_1/prt_11.json": 0o600, "part/msg_4/prt_41.json": 0o600, "part/msg_4": fs.ModeDir | 0o755} {
			if fi, err := os.Stat(filepath.Join(root, p)); err != nil || fi.Mode() != want {
				t.Errorf("under umask %o %s is %v, %v, want %v", mask, p, fi, err, want)
			}
		}
		storetest.Apply(t, s, change.Inverse(st.Ops))
		if got := storetest.Snapshot(t, root, ""); !maps.Equal(got, before) {
			t.Errorf("under umask %o the undo gives %v, want %v", mask, got, before)
		}
	}
}

// TestReadOnly: Prepare fails in a tree that is read-only. If one folder is read-only, Commit puts everything back.
func TestReadOnly(t *testing.T) {
	if !storetest.RunInChild(t, storetest.NobodyUID) || os.Geteuid() == 0 {
		return
	}
	root := storetest.SmallTree(t)
	s := mustOpen(t, root, tree.Options{Owner: "own"})
	loaded := mustLoad(t, s)
	ops := storetest.MixedOps(t, loaded.AllRecords)
	before := storetest.Snapshot(t, root, "")
	storetest.Chmod(t, root, 0o555)
	if _, err := s.Prepare(t.Context(), change.Plan{Ops: ops}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Prepare in a root that may not be written = %v", err)
	}
	mustLoad(t, s)
	storetest.Chmod(t, root, 0o755)
	for _, folder := range []string{"part", "part/msg_1"} {
		storetest.Chmod(t, filepath.Join(root, folder), 0o555)
		staged, err := s.Prepare(t.Context(), change.Plan{Ops: ops})
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
		storetest.Chmod(t, filepath.Join(root, folder), 0o755)
		if got := storetest.Snapshot(t, root, ""); !maps.Equal(got, before) {
			t.Errorf("with %s read-only the tree holds %v, want %v", folder, got, before)
		}
	}
}

// TestOwner: if root changes another user's store, all files belong to that user at every time.
func TestOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can own files of others")
	}
	root := storetest.SmallTree(t)
	if err := filepath.WalkDir(root, func(p string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chown(p, storetest.NobodyUID, storetest.NobodyUID))
	}); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, root, tree.Options{Owner: "own"})
	staged := prepareMixed(t, s)
	wantOwner(t, root)
	if out, err := s.Commit(t.Context(), staged); err != nil || out.State != change.Committed {
		t.Fatalf("Commit = %+v, %v", out, err)
	}
	wantOwner(t, root)
	if err := os.RemoveAll(filepath.Join(root, fsstore.MendDir)); err != nil {
		t.Fatal(err)
	}
	storetest.Apply(t, s, change.Inverse(staged.Ops))
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

// TestOwnerOfRestored: a recovery that writes a lost staged file again gives it the owner of its record, not of its folder.
func TestOwnerOfRestored(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can own files of others")
	}
	root := storetest.SmallTree(t)
	name := filepath.Join(root, "part/msg_1/prt_11.json")
	if err := os.Chown(name, storetest.NobodyUID, storetest.NobodyUID); err != nil {
		t.Fatal(err)
	}
	s, staged := killCommit(t, root, 4)
	if err := os.RemoveAll(filepath.Join(root, fsstore.MendDir)); err != nil {
		t.Fatal(err)
	}
	storetest.Put(t, root, "part/msg_4/prt_41.json", "another program's")
	settleTwice(t, s, staged, change.Conflicted)
	fi, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if uid := fi.Sys().(*syscall.Stat_t).Uid; uid != storetest.NobodyUID {
		t.Errorf("prt_11 belongs to user %d, want %d", uid, storetest.NobodyUID)
	}
}
