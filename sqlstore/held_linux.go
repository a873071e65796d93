package sqlstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"mend/internal/processes"
)

// FindsHolders reports whether [Store.Held] finds every process that has the database open: it does
// not see locks of other machines, as on a network file system.
func (s *Store) FindsHolders() bool {
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(s.id.Root), &st); err != nil {
		return false
	}
	switch uint32(st.Type) { //nolint:gosec // a number of 32 bits, of a type that differs between processors
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.V9FS_MAGIC, unix.FUSE_SUPER_MAGIC, unix.CEPH_SUPER_MAGIC, unix.AFS_SUPER_MAGIC:
		return false
	}
	return true
}

// oldestHolder returns the start time of the oldest process that holds a connection's lock on the -shm
// at path; the beginning of 1970 if one of them is unknown.
func oldestHolder(path string) time.Time {
	unknown := time.Unix(0, 0)
	info, err := os.Stat(path)
	if err != nil {
		return unknown
	}
	_, ino := inodeOf(info)
	locking, err := processes.Locking(ino, shmDMS)
	if err != nil {
		return unknown
	}
	var since time.Time
	for _, p := range locking {
		started, err := p.StartTime()
		switch {
		case errors.Is(err, fs.ErrNotExist) && p != 0: // it has ended since
		case err != nil:
			return unknown
		case since.IsZero() || started.Before(since):
			since = started
		}
	}
	if since.IsZero() {
		return unknown
	}
	return since
}
