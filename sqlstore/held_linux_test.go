package sqlstore_test

import (
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mend/sqlstore"
)

// TestHeldSince: Held returns the start of the oldest process that has the database open. For POSIX locks, such as
// OpenCode's, Linux names the process. For OFD locks, such as mend's, it does not: Held then returns the start of 1970.
func TestHeldSince(t *testing.T) {
	path, _ := leftover(t, true)
	s := open(t, path, sqlstore.Options{})
	if !s.FindsHolders() {
		t.Error("FindsHolders reports false of a local file system")
	}
	before := time.Now()
	first := start(t, "lock", path, "")
	first.ready(t)
	between := time.Now()
	second := start(t, "lock", path, "")
	second.ready(t)
	const tick = 20 * time.Millisecond // the precision of the start time of a process
	wantBetween := func(from, to time.Time) {
		t.Helper()
		if since, err := s.Held(t.Context()); err != nil || since.Before(from.Add(-tick)) || since.After(to.Add(tick)) {
			t.Errorf("Held = %v, %v, want a time from %v to %v", since, err, from, to)
		}
	}
	wantBetween(before, between)
	first.end(t)
	wantBetween(between, time.Now())
	unnamed := start(t, "hold", path, "")
	unnamed.ready(t)
	wantBetween(time.Unix(0, 0), time.Unix(0, 0))
	unnamed.end(t)
	second.end(t)
	if since, err := s.Held(t.Context()); err != nil || !since.IsZero() {
		t.Errorf("Held = %v, %v, want none", since, err)
	}
}

// lockShm locks the -shm as a connection of OpenCode's SQLite does, until standard input ends.
func lockShm(path string) error {
	f, err := os.Open(path + "-shm")
	if err != nil {
		return err
	}
	defer f.Close()
	const shmDMS = 128 // SQLite's lock of a connection
	lock := unix.Flock_t{Type: unix.F_RDLCK, Start: shmDMS, Len: 1}
	if err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &lock); err != nil {
		return err
	}
	fmt.Println("ready")
	_, err = io.ReadAll(os.Stdin)
	return err
}
