package ownfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// CheckDir checks that the folder at dir can hold mend's own files: it must be a folder, not
// a link to one, belong to the user, and be writable only by the user. The error wraps
// [fs.ErrNotExist] if there is no such folder.
func CheckDir(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if err := checkLinks(filepath.Dir(dir)); err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return private(dir, info)
	case mode&fs.ModeSymlink != 0:
		return &UnsafeError{dir, "is a symbolic link" + leadsTo(dir) + ", and must be a folder (one above it may be a link)", "rm " + Quote(dir)}
	default:
		return &UnsafeError{dir, "is not a folder", moveAway(dir)}
	}
}

// checkLinks returns an error if dir or a folder above it is a link that belongs to another
// user, or leads to a folder of another user. Root counts as the user.
func checkLinks(dir string) error {
	for {
		link, err := os.Lstat(dir)
		if err != nil {
			return err
		}
		if link.Mode()&fs.ModeSymlink != 0 {
			target, err := os.Stat(dir)
			if err != nil {
				return err
			}
			for _, info := range []fs.FileInfo{link, target} {
				if uid, known := owner(info); known && uid != os.Geteuid() && uid != 0 {
					return &UnsafeError{dir, fmt.Sprintf("is a symbolic link%s, and one of the two belongs to another user (uid %d)", leadsTo(dir), uid), "rm " + Quote(dir)}
				}
			}
		}
		above := filepath.Dir(dir)
		if above == dir {
			return nil
		}
		dir = above
	}
}

// MakeDir makes the folder and the missing folders above it durably, with mode 0700
// regardless of the umask, and checks it as [CheckDir] does.
func MakeDir(dir string) error {
	if err := makeDir(dir); err != nil {
		return err
	}
	return CheckDir(dir)
}

func makeDir(dir string) error {
	if _, err := os.Lstat(dir); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); errors.Is(err, fs.ErrExist) {
		return nil // another process was faster
	} else if err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	return SyncDir(parent)
}
