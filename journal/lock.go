package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"mend/internal/ownfile"
)

// lock takes the lock file: alone for a writer, beside other readers for a
// reader. The error is a [*LockedError] after the timeout.
func lock(path string, o Options) (*ownfile.Lock, error) {
	flags := os.O_RDWR | os.O_CREATE
	if o.ReadOnly {
		flags = os.O_RDONLY
	}
	l, err := ownfile.Acquire(path, flags, o.ReadOnly, o.Timeout)
	switch {
	case errors.Is(err, ownfile.ErrLocked):
		return nil, &LockedError{PID: holder(path), Path: path}
	case err != nil:
		return nil, fmt.Errorf("locking it: %w", err)
	}
	return l, nil
}

// unlock gives the lock back, takes the pid out, so that a later reader is not
// taken for this process, and leaves the stamp of the journal.
func unlock(l *ownfile.Lock, stamp string) error {
	if l == nil {
		return nil
	}
	if !l.Shared() {
		writeHolder(l.File(), 0, stamp)
	}
	return l.Close()
}

// The pid stands from byte 1 on. Windows lets nobody read a locked byte, and
// byte 0 is the one that is locked.
const pidAt = 1

// writeHolder writes the pid, or nothing for 0, and behind it the stamp. An error,
// such as a full disk, must not keep anybody from working: the pid is a help for a
// person, and without a stamp the journal is verified.
func writeHolder(f *os.File, pid int, stamp string) {
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
	f, err := ownfile.Open(path, os.O_RDONLY)
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
