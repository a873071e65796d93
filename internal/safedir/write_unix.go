//go:build linux || darwin

package safedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"mend/internal/atomicfile"
	"mend/internal/ownfile"
)

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

// OpenToSync opens a regular file to be made durable. That needs no write permission.
func (d *Dir) OpenToSync(name string) (*os.File, error) {
	f, _, err := d.Open(name)
	return f, err
}

// SetMtime sets the mtime of a file, in nanoseconds since 1970.
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

// WriteProblem explains why this process cannot write to the file at a path below the folder, or cannot
// replace it by a file staged in the folder, and what the user can do; "" if it can do both, or the
// file does not exist. It includes [Dir.LinkProblem].
func (d *Dir) WriteProblem(below string) (string, error) {
	parent, err := d.Sub(path.Dir(below))
	if IsMissing(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer parent.Close()
	name := path.Base(below)
	e, err := parent.Stat(name)
	if why := e.LinkProblem(below); err != nil || !e.IsFile() || why != "" {
		return why, err
	}
	if uid := os.Geteuid(); uid != 0 && uid != e.Owner.UID {
		return fmt.Sprintf("it belongs to another user (uid %d, you are %d), and an undo would make it yours; run mend as that user, or run in the store's folder: sudo chown %[2]d %[3]s", e.Owner.UID, uid, ownfile.Quote("./"+below)), nil
	}
	const noUndo = "is not writable, so a change could not be undone"
	var why, at string
	switch {
	case parent.isDenied(name, unix.W_OK):
		why, at = "you have no permission to write to it", "./"+below
	case parent.isDenied(".", unix.W_OK|unix.X_OK):
		why, at = "its folder "+noUndo, "./"+path.Dir(below)
	case d.isDenied(".", unix.W_OK|unix.X_OK):
		why, at = "the store's folder "+noUndo, "."
	default:
		return "", nil
	}
	return why + "; run in the store's folder: chmod u+w " + ownfile.Quote(at), nil
}

// isDenied reports whether the permissions of a name forbid the access.
func (d *Dir) isDenied(name string, mode uint32) bool {
	err := retryError(func() error { return unix.Faccessat(d.fd, name, mode, unix.AT_EACCESS) })
	return errors.Is(err, fs.ErrPermission)
}

// MakePrivate gives only the owner access to the folder. If mend runs as root, it makes o the
// owner.
func (d *Dir) MakePrivate(o Owner) error {
	if os.Geteuid() == 0 {
		if err := d.File().Chown(o.UID, o.GID); err != nil {
			return err
		}
	}
	return d.File().Chmod(0o700)
}

// Sync adds the folder to the barrier, which makes the names in it durable and closes it.
func (d *Dir) Sync(b *atomicfile.Barrier) { b.Add(d.File()) }

// StatFile returns the entry of an open file without its content.
func StatFile(f *os.File) (Entry, error) {
	var st unix.Stat_t
	err := retryError(func() error { return unix.Fstat(int(f.Fd()), &st) })
	if err != nil {
		return Entry{}, &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	return newEntry(&st), nil
}

// Exchange swaps two existing names, on one file system.
//
// The error is an [*os.LinkError]. It wraps [errors.ErrUnsupported] if the system or the file system cannot exchange
// files. After EIO, EINTR and errors of a network file system it is unknown whether the files were swapped, so the call
// is not repeated here. After any other error nothing has changed.
func (d *Dir) Exchange(name string, other *Dir, otherName string) error {
	return linkError("exchange", name, otherName, exchange(d, name, other, otherName))
}

// Link gives the file called name a second name in other, which must not exist.
func (d *Dir) Link(name string, other *Dir, otherName string) error {
	return d.wrap("link", name, retryError(func() error { return unix.Linkat(d.fd, name, other.fd, otherName, 0) }))
}

// Move moves name to a free name of other. If the file system has no call for that, the name is
// checked just before the move. Its errors are as for [Dir.Exchange], and wrap [fs.ErrExist] if the name is taken.
func (d *Dir) Move(name string, other *Dir, otherName string) error {
	err := linkError("rename", name, otherName, renameNoReplace(d, name, other, otherName))
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

// Replace moves name to a name of other, replacing the file there. Its errors are as for [Dir.Exchange].
func (d *Dir) Replace(name string, other *Dir, otherName string) error {
	return linkError("rename", name, otherName, unix.Renameat(d.fd, name, other.fd, otherName))
}

func linkError(op, from, to string, err error) error {
	if err == nil {
		return nil
	}
	// A file system without these renames returns EINVAL. Nothing else here can cause EINVAL: the
	// names have no slash, and no folder moves into itself.
	if errors.Is(err, unix.EINVAL) {
		err = fmt.Errorf("%w by this file system (%w)", errors.ErrUnsupported, err)
	}
	return &os.LinkError{Op: op, Old: from, New: to, Err: err}
}

// retryError is [retry] for a call that returns only an error.
func retryError(call func() error) error {
	_, err := retry(func() (int, error) { return 0, call() })
	return err
}
