package npm

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// As makes a process that of another user.
func As(user uint32) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
}

// Give makes a folder of a test, with what is in it, that of another user, and returns a path at which that
// user finds the program: the cache is this user's.
func Give(dir, exe string, user uint32) (string, error) {
	to := filepath.Join(filepath.Dir(dir), filepath.Base(exe))
	err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Link(exe, to))
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return to, errors.Join(err, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, int(user), int(user)))
	}))
}
