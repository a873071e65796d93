//go:build linux || darwin

package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Exchange swaps the files oldDir/oldName and newDir/newName. Both must exist, on one file
// system.
//
// The error is an [*os.LinkError]. It wraps [errors.ErrUnsupported] if the system or the file
// system cannot exchange files. After EIO, EINTR and errors of a network file system it is unknown
// whether the files were swapped, so the call is not repeated here. After any other error nothing
// has changed.
func Exchange(oldDir *os.File, oldName string, newDir *os.File, newName string) error {
	return linkError("exchange", oldName, newName, exchange(oldDir, oldName, newDir, newName))
}

// RenameNoReplace moves oldDir/oldName to newDir/newName. If that exists, the error wraps
// [os.ErrExist]. Other errors are as for [Exchange].
func RenameNoReplace(oldDir *os.File, oldName string, newDir *os.File, newName string) error {
	return linkError("rename", oldName, newName, renameNoReplace(oldDir, oldName, newDir, newName))
}

// Rename moves oldDir/oldName to newDir/newName and replaces a file of that name. Its errors
// are as for [Exchange].
func Rename(oldDir *os.File, oldName string, newDir *os.File, newName string) error {
	return linkError("rename", oldName, newName, unix.Renameat(int(oldDir.Fd()), oldName, int(newDir.Fd()), newName))
}

func linkError(op, from, to string, err error) error {
	if err == nil {
		return nil
	}
	// A file system without these renames returns EINVAL. Nothing else here can cause EINVAL: the
	// names have no slash, and no folder moves into itself.
	if errors.Is(err, syscall.EINVAL) {
		err = fmt.Errorf("%w by this file system (%w)", errors.ErrUnsupported, err)
	}
	return &os.LinkError{Op: op, Old: from, New: to, Err: err}
}
