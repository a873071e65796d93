package journal

import (
	"bytes"
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
func acquireLock(path string, o Options) (*ownfile.Lock, error) {
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
		return nil, &LockedError{PID: lockHolder(path)}
	case err != nil:
		return nil, fmt.Errorf("locking it: %w", err)
	}
	return l, nil
}

// releaseLock replaces the pid in the lock file by the stamp and releases the lock. Without
// the pid a later reader is not mistaken for this process.
func releaseLock(l *ownfile.Lock, stamp string) error {
	if l == nil {
		return nil
	}
	if !l.Shared() {
		writeLockFile(l.File(), 0, stamp)
	}
	return l.Close()
}

// pidOffset is where the pid starts. Byte 0 is the locked one, and on Windows no other
// process can read a locked byte.
const pidOffset = 1

// writeLockFile writes the pid, or an empty line for 0, and then the stamp. Errors, such as
// a full disk, are ignored: the pid is only a help for a person, and without a stamp the
// journal is verified.
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

// lockHolder returns the pid in the lock file, or 0 if there is none.
func lockHolder(path string) int {
	f, err := ownfile.Open(path, os.O_RDONLY)
	if err != nil {
		return 0
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, pidOffset, 32))
	if err != nil {
		return 0
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	pid, _ := strconv.Atoi(string(line))
	return max(pid, 0)
}

// A journal that is not as mend left it is verified before mend writes to it, so that
// nothing is appended to a damaged file. The stamp in the lock file shows that it is as
// mend left it: what the system reported of journal.db when the last writer closed it. The
// stamp is removed while a writer has the journal open. So a journal is verified after a
// crash, and after it was copied or restored.
//
// A stamp only shows that no program has written to the file. Bytes that a disk changes by
// itself are found when they are read, and by Verify.

// verifyChanged verifies the journal, unless the stamp is the file's.
func (j *Journal) verifyChanged(stamp string) error {
	now, err := stampOf(j.file)
	if err != nil {
		return err
	}
	if now != "" && now == stamp {
		j.stamp, j.stampTxID = stamp, j.snap.txid
		return nil
	}
	return newVerifier(j, "").run()
}

// closingStamp returns the stamp for a journal that is being closed, or "" if the next
// writer has to verify it.
func (j *Journal) closingStamp() string {
	if j.db == nil || j.fatal != nil {
		return ""
	}
	if j.stamp != "" && j.stampTxID == j.snap.txid {
		return j.stamp
	}
	if err := setTime(j.file, time.Now()); err != nil {
		return ""
	}
	stamp, err := stampOf(j.file)
	if err != nil {
		return ""
	}
	return stamp
}

// readStamp returns the stamp in the lock file, or "" if there is none.
func readStamp(f *os.File) string {
	b, err := io.ReadAll(io.NewSectionReader(f, pidOffset, 256))
	if err != nil {
		return ""
	}
	_, stamp, _ := strings.Cut(string(b), "\n")
	return strings.TrimSuffix(stamp, "\n")
}

func formatStamp(ino uint64, size, mtime, ctime int64) string {
	return fmt.Sprintf("verified %d %d %d %d", ino, size, mtime, ctime)
}
