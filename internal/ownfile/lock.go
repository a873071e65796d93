package ownfile

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrLocked means that another process held the lock for the whole timeout.
var ErrLocked = errors.New("locked by another process")

// A Lock is a lock on one of mend's own files. It ends with Close or with the process. The
// file is never renamed or removed, because the lock is on the file, not on its name.
type Lock struct{ f *os.File }

// lockRetry is the time between two attempts.
const lockRetry = 10 * time.Millisecond

// Acquire opens the file with [Open] and locks it, shared with other holders or exclusively. gofrs/flock cannot do
// that: it opens files by name, and reopens them.
func Acquire(path string, flag int, shared bool, timeout time.Duration) (*Lock, error) {
	f, err := Open(path, flag)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(timeout); ; time.Sleep(lockRetry) {
		ok, err := tryLock(f, shared)
		if ok {
			return &Lock{f}, nil
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

// TryLock locks an open file or folder exclusively, until [Unlock] or until it is closed. The error is [ErrLocked] if
// it is locked, and wraps [errors.ErrUnsupported] if locking is impossible: on Windows for a folder, and on some
// network file systems for anything.
func TryLock(f *os.File) error {
	ok, err := tryLock(f, false)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	case !ok:
		return ErrLocked
	}
	return nil
}

// Unlock ends the lock of [TryLock] at once. Closing the file does not end it while a child process has the file open,
// as each child has until it starts its own program.
func Unlock(f *os.File) { _ = unlock(f) }

// File returns the locked file. With a shared lock it may only be read.
func (l *Lock) File() *os.File { return l.f }

// Close releases the lock.
func (l *Lock) Close() error { return errors.Join(unlock(l.f), l.f.Close()) }
