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

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/damage"
	"mend/internal/test/storetest"
)

func mountTmpfs(t *testing.T, dir, name, options string) string {
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

// eachStore runs a test on the tree and on the database.
func eachStore(t *testing.T, test func(t *testing.T, version string)) {
	for _, version := range []string{damage.Versions[0], damage.Versions[2]} {
		t.Run(version, func(t *testing.T) { test(t, version) })
	}
}

// TestCase11ReadOnly: a store on a read-only file system is read, and a repair is refused with the way to fix that.
func TestCase11ReadOnly(t *testing.T) {
	eachStore(t, func(t *testing.T, version string) {
		dir := storetest.FastDir(t)
		data := mountTmpfs(t, dir, "data", "size=16m")
		sb := newSandbox(t, version, dir)
		before := sb.rawFiles()
		if err := unix.Mount("mend-test", data, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
		scanned := frame.ExitProblems
		if version != damage.Versions[0] { // OpenCode 1.18 answers no prompt on a read-only file system
			scanned = frame.ExitUnusable
		}
		sb.mustExit(scanned, "scan")
		sb.mustExit(frame.ExitDone, "repair", sb.session, "--dry-run")
		a := sb.mustExit(frame.ExitUnusable, "repair", "--yes", sb.session)
		sb.wantOutput(a, "read-only")
		sb.wantOutput(a, "make its file system writable")
		if got := sb.rawFiles(); !maps.Equal(got, before) {
			t.Error("the store changed")
		}
	})
}

// rawFiles returns all files and folders beside and below the store as bytes, even of a database that cannot be opened.
func (sb sandbox) rawFiles() map[string]string {
	sb.Helper()
	all, err := damage.Snapshot(filepath.Dir(sb.store))
	if err != nil {
		sb.Fatal(err)
	}
	return all
}

// fillDisk fills a file system until free is called.
func fillDisk(t *testing.T, dir string) (free func()) {
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

// TestCase13FullAtStaging: if there is no space for the new contents, a repair changes nothing and is not in the log.
func TestCase13FullAtStaging(t *testing.T) {
	eachStore(t, func(t *testing.T, version string) {
		dir := storetest.FastDir(t)
		data := mountTmpfs(t, dir, "data", "size=16m")
		sb := newSandbox(t, version, dir)
		before := sb.snapshot()
		free := fillDisk(t, data)
		if version != damage.Versions[0] {
			for _, verb := range []string{"scan", "status"} {
				a := sb.mustExit(frame.ExitUnusable, verb)
				sb.wantOutput(a, "OpenCode may answer no prompt: ")
				sb.wantOutput(a, "a prompt needs up to")
			}
		}
		a := sb.mustExit(frame.ExitUnusable, "repair", "--yes", sb.session)
		sb.wantOutput(a, "no space left")
		sb.wantOutput(a, "free some space there")
		if version == damage.Versions[0] {
			sb.wantOutput(a, "the change needs up to")
			sb.wantOutput(sb.mustExit(frame.ExitDone, "log"), "No repairs yet")
		}
		free()
		sb.wantSnapshot("refused", before)
		sb.mustRepair()
	})
}

// TestCase14FullJournal: whatever space the journal has left, a repair and an undo are made or refused, and an undo
// restores the store.
func TestCase14FullJournal(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, version string) {
		refused := 0
		for kb := 0; kb < 400; kb += tortureCount(150, 4) {
			dir := storetest.FastDir(t)
			state := mountTmpfs(t, dir, "state", "size=400k")
			sb := newSandbox(t, version, dir)
			before := sb.snapshot()
			free := fillDisk(t, state)
			if err := os.Truncate(filepath.Join(state, "fill"), int64(400-kb)<<10); err != nil {
				t.Fatal(err)
			}
			for _, verb := range [][]string{{"repair", "--yes", sb.session}, {"undo", "--yes", "qevajo"}} {
				a := sb.mend(verb...)
				if a.code == frame.ExitDone {
					continue
				}
				if a.code != frame.ExitUnusable && a.code != frame.ExitPending && a.code != frame.ExitUsage {
					t.Errorf("%s with %d KB: exit code %d\n%s", verb[0], kb, a.code, a.err)
				}
				if a.code != frame.ExitUsage { // nothing was repaired
					refused++
					sb.wantOutput(a, "no space left")
					sb.wantOutput(a, "free some space there")
				}
			}
			free()
			sb.mustExit(frame.ExitDone, "recover")
			sb.mustExit(frame.ExitDone, "verify")
			sb.mend("undo", "--yes", "--session", sb.session)
			sb.wantSnapshot(fmt.Sprintf("with %d KB, recovered and undone", kb), before)
		}
		if refused == 0 {
			t.Error("the disk was never full")
		}
	})
}

// TestCase15FullInRecovery: a recovery with full disks reports that, and is completed when there is space again.
func TestCase15FullInRecovery(t *testing.T) {
	for _, at := range []string{"exchange", "barrier", "finish"} {
		dir := storetest.FastDir(t)
		data, state := mountTmpfs(t, dir, "data", "size=16m"), mountTmpfs(t, dir, "state", "size=400k")
		sb := newSandbox(t, damage.Versions[0], dir)
		before, dead := sb.snapshot(), false
		err := repairWith(sb.store, filepath.Join(state, "mend"), sb.session, func(call string) error {
			if dead = dead || strings.HasPrefix(call, at); dead {
				return errors.New("killed")
			}
			return nil
		})
		if err == nil {
			t.Fatalf("the repair survived the crash at %s", at)
		}
		frees := []func(){fillDisk(t, data), fillDisk(t, state)}
		if a := sb.mend("recover"); a.code != frame.ExitDone {
			sb.wantOutput(a, "no space left")
			sb.wantOutput(a, "free some space there")
		}
		for _, free := range frees {
			free()
		}
		sb.mustExit(frame.ExitDone, "recover")
		sb.mend("undo", "--yes", "--session", sb.session)
		sb.wantSnapshot("killed at "+at+", recovered and undone", before)
	}
}

// TestCase16Limits: with few open files or small files allowed, a repair and an undo are made or refused, and the
// recovery restores the store. Go's runtime needs ten open files to start.
func TestCase16Limits(t *testing.T) {
	eachStore(t, func(t *testing.T, version string) {
		limits := []string{"n 10", "f 0", "f 40", "n 11", "n 12", "n 13", "n 14", "n 16", "n 20", "f 1", "f 8", "f 16", "f 24", "f 32", "f 64", "f 80"}
		for _, limit := range limits[:tortureCount(3, len(limits))] {
			sb := newSandbox(t, version, "")
			before := sb.snapshot()
			for _, line := range []string{"repair " + sb.session, "undo qevajo"} {
				a := sb.sh("ulimit -" + limit + " && mend " + line)
				sb.wantOutput(a, "")
				if a.code < 0 || a.code > frame.ExitPending {
					t.Errorf("ulimit -%s: mend %s: exit code %d\n%s", limit, line, a.code, a.err)
				}
			}
			sb.mustExit(frame.ExitDone, "recover")
			sb.mend("undo", "--yes", "--session", sb.session)
			sb.wantSnapshot("with ulimit -"+limit+", recovered and undone", before)
		}
	})
}
