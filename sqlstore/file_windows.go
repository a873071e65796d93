package sqlstore

import (
	"errors"
	"io/fs"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// inodeOf returns zeros: size and time must suffice to identify a file.
func inodeOf(fs.FileInfo) (dev, ino uint64) { return 0, 0 }

// setOwner does nothing: a new file inherits the owner and the rights of its folder.
func setOwner(*os.File, fs.FileInfo) {}

// checkWritable returns nil: Commit fails if the file or its folder is not writable.
func checkWritable(string) error { return nil }

// freeBytes returns the maximum: the number is unknown.
func freeBytes(string) int64 { return math.MaxInt64 }

// isLocked reports whether a process, including this one, has the file at path open.
func isLocked(path string) (bool, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return false, err
	}
	const unshared = 0 // the call fails while another one has the file open
	h, err := windows.CreateFile(name, windows.GENERIC_READ, unshared, nil, windows.OPEN_EXISTING, windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	switch {
	case err == nil:
		return false, windows.CloseHandle(h)
	case errors.Is(err, windows.ERROR_SHARING_VIOLATION):
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	}
	return false, &fs.PathError{Op: "open", Path: path, Err: err}
}

// isInUse returns true if both side files exist: then SQLite's locks are used, which is always safe.
func (files fileState) isInUse(string) (bool, error) {
	return files.shm && files.wal != fileStamp{}, nil
}
