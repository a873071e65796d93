package database

import (
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestHeldSince: the agent's SQLite takes POSIX locks, of which the system names the
// process. Those of mend's are not named, and may be of any age.
func TestHeldSince(t *testing.T) {
	path, _ := leftover(t, true)
	s := open(t, path, Options{})
	before := time.Now()
	first := start(t, "lock", path, "")
	first.ready(t)
	between := time.Now()
	second := start(t, "lock", path, "")
	second.ready(t)
	const tick = 20 * time.Millisecond
	is := func(from, to time.Time) {
		t.Helper()
		if since, err := s.Held(t.Context()); err != nil || since.Before(from.Add(-tick)) || since.After(to.Add(tick)) {
			t.Errorf("Held = %v, %v, want a time from %v to %v", since, err, from, to)
		}
	}
	is(before, between)
	first.end(t)
	is(between, time.Now())
	unnamed := start(t, "hold", path, "")
	unnamed.ready(t)
	is(time.Unix(0, 0), time.Unix(0, 0))
	unnamed.end(t)
	second.end(t)
	if since, err := s.Held(t.Context()); err != nil || !since.IsZero() {
		t.Errorf("Held = %v, %v, want none", since, err)
	}
}

// lockShm holds the lock of a connection, as the agent's SQLite does, until its input
// ends.
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
