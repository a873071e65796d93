package journal

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mend/change"
	"mend/internal/boltfile"
	"mend/internal/test/storetest"
)

// childLock keeps a journal open until standard input ends.
func childLock(dir string) int {
	j, err := Open(dir, Options{ReadOnly: os.Getenv("MEND_TEST_READ") != ""})
	fmt.Println("open", err)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	if err == nil && os.Getenv("MEND_TEST_DIE") == "" {
		_ = j.Close()
	}
	return 0
}

// holdLock starts a process that keeps the journal open. It returns its pid and a function
// that ends it.
func holdLock(t *testing.T, dir string, env ...string) (pid int, release func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "MEND_TEST_DO=hold", "MEND_TEST_DIR="+dir), env...)
	in, out := storetest.StartPiped(t, cmd)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "open <nil>\n" {
		t.Fatalf("the other process printed %q, %v", line, err)
	}
	var once sync.Once
	release = func() {
		once.Do(func() {
			_ = in.Close()
			_ = cmd.Wait()
		})
	}
	t.Cleanup(release)
	return cmd.Process.Pid, release
}

// TestLockedByAnotherProcess: Open waits for a lock, and names the process that holds it if the time is over.
func TestLockedByAnotherProcess(t *testing.T) {
	dir := storetest.FastDir(t)
	pid, release := holdLock(t, dir)
	for _, readOnly := range []bool{false, true} {
		start := time.Now()
		_, err := Open(dir, Options{ReadOnly: readOnly, Timeout: 200 * time.Millisecond})
		var locked *LockedError
		if !errors.As(err, &locked) || locked.PID != pid || !strings.Contains(err.Error(), fmt.Sprintf("locked by process %d", pid)) {
			t.Errorf("Open(ReadOnly %t) = %v, want locked by %d", readOnly, err, pid)
		}
		if d := time.Since(start); d < 150*time.Millisecond || d > 2*time.Second {
			t.Errorf("Open took %v", d)
		}
	}
	go func() {
		time.Sleep(100 * time.Millisecond)
		release()
	}()
	j, err := Open(dir, Options{})
	if err != nil {
		t.Fatalf("Open after the other process ended: %v", err)
	}
	mustClose(t, j)
}

// TestReaders: several processes read at once, and keep a writer out.
func TestReaders(t *testing.T) {
	dir := storetest.FastDir(t)
	j := mustOpen(t, dir, Options{})
	mustCommit(t, j, scanCause(), sampleOps()...)
	mustClose(t, j)
	_, release := holdLock(t, dir, "MEND_TEST_READ=1")
	a := mustOpen(t, dir, Options{ReadOnly: true})
	b := mustOpen(t, dir, Options{ReadOnly: true})
	mustVerify(t, a)
	mustVerify(t, b)
	var locked *LockedError
	if _, err := Open(dir, Options{Timeout: 100 * time.Millisecond}); !errors.As(err, &locked) || locked.PID != 0 {
		t.Errorf("Open beside readers = %v, want locked without a process", err)
	}
	mustClose(t, a)
	mustClose(t, b)
	release()
	mustOpen(t, dir, Options{Timeout: time.Second})
}

// TestHolderDied: a lock ends with its process, although the lock file still has its pid.
func TestHolderDied(t *testing.T) {
	dir := storetest.FastDir(t)
	pid, release := holdLock(t, dir, "MEND_TEST_DIE=1")
	release()
	if got := boltfile.LockHolder(filepath.Join(dir, lockName)); got != pid {
		t.Errorf("the lock file names %d, want %d", got, pid)
	}
	j := mustOpen(t, dir, Options{})
	if got := boltfile.LockHolder(filepath.Join(dir, lockName)); got != os.Getpid() {
		t.Errorf("the lock file names %d, want %d", got, os.Getpid())
	}
	mustClose(t, j)
	if got := boltfile.LockHolder(filepath.Join(dir, lockName)); got != 0 {
		t.Errorf("the lock file names %d, want none", got)
	}
}

// TestSyncOfPending: Open for writing syncs a file with a pending entry, because a killed process may not have.
func TestSyncOfPending(t *testing.T) {
	dir := storetest.FastDir(t)
	for _, pending := range []bool{false, true} {
		synced := false
		j := mustOpen(t, dir, Options{Step: func(what string) error {
			synced = synced || what == "sync"
			return nil
		}})
		if synced != pending {
			t.Errorf("pending %t: synced %t", pending, synced)
		}
		mustBegin(t, j, scanCause(), sampleOps()...)
		mustClose(t, j)
	}
}

// TestReplacedWhileHeld: if the file of an open journal is replaced, the lock still keeps a second writer out.
func TestReplacedWhileHeld(t *testing.T) {
	dir := storetest.FastDir(t)
	j := mustOpen(t, dir, Options{})
	mustCommit(t, j, scanCause(), sampleOps()...)
	path := filepath.Join(dir, fileName)
	b, err := os.ReadFile(path)
	if err == nil {
		err = errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, b, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	var locked *LockedError
	if _, err := Open(dir, Options{Timeout: 50 * time.Millisecond}); !errors.As(err, &locked) {
		t.Errorf("Open: %v, want locked", err)
	}
}

// TestUnlockedReader: a reader without a lock reads while a writer writes, and reports that the journal has changed.
func TestUnlockedReader(t *testing.T) {
	dir := t.TempDir()
	w := mustOpen(t, dir, Options{})
	defer mustClose(t, w)
	mustCommit(t, w, scanCause(), sampleOps()...)
	if _, err := Open(dir, Options{ReadOnly: true, Timeout: time.Millisecond}); !errors.As(err, new(*LockedError)) {
		t.Fatalf("a reader beside a writer: %v, want a LockedError", err)
	}
	r := mustOpen(t, dir, Options{ReadOnly: true, Unlocked: true})
	defer mustClose(t, r)
	es, err := r.List(Query{})
	if err != nil || len(es) != 1 || r.HasChanged() {
		t.Fatalf("beside the writer: %d entries, %v, changed %t; want 1 and unchanged", len(es), err, r.HasChanged())
	}
	seen := r.NewestEvent()
	if _, found, err := w.ChangedSince(seen, es[0].Store, es[0].Session); found || err != nil {
		t.Errorf("nothing changed, found %t, %v", found, err)
	}
	e := mustBegin(t, w, scanCause(), sampleOps()...)
	if !r.HasChanged() {
		t.Error("HasChanged = false after the writer has committed")
	}
	mustFinish(t, w, e, change.Aborted)
	if _, found, err := w.ChangedSince(seen, e.Store, e.Session); found || err != nil {
		t.Errorf("an aborted entry counts: %t, %v", found, err)
	}
	e = mustCommit(t, w, scanCause(), sampleOps()...)
	if got, found, err := w.ChangedSince(seen, e.Store, e.Session); !found || err != nil || got.ID != e.ID {
		t.Errorf("ChangedSince = %s, %t, %v, want %s", got.ID, found, err, e.ID)
	}
	if _, found, err := w.ChangedSince(seen, e.Store, "ses_other"); found || err != nil {
		t.Errorf("another session: %t, %v", found, err)
	}
}
