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

// FindsHolders reports whether [Store.Held] finds every process that has the database open: locks of
// another machine, as on a network's file system, are not seen.
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

// heldSince returns the start of the oldest process that holds the lock of a connection on
// the -shm at path; the beginning of 1970 if that of one of them is not known.
func heldSince(path string) time.Time {
	unknown := time.Unix(0, 0)
	info, err := os.Stat(path)
	if err != nil {
		return unknown
	}
	_, ino := inodeOf(path, info)
	locking, err := processes.Locking(ino, shmDMS)
	if err != nil {
		return unknown
	}
	var since time.Time
	for _, p := range locking {
		started, err := p.Started()
		switch {
		case errors.Is(err, fs.ErrNotExist) && p != 0: // it has ended meanwhile
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
