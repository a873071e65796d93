package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/gofrs/flock"
)

const lockRetry = 10 * time.Millisecond

// lock takes the lock file: alone for a writer, beside other readers for a
// reader. The file is never renamed and never removed, since the lock is on the
// file and not on its name. The error is a [*LockedError] after the timeout.
func lock(path string, o Options) (*flock.Flock, error) {
	flags := os.O_RDWR | os.O_CREATE
	if o.ReadOnly {
		flags = os.O_RDONLY
	}
	l := flock.New(path, flock.SetFlag(flags), flock.SetPermissions(0o600))
	try := l.TryLockContext
	if o.ReadOnly {
		try = l.TryRLockContext
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.Timeout)
	defer cancel()
	if _, err := try(ctx, lockRetry); errors.Is(err, context.DeadlineExceeded) {
		return nil, &LockedError{PID: holder(path), Path: path}
	} else if err != nil {
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return l, nil
}

// unlock gives the lock back, takes the pid out, so that a later reader is not
// taken for this process, and leaves the stamp of the journal.
func unlock(l *flock.Flock, stamp string) error {
	if l == nil {
		return nil
	}
	if l.Locked() {
		writeHolder(l.Path(), 0, stamp)
	}
	return l.Unlock()
}

// The pid stands from byte 1 on. Windows lets nobody read a locked byte, and
// byte 0 is the one that is locked.
const pidAt = 1

// writeHolder writes the pid, or nothing for 0, and behind it the stamp. An error,
// such as a full disk, must not keep anybody from working: the pid is a help for a
// person, and without a stamp the journal is verified.
func writeHolder(path string, pid int, stamp string) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	_ = f.Chmod(0o600)
	text := "\n"
	if pid != 0 {
		text = strconv.Itoa(pid) + "\n"
	}
	if stamp != "" {
		text += stamp + "\n"
	}
	_, _ = f.WriteAt([]byte(text), pidAt)
	_ = f.Truncate(int64(pidAt + len(text)))
}

// holder is the pid in the lock file, 0 where there is none.
func holder(path string) int {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, pidAt, 32))
	if err != nil {
		return 0
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	pid, _ := strconv.Atoi(string(line))
	return max(pid, 0)
}
