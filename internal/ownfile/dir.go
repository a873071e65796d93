package ownfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// CheckDir checks that the folder at dir can hold mend's own files: it must be a folder rather than a
// link to one, belong to the user, and be writable only by the user. The error wraps [fs.ErrNotExist]
// if the folder does not exist.
func CheckDir(dir string) error {
	info, err := os.Lstat(dir)
	for at := dir; errors.Is(err, syscall.ENOTDIR); {
		at = filepath.Dir(at)
		if above, serr := os.Stat(at); serr == nil {
			return NotFolder(at, above.Mode())
		}
	}
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
		unsafe := &UnsafeError{dir, "is a symbolic link" + linkTargetText(dir) + ", and must be a folder (a folder above it may be a link)", "rm " + Quote(dir)}
		target, err := filepath.EvalSymlinks(dir)
		if info, errStat := os.Stat(target); err == nil && errStat == nil && info.IsDir() { // with what mend has kept there
			unsafe.Repair += " && mv " + Quote(target) + " " + Quote(dir)
		}
		return unsafe
	default:
		return NotFolder(dir, info.Mode())
	}
}

// checkLinks returns an error if dir or a folder above it is a link that belongs to another user, or
// leads to a folder of another user. Root counts as the user.
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
					return &UnsafeError{dir, fmt.Sprintf("is a symbolic link%s, and one of the two belongs to another user (uid %d)", linkTargetText(dir), uid), "rm " + Quote(dir)}
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

// CheckUser returns an error if mend runs as root and path is in a folder of another user, for example
// if HOME is not root's: that user's programs could not use files that root creates there.
func CheckUser(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	for dir := path; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
			continue
		}
		if err != nil {
			return err
		}
		if uid, known := owner(info); known && uid != 0 {
			return &UnsafeError{dir, fmt.Sprintf("belongs to another user (uid %d, you are 0), whose programs could not use what root makes there", uid), sudoPrefix(uid)}
		}
		return nil
	}
}

// GiveToOwner changes the owner of a file that root wrote in another user's folder to that user, if
// the file system supports it.
func GiveToOwner(f *os.File) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(filepath.Dir(f.Name()))
	if err != nil {
		return err
	}
	if uid, known := owner(info); known && uid != 0 {
		if err := f.Chown(uid, -1); !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

// sudoPrefix returns the start of a command that runs mend as the given user.
func sudoPrefix(uid int) string { return fmt.Sprintf("sudo -u '#%d' mend", uid) }

// MakeDir durably makes the folder and its missing parents, with mode 0700 regardless of the umask,
// and checks it with [CheckDir] and [CheckUser].
func MakeDir(dir string) error {
	if err := CheckUser(dir); err != nil {
		return err
	}
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
	if parent != dir { // a Windows drive can be missing
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
