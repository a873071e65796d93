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

// trustedTypes are the file systems on which syncfs(2) does what fsync(2) of every file would
// do, errors included. On a plain FUSE file system it does nothing and succeeds, and overlayfs
// does not get the write errors of the file system below it.
var trustedTypes = []int64{
	unix.EXT4_SUPER_MAGIC, // ext2 and ext3, too
	unix.XFS_SUPER_MAGIC,
	unix.BTRFS_SUPER_MAGIC,
	unix.F2FS_SUPER_MAGIC,
	unix.TMPFS_MAGIC,
}

// fileSystemSync returns the call that makes all of a file system durable, nil if none can be
// trusted, and whether the file system logs renames.
func fileSystemSync(dir *os.File) (syncAll func() error, logged bool) {
	var fs unix.Statfs_t
	var name unix.Utsname
	if unix.Fstatfs(int(dir.Fd()), &fs) != nil || unix.Uname(&name) != nil {
		return nil, false
	}
	if !slices.Contains(trustedTypes, int64(fs.Type)) || !reportsErrors(unix.ByteSliceToString(name.Release[:])) {
		return nil, false
	}
	syncAll = func() error {
		for {
			if err := unix.Syncfs(int(dir.Fd())); !errors.Is(err, unix.EINTR) {
				return os.NewSyscallError("syncfs", err)
			}
		}
	}
	return syncAll, logsRenames(dir, int64(fs.Type))
}

// logsRenames reports whether the file system has one log of all renames. Btrfs and F2FS log
// single files.
func logsRenames(dir *os.File, kind int64) bool {
	switch kind {
	case unix.XFS_SUPER_MAGIC, unix.TMPFS_MAGIC:
		return true
	case unix.EXT4_SUPER_MAGIC:
		return hasJournal(dir)
	}
	return false
}

// hasJournal reports whether a file system of the ext family has a journal. If that is not
// known it reports false.
func hasJournal(dir *os.File) bool {
	var st unix.Stat_t
	if unix.Fstat(int(dir.Fd()), &st) != nil {
		return false
	}
	device, err := os.Readlink(fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev)))
	if err != nil {
		return false
	}
	task, err := os.ReadFile(filepath.Join("/sys/fs/ext4", filepath.Base(device), "journal_task"))
	return err == nil && !bytes.HasPrefix(task, []byte("<none>"))
}

// reportsErrors reports whether syncfs of that kernel returns write errors: since 5.8.
func reportsErrors(release string) bool {
	var major, minor int
	_, err := fmt.Sscanf(release, "%d.%d", &major, &minor)
	return err == nil && (major > 5 || major == 5 && minor >= 8)
}
