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

// lock takes the lock file: alone for a writer, beside other readers for a
// reader. The error is a [*LockedError] after the timeout.
func acquireLock(path string, o Options) (*ownfile.Lock, error) {
	flags := os.O_RDWR | os.O_CREATE
	if o.ReadOnly {
		flags = os.O_RDONLY
	}
	l, err := ownfile.Acquire(path, flags, o.ReadOnly, o.Timeout)
	switch {
	case errors.Is(err, ownfile.ErrLocked):
		return nil, &LockedError{PID: lockHolder(path), Path: path}
	case err != nil:
		return nil, fmt.Errorf("locking it: %w", err)
	}
	return l, nil
}

// unlock gives the lock back, takes the pid out, so that a later reader is not
// taken for this process, and leaves the stamp of the journal.
func releaseLock(l *ownfile.Lock, stamp string) error {
	if l == nil {
		return nil
	}
	if !l.Shared() {
		writeLockFile(l.File(), 0, stamp)
	}
	return l.Close()
}

// The pid stands from byte 1 on. Windows lets nobody read a locked byte, and
// byte 0 is the one that is locked.
const pidOffset = 1

// writeHolder writes the pid, or nothing for 0, and behind it the stamp. An error,
// such as a full disk, must not keep anybody from working: the pid is a help for a
// person, and without a stamp the journal is verified.
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

// holder is the pid in the lock file, 0 where there is none.
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

// A journal that is not as mend left it is verified as a whole before mend writes
// to it: nothing is appended behind damage. That it is as mend left it is shown by
// the stamp in the lock file: what the system reports of journal.db when a writer
// closes it. The stamp is removed while a writer is at work, so that a crash, too,
// leads to a verification; so does a journal that was copied or restored.
//
// A stamp shows that no program has written to the file. Bytes that a disk changes
// by itself are found when they are read, and by Verify.

// verifyChanged verifies the journal, unless stamp is that of the file.
func (j *Journal) verifyChanged(stamp string) error {
	now, err := stampOf(j.file)
	if err != nil {
		return err
	}
	if now != "" && now == stamp {
		j.stamp, j.stampTxID = stamp, j.snap.TxID()
		return nil
	}
	return newVerifier(j, "").run()
}

// leave is the stamp for a journal that this process is done with; "" if it has to
// be verified by the next one.
func (j *Journal) closingStamp() string {
	if j.db == nil || j.fatal != nil {
		return ""
	}
	if j.stamp != "" && j.stampTxID == j.snap.TxID() {
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

// readStamp is the stamp in the lock file, "" where there is none.
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
