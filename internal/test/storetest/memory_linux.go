package storetest

import "golang.org/x/sys/unix"

// Memory returns a folder in memory with a gigabyte of space that can hold programs, or "".
func Memory() string {
	const path = "/dev/shm"
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil || st.Flags&unix.ST_NOEXEC != 0 || st.Bavail*uint64(st.Bsize) < 1<<30 {
		return ""
	}
	return path
}
