package place

import (
	"time"

	"golang.org/x/sys/unix"
)

// BirthTime returns the creation time of the folder at a path; the zero time for a link, or if unknown.
func BirthTime(path string) time.Time {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME|unix.STATX_TYPE, &st)
	if err != nil || st.Mask&unix.STATX_BTIME == 0 || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return time.Time{}
	}
	return time.Unix(st.Btime.Sec, int64(st.Btime.Nsec))
}
