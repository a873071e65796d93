//go:build (linux || darwin) && !portable

package fsstore

import (
	"errors"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"mend/internal/atomicfile"
)

// These are all the calls by which a store is ever changed.

// canWrite is nil where a tree can be changed.
func canWrite() error { return nil }

func (d *dir) mkdir(name string) error {
	return d.wrap("mkdir", name, uninterrupted(func() error { return unix.Mkdirat(d.fd, name, 0o700) }))
}

func (d *dir) unlink(name string) error {
	return d.wrap("unlink", name, uninterrupted(func() error { return unix.Unlinkat(d.fd, name, 0) }))
}

func (d *dir) rmdir(name string) error {
	return d.wrap("rmdir", name, uninterrupted(func() error { return unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR) }))
}

// create makes a new file for writing, with that mode but for what the umask takes.
func (d *dir) create(name string, mode fs.FileMode) (*os.File, error) {
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := retry(func() (int, error) { return unix.Openat(d.fd, name, flags, uint32(mode)) })
	if err != nil {
		return nil, d.wrap("create", name, err)
	}
	return os.NewFile(uintptr(fd), path.Join(d.path, name)), nil
}

// statFile is what the system tells of an open file.
func statFile(f *os.File) (thing, error) {
	var st unix.Stat_t
	err := uninterrupted(func() error { return unix.Fstat(int(f.Fd()), &st) })
	if err != nil {
		return thing{}, &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	return thingOf(&st), nil
}

// exchange swaps two names, which must both be there.
func (d *dir) exchange(name string, other *dir, otherName string) error {
	return atomicfile.Exchange(d.file(), name, other.file(), otherName)
}

// move moves name to a name of other that must be free. Where the file system
// cannot see to that, it is looked just before.
func (d *dir) move(name string, other *dir, otherName string) error {
	err := atomicfile.RenameNoReplace(d.file(), name, other.file(), otherName)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if t, err := other.stat(otherName); err != nil {
		return err
	} else if t.there {
		return other.wrap("rename", otherName, fs.ErrExist)
	}
	return d.replace(name, other, otherName)
}

// replace moves name to a name of other, in place of the file that has it.
func (d *dir) replace(name string, other *dir, otherName string) error {
	return atomicfile.Rename(d.file(), name, other.file(), otherName)
}

// uninterrupted is [retry] for a call that returns nothing but an error.
func uninterrupted(call func() error) error {
	_, err := retry(func() (int, error) { return 0, call() })
	return err
}
