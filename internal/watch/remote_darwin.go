package watch

import "golang.org/x/sys/unix"

// isRemote reports whether the system may not report all changes in a folder.
func isRemote(path string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) == nil && fs.Flags&unix.MNT_LOCAL == 0
}
