//go:build unix

package boltfile

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// StampOf returns the stamp of a file: attributes that change with each write to it, but not with a
// mount or a read.
func StampOf(f *os.File) (string, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return "", fmt.Errorf("looking at it: %w", err)
	}
	return fmt.Sprintf("verified %d %d %d %d", st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano()), nil
}

// setTime sets the file's mtime. The system sets times in steps of milliseconds, so a time between
// two steps shows that no other program has written within the same step.
func setTime(f *os.File, now time.Time) error {
	tv := unix.NsecToTimeval(now.UnixNano())
	return unix.Futimes(int(f.Fd()), []unix.Timeval{tv, tv})
}

// closeMapped closes a file that bbolt has locked and still maps. The mapping would
// keep the lock after the close, so the lock is released first.
func closeMapped(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	_ = f.Close()
}
