package watch

import (
	"slices"

	"golang.org/x/sys/unix"
)

// remote are the file systems that other machines may change.
var remote = []uint32{
	unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.AFS_SUPER_MAGIC,
	unix.CODA_SUPER_MAGIC, unix.V9FS_MAGIC, unix.FUSE_SUPER_MAGIC, unix.CEPH_SUPER_MAGIC,
}

// isRemote reports whether the system may not report all changes in a folder.
func isRemote(path string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) == nil && slices.Contains(remote, uint32(fs.Type))
}
