package codex

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"mend/agent"
)

// TestBusyWithoutProcess: the reason for a lock that the system attributes to no process, as a lock of another
// container, does not name process 0.
func TestBusyWithoutProcess(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, locks, "x.lock")
	for _, dir := range []string{filepath.Join(root, "sessions"), filepath.Dir(file)} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	st, err := Agent{}.Open(agent.Located{Path: root}, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); err != nil { // a lock of the open file
		t.Fatal(err)
	}
	if why := st.(*store).whyBusy("x"); why == "" || strings.Contains(why, "process 0") {
		t.Errorf("whyBusy = %q", why)
	}
}

// TestDisk: if less than a megabyte is free, or the disk is read-only, Codex may answer no prompt in a store that is in
// use.
func TestDisk(t *testing.T) {
	root := t.TempDir()
	if err := unix.Mount("tmpfs", root, "tmpfs", 0, "size=2m"); err != nil {
		t.Skip(err)
	}
	defer func() { _ = unix.Unmount(root, 0) }()
	for _, dir := range []string{"sessions", locks} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	st, err := Agent{}.Open(agent.Located{Path: root}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.CheckAccess(true); err != nil {
		t.Errorf("CheckAccess = %v on a disk with free space", err)
	}
	if err := os.WriteFile(filepath.Join(root, "other"), make([]byte, 3<<19), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := st.CheckAccess(true); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("CheckAccess = %v on a full disk", err)
	}
	if err := unix.Mount("", root, "", unix.MS_REMOUNT|unix.MS_RDONLY, "size=4m"); err != nil {
		t.Fatal(err)
	}
	if err := st.CheckAccess(true); !errors.Is(err, syscall.EROFS) {
		t.Errorf("CheckAccess = %v on a disk that is read-only", err)
	}
	if err := st.CheckAccess(false); err != nil {
		t.Errorf("CheckAccess = %v in a store that is not in use", err)
	}
}
