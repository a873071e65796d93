// Package atomicfile is what the crash protocol asks of the operating system:
// two renames that never lose a file, and a barrier behind which everything is
// durable.
//
// Basics: [Exchange] swaps two names, [RenameNoReplace] moves a file to a name
// that is free, and both take effect at once or not at all, for every reader and
// across a crash. Neither ever unlinks or overwrites anything. A [Barrier]
// collects what was written and waits until the disk has it. [WriteFile] is for
// small whole files that can be made again.
//
// Caveats: only Linux and macOS have both renames, and there not on every file
// system (FUSE and NFS lack them); everywhere else the error wraps
// [errors.ErrUnsupported] and nothing has changed. [Rename] is what is left then:
// as atomic, but what stood under the new name is gone. Files are named by an open
// folder and a single name in it, so that no link on the way is followed.
package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Exchange swaps what oldDir/oldName and newDir/newName name. Both must exist,
// on one file system.
//
// The error is an [*os.LinkError]. It wraps [errors.ErrUnsupported] where the
// system or the file system cannot exchange. Other errors leave everything as it
// was, but for EIO, EINTR and those of a network, after which only a look tells;
// so no call is ever repeated here.
func Exchange(oldDir *os.File, oldName string, newDir *os.File, newName string) error {
	return linkError("exchange", oldName, newName, exchange(oldDir, oldName, newDir, newName))
}

// RenameNoReplace moves oldDir/oldName to newDir/newName, which must not exist:
// else the error wraps [os.ErrExist]. Errors as of [Exchange].
func RenameNoReplace(oldDir *os.File, oldName string, newDir *os.File, newName string) error {
	return linkError("rename", oldName, newName, renameNoReplace(oldDir, oldName, newDir, newName))
}

// Rename moves oldDir/oldName to newDir/newName, in place of a file that may be
// there. Errors as of [Exchange].
func Rename(oldDir *os.File, oldName string, newDir *os.File, newName string) error {
	return linkError("rename", oldName, newName, rename(oldDir, oldName, newDir, newName))
}

func linkError(op, from, to string, err error) error {
	if err == nil {
		return nil
	}
	// A file system without these renames says EINVAL, which nothing else here
	// can cause: the names are single ones, and no folder moves into itself.
	if errors.Is(err, syscall.EINVAL) {
		err = fmt.Errorf("%w by this file system (%w)", errors.ErrUnsupported, err)
	}
	return &os.LinkError{Op: op, Old: from, New: to, Err: err}
}
