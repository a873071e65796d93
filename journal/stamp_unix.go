//go:build unix

package journal

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// stampOf is what the system reports of a file, but for what a mount or a reader changes.
func stampOf(f *os.File) (string, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return "", fmt.Errorf("looking at it: %w", err)
	}
	return formatStamp(st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano()), nil
}

// setTime sets the time of the file's last change. The system's own times move in
// steps of milliseconds: one that is set here, in between, is left by no write of
// another program in the same step.
func setTime(f *os.File, now time.Time) error {
	tv := unix.NsecToTimeval(now.UnixNano())
	return unix.Futimes(int(f.Fd()), []unix.Timeval{tv, tv})
}
