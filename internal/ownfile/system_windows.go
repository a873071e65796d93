package ownfile

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// Named pipes are not in the file system, and creating links needs privileges that few users have.
const dontFollow, dontWait = 0, 0

// LinkCount returns 1: the number is unknown unless the file is opened.
func LinkCount(fs.FileInfo) uint64 { return 1 }

func owner(fs.FileInfo) (uid int, known bool) { return 0, false }

// tryLock reports whether it has locked the file. It locks the first byte, which no other program
// can then read.
func tryLock(f *os.File, shared bool) (bool, error) {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if !shared {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, os.NewSyscallError("LockFileEx", err)
}

func unlock(f *os.File) error {
	return os.NewSyscallError("UnlockFileEx", windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{}))
}

// SyncDir does nothing: Windows has no call for it, and NTFS journals names.
func SyncDir(string) error { return nil }
