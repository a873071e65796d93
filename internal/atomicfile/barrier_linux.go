package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
// is none to trust, and whether the file system has a log.
func syncerOf(on *os.File) (syncAll func() error, logs bool) {
	var fs unix.Statfs_t
	var name unix.Utsname
	if unix.Fstatfs(int(on.Fd()), &fs) != nil || unix.Uname(&name) != nil {
		return nil, false
	}
	if !slices.Contains(trusted, int64(fs.Type)) || !tellsErrors(unix.ByteSliceToString(name.Release[:])) {
		return nil, false
	}
	syncAll = func() error {
		for {
			if err := unix.Syncfs(int(on.Fd())); !errors.Is(err, unix.EINTR) {
				return os.NewSyscallError("syncfs", err)
			}
		}
	}
	return syncAll, logsNames(on, int64(fs.Type))
}

// logsNames reports whether the file system has one log of what happens to names.
// Btrfs and F2FS log single files, so of them this is not assumed.
func logsNames(on *os.File, kind int64) bool {
	switch kind {
	case unix.XFS_SUPER_MAGIC, unix.TMPFS_MAGIC:
		return true
	case unix.EXT4_SUPER_MAGIC:
		return hasJournal(on)
	}
	return false
}

// hasJournal reports whether a file system of the ext family has a journal: not
// every one does. If that cannot be told it has none.
func hasJournal(on *os.File) bool {
	var st unix.Stat_t
	if unix.Fstat(int(on.Fd()), &st) != nil {
		return false
	}
	device, err := os.Readlink(fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev)))
	if err != nil {
		return false
	}
	task, err := os.ReadFile(filepath.Join("/sys/fs/ext4", filepath.Base(device), "journal_task"))
	return err == nil && !bytes.HasPrefix(task, []byte("<none>"))
}

// tellsErrors reports whether syncfs of that kernel returns write-back errors:
// since 5.8.
func tellsErrors(release string) bool {
	var major, minor int
	_, err := fmt.Sscanf(release, "%d.%d", &major, &minor)
	return err == nil && (major > 5 || major == 5 && minor >= 8)
}
