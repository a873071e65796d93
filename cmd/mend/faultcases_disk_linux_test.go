package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"mend/internal/storetest"
	"mend/internal/wound"
)

// mounted mounts a file system in memory on a new folder below dir.
func mounted(t *testing.T, dir, name, options string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	err := os.Mkdir(path, 0o755)
	if err == nil {
		err = unix.Mount("mend-test", path, "tmpfs", 0, options)
	}
	if err != nil {
		t.Skipf("mounting needs rights: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return path
}

// both runs a test on the tree and on the database.
func both(t *testing.T, test func(t *testing.T, version string)) {
	for _, version := range []string{wound.Versions[0], wound.Versions[2]} {
		t.Run(version, func(t *testing.T) { test(t, version) })
	}
}

func TestCase11ReadOnly(t *testing.T) {
	both(t, func(t *testing.T, version string) {
		dir := storetest.FastDir(t)
		data := mounted(t, dir, "data", "size=16m")
		l := newLab(t, version, dir)
		before := l.bytes()
		if err := unix.Mount("mend-test", data, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
		l.exits(exitProblems, "scan")
		l.exits(exitDone, "repair", l.session, "--dry-run")
		l.says(l.exits(exitUnusable, "repair", l.session), "read-only")
		if got := l.bytes(); !maps.Equal(got, before) {
			t.Error("the store changed")
		}
	})
}

// bytes is all files and folders of the store as they are on the disk, also for a
// database that nobody can open.
func (l lab) bytes() map[string]string {
	l.Helper()
	all, err := wound.Snapshot(filepath.Dir(l.store))
	if err != nil {
		l.Fatal(err)
	}
	return all
}

// fill takes all the room that is left in a file system.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	name := filepath.Join(dir, "fill")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return func() { _ = os.Remove(name) }
}

func TestCase13FullAtStaging(t *testing.T) {
	both(t, func(t *testing.T, version string) {
		dir := storetest.FastDir(t)
		data := mounted(t, dir, "data", "size=16m")
		l := newLab(t, version, dir)
		before := l.snapshot()
		free := fill(t, data)
		a := l.exits(exitUnusable, "repair", l.session)
		l.says(a, "no space left")
		if version == wound.Versions[0] {
			l.says(a, "the change needs up to")
			l.says(l.exits(exitDone, "log"), "Nothing was repaired yet")
		}
		free()
		l.same("refused", before)
		l.repaired()
	})
}

// TestCase14FullJournal repairs and undoes while the journal's disk has room for
// less and less of it.
func TestCase14FullJournal(t *testing.T) {
	both(t, func(t *testing.T, version string) {
		refused := 0
		for kb := 0; kb < 400; kb += long(150, 4) {
			dir := storetest.FastDir(t)
			state := mounted(t, dir, "state", "size=400k")
			l := newLab(t, version, dir)
			before := l.snapshot()
			free := fill(t, state)
			if err := os.Truncate(filepath.Join(state, "fill"), int64(400-kb)<<10); err != nil {
				t.Fatal(err)
			}
			for _, verb := range [][]string{{"repair", l.session}, {"undo", "qevajo"}} {
				a := l.mend(verb...)
				if a.code == exitDone {
					continue
				}
				if a.code != exitUnusable && a.code != exitPending && a.code != exitUsage {
					t.Errorf("%s with %d KB: exit code %d\n%s", verb[0], kb, a.code, a.err)
				}
				if a.code != exitUsage { // undo of what was not repaired
					refused++
					l.says(a, "no space left")
				}
			}
			free()
			l.exits(exitDone, "recover")
			l.exits(exitDone, "verify")
			l.mend("undo", "--session", l.session)
			l.same(fmt.Sprintf("with %d KB, recovered and undone", kb), before)
		}
		if refused == 0 {
			t.Error("the disk was never full")
		}
	})
}

// TestCase15FullInRecovery has no room anywhere when it shall recover.
func TestCase15FullInRecovery(t *testing.T) {
	for _, at := range []string{"exchange", "barrier", "finish"} {
		dir := storetest.FastDir(t)
		data, state := mounted(t, dir, "data", "size=16m"), mounted(t, dir, "state", "size=400k")
		l := newLab(t, wound.Versions[0], dir)
		before, dead := l.snapshot(), false
		err := repairBy(l.store, filepath.Join(state, "mend"), l.session, func(call string) error {
			if dead = dead || strings.HasPrefix(call, at); dead {
				return errors.New("killed")
			}
			return nil
		})
		if err == nil {
			t.Fatalf("the repair survived the crash at %s", at)
		}
		frees := []func(){fill(t, data), fill(t, state)}
		if a := l.mend("recover"); a.code != exitDone {
			l.says(a, "no space left")
		}
		for _, free := range frees {
			free()
		}
		l.exits(exitDone, "recover")
		l.mend("undo", "--session", l.session)
		l.same("killed at "+at+", recovered and undone", before)
	}
}

// TestCase16Limits lets the process open few files, and write short ones. With
// fewer than ten Go's runtime itself cannot start.
func TestCase16Limits(t *testing.T) {
	both(t, func(t *testing.T, version string) {
		limits := []string{"n 10", "f 0", "f 40", "n 11", "n 12", "n 13", "n 14", "n 16", "n 20", "f 1", "f 8", "f 16", "f 24", "f 32", "f 64", "f 80"}
		for _, limit := range limits[:long(3, len(limits))] {
			l := newLab(t, version, "")
			before := l.snapshot()
			for _, line := range []string{"repair " + l.session, "undo qevajo"} {
				a := l.sh("ulimit -" + limit + " && mend " + line)
				l.says(a, "")
				if a.code < 0 || a.code > exitPending {
					t.Errorf("ulimit -%s: mend %s: exit code %d\n%s", limit, line, a.code, a.err)
				}
			}
			l.exits(exitDone, "recover")
			l.mend("undo", "--session", l.session)
			l.same("with ulimit -"+limit+", recovered and undone", before)
		}
	})
}
