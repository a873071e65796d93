//go:build (linux || darwin) && !portable

package safedir

import (
	"errors"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"mend/internal/atomicfile"
)

// CanWrite returns nil where a tree can be changed, else an error that wraps
// [errors.ErrUnsupported].
func CanWrite() error { return nil }

// Mkdir makes a folder that only its owner may enter.
func (d *Dir) Mkdir(name string) error {
	return d.wrap("mkdir", name, retryError(func() error { return unix.Mkdirat(d.fd, name, 0o700) }))
}

// Unlink removes a file.
func (d *Dir) Unlink(name string) error {
	return d.wrap("unlink", name, retryError(func() error { return unix.Unlinkat(d.fd, name, 0) }))
}

// Rmdir removes an empty folder.
func (d *Dir) Rmdir(name string) error {
	return d.wrap("rmdir", name, retryError(func() error { return unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR) }))
}

// Create makes a new file for writing. The umask applies to mode.
func (d *Dir) Create(name string, mode fs.FileMode) (*os.File, error) {
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := retry(func() (int, error) { return unix.Openat(d.fd, name, flags, uint32(mode)) })
	if err != nil {
		return nil, d.wrap("create", name, err)
	}
	return os.NewFile(uintptr(fd), path.Join(d.Path, name)), nil
}

// OpenAppend opens a regular file for reading and for writing at its end.
func (d *Dir) OpenAppend(name string) (*os.File, error) {
	const flags = unix.O_RDWR | unix.O_APPEND | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := retry(func() (int, error) { return unix.Openat(d.fd, name, flags, 0) })
	if err != nil {
		return nil, d.wrap("open", name, err)
	}
	f := os.NewFile(uintptr(fd), path.Join(d.Path, name))
	e, err := StatFile(f)
	if err == nil && !e.IsFile() {
		err = d.wrap("open", name, errors.New(e.ReadProblem()))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// SetMtime sets the time of the last change of a file, in nanoseconds since 1970.
func (d *Dir) SetMtime(name string, mtime int64) error {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return d.wrap("stat", name, err)
	}
	times := []unix.Timespec{unix.NsecToTimespec(st.Atim.Nano()), unix.NsecToTimespec(mtime)}
	return d.wrap("set the time of", name, retryError(func() error {
		return unix.UtimesNanoAt(d.fd, name, times, unix.AT_SYMLINK_NOFOLLOW)
	}))
}

// StatFile returns the entry of an open file without its content.
func StatFile(f *os.File) (Entry, error) {
	var st unix.Stat_t
	err := retryError(func() error { return unix.Fstat(int(f.Fd()), &st) })
	if err != nil {
		return Entry{}, &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	return newEntry(&st), nil
}

// Exchange swaps two existing names.
func (d *Dir) Exchange(name string, other *Dir, otherName string) error {
	return atomicfile.Exchange(d.File(), name, other.File(), otherName)
}

// Move moves name to a name of other that does not exist. Where the file system has no
// call for that, the name is checked just before the move.
func (d *Dir) Move(name string, other *Dir, otherName string) error {
	err := atomicfile.RenameNoReplace(d.File(), name, other.File(), otherName)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if e, err := other.Stat(otherName); err != nil {
		return err
	} else if e.Exists {
		return other.wrap("rename", otherName, fs.ErrExist)
	}
	return d.Replace(name, other, otherName)
}

// Replace moves name to a name of other, replacing the file there.
func (d *Dir) Replace(name string, other *Dir, otherName string) error {
	return atomicfile.Rename(d.File(), name, other.File(), otherName)
}

// retryError is [retry] for a call that returns only an error.
func retryError(call func() error) error {
	_, err := retry(func() (int, error) { return 0, call() })
	return err
}
