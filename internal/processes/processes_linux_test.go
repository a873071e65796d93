package processes_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mend/internal/processes"
	"mend/internal/test/storetest"
)

// TestProcess: the facts about a running process are right. After it has ended, each method returns fs.ErrNotExist.
func TestProcess(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("cat", "-")
	cmd.Dir, cmd.Env = dir, []string{"A=b=c", "LONG_A=d"}
	end := storetest.StartCat(t, cmd)
	p := processes.Process(cmd.Process.Pid)
	if all, err := processes.Others(t.Context()); err != nil || !slices.Contains(all, p) || slices.Contains(all, processes.Process(os.Getpid())) {
		t.Errorf("Others = %v, %v, want process %d and not process %d", all, err, p, os.Getpid())
	}
	methods := map[string]func() (bool, error){
		"User":      func() (bool, error) { got, err := p.User(); return int(got) == os.Geteuid(), err },
		"Program":   func() (bool, error) { got, err := p.Program(); return got != "", err },
		"Name":      func() (bool, error) { got, err := p.Name(); return got == "cat", err },
		"Arguments": func() (bool, error) { got, err := p.Arguments(); return slices.Equal(got, []string{"cat", "-"}), err },
		"Parent":    func() (bool, error) { got, err := p.Parent(); return got == os.Getpid(), err },
		"StartTime": func() (bool, error) { got, err := p.StartTime(); return time.Since(got).Abs() < time.Minute, err },
		"Environment": func() (bool, error) {
			get, err := p.Environment()
			return err == nil && get("A") == "b=c" && get("LONG_A") == "d" && get("NONE") == "", err
		},
		"Path": func() (bool, error) {
			info, err := os.Stat(p.Path("."))
			absolute, errAbsolute := os.Stat(p.Path(dir))
			return os.SameFile(info, absolute), errors.Join(err, errAbsolute)
		},
	}
	for name, method := range methods {
		if ok, err := method(); !ok || err != nil {
			t.Errorf("%s: right %t, %v", name, ok, err)
		}
	}
	end()
	for name, method := range methods {
		if _, err := method(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s after the end: %v, want %v", name, err, fs.ErrNotExist)
		}
	}
}

// TestLocking: a process is listed for the bytes that it has locked, and for every byte after an unlimited lock.
func TestLocking(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, lock := range []unix.Flock_t{{Type: unix.F_WRLCK, Start: 10, Len: 2}, {Type: unix.F_WRLCK, Start: 100}} {
		if err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &lock); err != nil {
			t.Fatal(err)
		}
	}
	var info unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &info); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[int64]bool{9: false, 10: true, 11: true, 12: false, 99: false, 100: true, 1 << 40: true} {
		all, err := processes.Locking(info.Ino, at)
		if err != nil || slices.Contains(all, processes.Process(os.Getpid())) != want {
			t.Errorf("Locking(%d) = %v, %v, want process %d: %t", at, all, err, os.Getpid(), want)
		}
	}
}
