package safedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"

	"golang.org/x/sys/windows"

	"mend/internal/atomicfile"
)

// A Dir is an open folder of the tree. An [os.Root] follows links that stay below it, so each
// name is checked before and after it is opened.
type Dir struct {
	Path string // below the root

	r   *os.Root
	top *os.Root // the root of the tree, which stays open while files are moved
	f   *os.File // of r, after a call of [Dir.File]
}

func open(name string) (*Dir, error) {
	r, err := os.OpenRoot(name)
	return &Dir{Path: ".", r: r, top: r}, err
}

// Close closes the folder.
func (d *Dir) Close() {
	if d.f != nil {
		d.f.Close()
	}
	d.r.Close()
}

// File returns the folder as a file, nil if it cannot be read. Close closes it. Not safe for concurrent use.
func (d *Dir) File() *os.File {
	if d.f == nil {
		d.f, _ = d.r.Open(".")
	}
	return d.f
}

func (d *Dir) child(name string) (*Dir, error) {
	before, err := d.r.Lstat(name)
	if err != nil {
		return nil, err
	}
	p := path.Join(d.Path, name)
	if !before.IsDir() {
		return nil, &NotFolderError{p, before.Mode()}
	}
	r, err := d.r.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	after, err := r.Stat(".")
	if err == nil && !os.SameFile(before, after) {
		err = fmt.Errorf("%s: replaced while it was opened", p)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return &Dir{Path: p, r: r, top: d.top}, nil
}

// Names returns the names in the folder in any order.
func (d *Dir) Names() ([]string, error) {
	f, err := d.r.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// Read returns the entry with its content if it is a regular file of at most max
// bytes.
func (d *Dir) Read(name string, max int64) (Entry, error) {
	f, e, err := d.Open(name)
	if f == nil {
		return e, err
	}
	defer f.Close()
	if e.TooLarge = e.Size > max; e.TooLarge {
		return e, nil
	}
	e.Data, e.TooLarge, err = readAll(f, e.Size, max)
	return e, err
}

// Open opens a regular file for reading in chunks. The file is nil if the entry is not a regular file or does not
// exist.
func (d *Dir) Open(name string) (*os.File, Entry, error) {
	return d.openFile(name, os.O_RDONLY|syscall.O_NONBLOCK)
}

// openFile opens a regular file. The file is nil if the entry is not a regular file or does not exist.
func (d *Dir) openFile(name string, flag int) (*os.File, Entry, error) {
	e, before, err := d.lstat(name)
	if err != nil || !e.IsFile() {
		return nil, e, err
	}
	f, err := d.r.OpenFile(name, flag, 0)
	if err != nil {
		return nil, e, err
	}
	after, err := f.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = fmt.Errorf("%s: replaced while it was opened", path.Join(d.Path, name))
	}
	if err != nil {
		f.Close()
		return nil, e, err
	}
	return f, e, nil
}

// Stat returns the entry without its content.
func (d *Dir) Stat(name string) (Entry, error) {
	e, _, err := d.lstat(name)
	return e, err
}

func (d *Dir) lstat(name string) (Entry, fs.FileInfo, error) {
	fi, err := d.r.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Entry{}, nil, nil
	}
	if err != nil {
		return Entry{}, nil, err
	}
	return newEntry(fi), fi, nil
}

// newEntry returns the system's description of a file. Its mode never lets other users write: Windows has no such bits.
func newEntry(fi fs.FileInfo) Entry {
	return Entry{Exists: true, Mode: fi.Mode().Type() | fi.Mode().Perm()&^0o022, Size: fi.Size(), Links: 1, Mtime: fi.ModTime().UnixNano()}
}

// Mkdir makes a folder.
func (d *Dir) Mkdir(name string) error { return d.r.Mkdir(name, 0o700) }

// Unlink removes a file.
func (d *Dir) Unlink(name string) error { return d.remove(name, false) }

// Rmdir removes an empty folder.
func (d *Dir) Rmdir(name string) error { return d.remove(name, true) }

func (d *Dir) remove(name string, folder bool) error {
	if e, err := d.Stat(name); err != nil {
		return err
	} else if e.Exists && e.IsDir() != folder {
		return &fs.PathError{Op: "remove", Path: path.Join(d.Path, name), Err: syscall.ENOTDIR}
	}
	return d.r.Remove(name)
}

// Create makes a new file for writing.
func (d *Dir) Create(name string, mode fs.FileMode) (*os.File, error) {
	return d.r.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
}

// OpenAppend opens a regular file for reading and for writing at its end.
func (d *Dir) OpenAppend(name string) (*os.File, error) {
	f, e, err := d.openFile(name, os.O_RDWR|os.O_APPEND)
	switch {
	case f != nil || err != nil:
		return f, err
	case !e.Exists:
		err = fs.ErrNotExist
	default:
		err = errors.New(e.ReadProblem())
	}
	return nil, &fs.PathError{Op: "open", Path: path.Join(d.Path, name), Err: err}
}

// OpenToSync opens a regular file to be made durable. On Windows this needs write permission.
func (d *Dir) OpenToSync(name string) (*os.File, error) { return d.OpenAppend(name) }

// SetMtime sets the mtime of a file, in nanoseconds since 1970.
func (d *Dir) SetMtime(name string, mtime int64) error {
	return d.r.Chtimes(name, time.Time{}, time.Unix(0, mtime))
}

// WriteProblem explains why the file at a path below the folder cannot be replaced: it has several hard links, which no
// other call here counts. A missing write permission shows only when mend tries to write.
func (d *Dir) WriteProblem(below string) (string, error) {
	parent, err := d.Sub(path.Dir(below))
	if err != nil {
		return "", nil //nolint:nilerr // there is no file
	}
	defer parent.Close()
	name := path.Base(below)
	f, e, err := parent.Open(name)
	if f == nil {
		return "", err
	}
	defer f.Close()
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &info); err != nil {
		return "", os.NewSyscallError("GetFileInformationByHandle", err)
	}
	e.Links = uint64(info.NumberOfLinks)
	return e.LinkProblem(below), nil
}

// StatFile returns the entry of an open file without its content.
func StatFile(f *os.File) (Entry, error) {
	fi, err := f.Stat()
	if err != nil {
		return Entry{}, err
	}
	return newEntry(fi), nil
}

// Exchange returns an error that wraps [errors.ErrUnsupported]: no call of the system exchanges two files.
func (d *Dir) Exchange(string, *Dir, string) error {
	return fmt.Errorf("exchanging two files on Windows: %w", errors.ErrUnsupported)
}

// Link gives the file called name a second name in other, which must not exist.
func (d *Dir) Link(name string, other *Dir, otherName string) error {
	if err := errors.Join(d.checkPlace(), other.checkPlace()); err != nil {
		return err
	}
	return d.top.Link(path.Join(d.Path, name), path.Join(other.Path, otherName))
}

// Move moves name to a free name of other, which is checked just before.
func (d *Dir) Move(name string, other *Dir, otherName string) error {
	if e, err := other.Stat(otherName); err != nil {
		return err
	} else if e.Exists {
		return &fs.PathError{Op: "rename", Path: path.Join(other.Path, otherName), Err: fs.ErrExist}
	}
	return d.Replace(name, other, otherName)
}

// Replace moves name to a name of other, replacing the file there.
func (d *Dir) Replace(name string, other *Dir, otherName string) error {
	if err := errors.Join(d.checkPlace(), other.checkPlace()); err != nil {
		return err
	}
	return d.top.Rename(path.Join(d.Path, name), path.Join(other.Path, otherName))
}

// checkPlace returns an error if the path of the folder now leads to another folder.
func (d *Dir) checkPlace() error {
	opened, err := d.r.Stat(".")
	at, errAt := d.top.Stat(d.Path)
	if err := errors.Join(err, errAt); err != nil {
		return err
	}
	if !os.SameFile(opened, at) {
		return fmt.Errorf("%s: replaced while it was open", d.Path)
	}
	return nil
}

// MakePrivate does nothing: a folder inherits the permissions of its parent.
func (d *Dir) MakePrivate(Owner) error { return nil }

// Sync closes the folder. Windows has no call that makes names durable, and NTFS journals them.
func (d *Dir) Sync(*atomicfile.Barrier) { d.Close() }
