package ownfile

import (
	"errors"
	"os"
	"time"
)

// ErrLocked says that another process held the lock for the whole timeout.
var ErrLocked = errors.New("locked by another process")

// A Lock is a lock on an open file of mend's own. It ends with Close, or with the
// process. The file is never renamed and never removed, since the lock is on the
// file and not on its name.
type Lock struct {
	f      *os.File
	shared bool
}

// lockRetry is how long to wait between two tries.
const lockRetry = 10 * time.Millisecond

// Acquire opens the file as [Open] does and locks it: beside other holders for
// shared, else alone. gofrs/flock could not do that: it opens files by name, and
// opens them again.
func Acquire(path string, flag int, shared bool, timeout time.Duration) (*Lock, error) {
	f, err := Open(path, flag)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(timeout); ; time.Sleep(lockRetry) {
		ok, err := tryLock(f, shared)
		if ok {
			return &Lock{f, shared}, nil
		}
		if err == nil && time.Now().After(deadline) {
			err = ErrLocked
		}
		if err != nil {
			f.Close()
			return nil, err
		}
	}
}

// File is the locked file, to be read and, if the lock is not shared, written.
func (l *Lock) File() *os.File { return l.f }

// Shared reports whether others may hold the lock, too.
func (l *Lock) Shared() bool { return l.shared }

// Close gives the lock back.
func (l *Lock) Close() error { return errors.Join(unlock(l.f), l.f.Close()) }
