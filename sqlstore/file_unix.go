//go:build linux || darwin

package sqlstore

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// inodeOf returns the device and the inode of a file.
func inodeOf(info fs.FileInfo) (dev, ino uint64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Dev), uint64(st.Ino) //nolint:unconvert // the types differ between systems
	}
	return 0, 0
}

// setOwner sets the owner of f to the owner of another file, if mend runs as root. It ignores errors.
func setOwner(f *os.File, info fs.FileInfo) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		_ = f.Chown(int(st.Uid), int(st.Gid))
	}
}

// checkWritable returns an error if this process may not write to the database at path, or may not
// create a missing -wal.
func checkWritable(path string) error {
	if !exists(path + "-wal") {
		if err := checkAccess(filepath.Dir(path)); err != nil {
			return err
		}
	}
	return checkAccess(path)
}

// checkAccess returns an error if this process may not write to a file or a folder.
func checkAccess(path string) error {
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS); err != nil {
		return &fs.PathError{Op: "write", Path: path, Err: err}
	}
	return nil
}

// freeBytes returns how many bytes can still be written to the file system of path.
func freeBytes(path string) int64 {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return math.MaxInt64
	}
	return int64(st.Bavail) * int64(st.Bsize) //nolint:unconvert // the types differ between systems
}

// shmDMS is the byte of the -shm on which every connection of every process holds a shared
// lock: SQLite's dead man's switch.
const shmDMS = 128

// isLocked reports whether a connection, including one of mend's, has the -shm at path open.
// F_GETLK takes no lock itself. The locks belong to open files, so closing the file here drops no
// lock of mend's other connections.
func isLocked(path string) (bool, error) {
	f, err := openPlain(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: shmDMS, Len: 1}
	for {
		err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock)
		if !errors.Is(err, unix.EINTR) {
			return err == nil && lock.Type != unix.F_UNLCK, err
		}
	}
}

// isInUse reports whether a connection has the database open.
func (files fileState) isInUse(path string) (bool, error) { return isLocked(path + "-shm") }
