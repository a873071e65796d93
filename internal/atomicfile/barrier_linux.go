package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// trusted are the file systems on which syncfs(2) is known to do what fsync(2)
// of every file would do, its errors included. On a plain FUSE it does nothing
// and returns success, and an overlay does not hear of the write-back errors of
// the file system below it.
var trusted = []int64{
	unix.EXT4_SUPER_MAGIC, // ext2 and ext3, too
	unix.XFS_SUPER_MAGIC,
	unix.BTRFS_SUPER_MAGIC,
	unix.F2FS_SUPER_MAGIC,
	unix.TMPFS_MAGIC,
}

// syncerOf is the call that makes all of a file system durable, nil where there
// is none to trust.
func syncerOf(on *os.File) func() error {
	var st unix.Statfs_t
	var name unix.Utsname
	if unix.Fstatfs(int(on.Fd()), &st) != nil || unix.Uname(&name) != nil {
		return nil
	}
	if !slices.Contains(trusted, int64(st.Type)) || !tellsErrors(unix.ByteSliceToString(name.Release[:])) {
		return nil
	}
	return func() error {
		for {
			if err := unix.Syncfs(int(on.Fd())); !errors.Is(err, unix.EINTR) {
				return os.NewSyscallError("syncfs", err)
			}
		}
	}
}

// tellsErrors reports whether syncfs of that kernel returns write-back errors:
// since 5.8.
func tellsErrors(release string) bool {
	var major, minor int
	_, err := fmt.Sscanf(release, "%d.%d", &major, &minor)
	return err == nil && (major > 5 || major == 5 && minor >= 8)
}
