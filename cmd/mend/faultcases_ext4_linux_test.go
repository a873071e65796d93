package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/damage"
	"mend/internal/test/storetest"
)

// A loopDevice is an ext4 file system in a file. It becomes read-only on an error.
type loopDevice struct {
	t          *testing.T
	image, dir string
	device     string
}

func newLoopDevice(t *testing.T, dir, name string) *loopDevice {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount")
	}
	lo := &loopDevice{t: t, image: filepath.Join(dir, name+".img"), dir: filepath.Join(dir, name)}
	lo.try("truncate", "-s", "16M", lo.image)
	lo.try("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", lo.image)
	if err := os.Mkdir(lo.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	lo.mount()
	t.Cleanup(lo.unmount)
	return lo
}

// try runs a command, and skips the test if the command fails.
func (lo *loopDevice) try(name string, args ...string) string {
	lo.t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		lo.t.Skipf("%s: %v\n%s", name, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (lo *loopDevice) mount() {
	lo.t.Helper()
	lo.device = lo.try("losetup", "-f", "--show", lo.image)
	if err := unix.Mount(lo.device, lo.dir, "ext4", 0, "errors=remount-ro"); err != nil {
		lo.t.Skip(err)
	}
}

func (lo *loopDevice) unmount() {
	if err := unix.Unmount(lo.dir, 0); err != nil {
		lo.t.Error(err)
	}
	if out, err := exec.Command("losetup", "-d", lo.device).CombinedOutput(); err != nil {
		lo.t.Errorf("losetup -d: %v\n%s", err, out)
	}
}

// fail causes an error of the file system, which makes it read-only.
func (lo *loopDevice) fail() {
	lo.t.Helper()
	trigger := filepath.Join("/sys/fs/ext4", filepath.Base(lo.device), "trigger_fs_error")
	if err := os.WriteFile(trigger, []byte("by the test"), 0); err != nil {
		lo.t.Skip(err)
	}
}

// TestCase12TurnsReadOnly: if the file system of the store becomes read-only during a repair, the store can be read,
// and the recovery succeeds as soon as the file system is writable again.
func TestCase12TurnsReadOnly(t *testing.T) {
	for _, at := range []string{"stage", "take", "exchange", "barrier"} {
		dir := storetest.FastDir(t)
		lo := newLoopDevice(t, dir, "data")
		sb := newSandbox(t, damage.Versions[0], dir)
		sb.addBlankTexts(3)
		lo.try("sync", "-f", sb.store)
		before, failed := sb.snapshot(), false
		err := repairWith(sb.store, filepath.Join(dir, "state", "mend"), sb.session, func(call string) error {
			if !failed && strings.HasPrefix(call, at) {
				failed = true
				lo.fail()
			}
			return nil
		})
		if !failed {
			t.Fatalf("no call %q was made", at)
		}
		t.Logf("at %s: %v", at, err)
		if a := sb.mend("scan"); a.code > frame.ExitProblems { // reading works
			t.Errorf("scan: exit code %d\n%s", a.code, a.err)
		}
		if a := sb.mend("recover"); a.code != frame.ExitDone {
			sb.wantOutput(a, "read-only")
		}
		lo.unmount()
		lo.mount()
		sb.mustExit(frame.ExitDone, "recover")
		if a := sb.mend("undo", "--yes", "--session", sb.session); a.code != frame.ExitDone && a.code != frame.ExitRefused {
			t.Errorf("undo: exit code %d\n%s", a.code, a.err)
		}
		sb.wantSnapshot("turned read-only at "+at, before)
	}
}
