package boltfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"mend/internal/ownfile"
)

// acquireLock locks the lock file: exclusively for a writer, shared for a reader. The error
// is a [*LockedError] after the timeout.
func (f *File) acquireLock() (*ownfile.Lock, error) {
	o, path := f.opts, f.path(f.spec.Lock)
	flags := os.O_RDWR | os.O_CREATE
	if o.ReadOnly {
		flags = os.O_RDONLY
	}
	if o.Unlocked {
		o.Timeout = 0
	}
	l, err := ownfile.Acquire(path, flags, o.ReadOnly, o.Timeout)
	switch {
	case errors.Is(err, ownfile.ErrLocked):
		return nil, &LockedError{PID: LockHolder(path)}
	case err != nil:
		return nil, fmt.Errorf("locking it: %w", err)
	}
	return l, nil
}

// releaseLock replaces the pid in the lock file by the stamp and releases the lock. Without the
// pid, a later reader is not mistaken for this process.
func (f *File) releaseLock(stamp string) error {
	l := f.lock
	if l == nil {
		return nil
	}
	if !f.opts.ReadOnly {
		writeLockFile(l.File(), 0, stamp)
	}
	return l.Close()
}

// A LockedError means that another process has locked the file.
type LockedError struct {
	PID int // process id; 0 if unknown, as for readers
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return "locked by another process"
	}
	return fmt.Sprintf("locked by process %d", e.PID)
}

// pidOffset is the offset of the pid. Byte 0 is locked, and on Windows no other process can read a
// locked byte.
const pidOffset = 1

// writeLockFile writes the pid, or an empty line for 0, and then the stamp. Errors, such as a full
// disk, are ignored: the pid only helps a person, and without a stamp the file is verified.
func writeLockFile(f *os.File, pid int, stamp string) {
	text := "\n"
	if pid != 0 {
		text = strconv.Itoa(pid) + "\n"
	}
	if stamp != "" {
		text += stamp + "\n"
	}
	_, _ = f.WriteAt([]byte(text), pidOffset)
	_ = f.Truncate(int64(pidOffset + len(text)))
}

// readLockFile returns what writeLockFile has written; 0 and "" if there is no pid or no stamp.
func readLockFile(f *os.File) (pid int, stamp string) {
	b, err := io.ReadAll(io.NewSectionReader(f, pidOffset, 256))
	if err != nil {
		return 0, ""
	}
	line, stamp, _ := strings.Cut(string(b), "\n")
	pid, _ = strconv.Atoi(line)
	return max(pid, 0), strings.TrimSuffix(stamp, "\n")
}

// LockHolder returns the pid in the lock file, or 0.
func LockHolder(path string) int {
	f, err := ownfile.Open(path, os.O_RDONLY)
	if err != nil {
		return 0
	}
	defer f.Close()
	pid, _ := readLockFile(f)
	return pid
}

// A file is verified before mend writes to it if another program may have changed it, so that nothing is appended to
// a damaged file. The stamp in the lock file has the file's attributes from when the last writer closed it, and is
// removed while a writer has the file open. So the file is verified after a crash, a copy or a restore.
//
// A stamp only shows that no program has written to the file. Bytes that a disk changes by itself
// are found when they are read, and by Verify.

// verifyChanged verifies the file, unless the stamp matches it.
func (f *File) verifyChanged(stamp string) error {
	now, err := StampOf(f.file)
	if err != nil {
		return err
	}
	if now != "" && now == stamp {
		f.stamp, f.stampTxID = stamp, f.Snap.txid
		return nil
	}
	return f.spec.Verify()
}

// closingStamp returns the stamp for a file that is being closed, or "" if the next writer has to
// verify the file.
func (f *File) closingStamp() string {
	if f.db == nil || f.Fatal != nil {
		return ""
	}
	if f.stamp != "" && f.stampTxID == f.Snap.txid {
		return f.stamp
	}
	if err := setTime(f.file, time.Now()); err != nil {
		return ""
	}
	stamp, err := StampOf(f.file)
	if err != nil {
		return ""
	}
	return stamp
}
