package safedir

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A Dir is an open folder of the tree. An [os.Root] follows links that stay below it, so each folder and each file is
// compared with its name before and after it is opened.
type Dir struct {
	Path string // below the root

	r   *os.Root
	f   *os.File // the same folder, for calls that [os.Root] lacks
	top *os.Root // the root of the tree
}

// Open opens the root of a tree by its canonical path.
func Open(name string) (*Dir, error) {
	r, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		r.Close()
		return nil, err
	}
	return newDir(".", r, r, f)
}

// newDir returns the folder that is open as r and as f. It closes both if another program replaced it in between.
func newDir(p string, top, r *os.Root, f *os.File) (*Dir, error) {
	d := &Dir{Path: p, r: r, f: f, top: top}
	info, err := f.Stat()
	if err == nil {
		err = sameFile(info, func() (fs.FileInfo, error) { return r.Stat(".") })
	}
	if err != nil && !errors.Is(err, fs.ErrPermission) { // without the right to enter the folder, r finds no name
		d.Close()
		return nil, d.wrap("open", ".", err)
	}
	return d, nil
}

// Close closes the folder.
func (d *Dir) Close() {
	d.r.Close()
	d.f.Close()
}

// File returns the folder as a file. Close closes it.
func (d *Dir) File() *os.File { return d.f }

// Sub opens the folder at rel, one or more names below d. The error wraps [fs.ErrNotExist] if a name is missing, and is
// a [*NotFolderError] if a name is not a folder, for example a link.
func (d *Dir) Sub(rel string) (*Dir, error) {
	at := d
	for name := range strings.SplitSeq(rel, "/") {
		next, err := at.child(name)
		if at != d {
			at.Close()
		}
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// attempts limits how often a name is opened again after another program replaced it in between.
const attempts = 10

func (d *Dir) child(name string) (*Dir, error) {
	for n := 1; ; n++ {
		before, err := d.r.Lstat(name)
		if err != nil {
			return nil, d.wrap("open", name, err)
		}
		if !before.IsDir() {
			return nil, &NotFolderError{path.Join(d.Path, name), before.Mode()}
		}
		sub, err := d.openFolder(name, before)
		if err == nil || n == attempts {
			return sub, err
		}
	}
}

// openFolder opens a folder in d, which must still be the one that before describes.
func (d *Dir) openFolder(name string, before fs.FileInfo) (*Dir, error) {
	r, err := d.r.OpenRoot(name)
	if err != nil {
		return nil, d.wrap("open", name, err)
	}
	f, err := d.r.Open(name)
	if err != nil {
		r.Close()
		return nil, d.wrap("open", name, err)
	}
	sub, err := newDir(path.Join(d.Path, name), d.top, r, f)
	if err != nil {
		return nil, err
	}
	if err := sameFile(before, f.Stat); err != nil {
		sub.Close()
		return nil, d.wrap("open", name, err)
	}
	return sub, nil
}

// sameFile returns an error unless stat describes the file that its name had before it was opened.
func sameFile(before fs.FileInfo, stat func() (fs.FileInfo, error)) error {
	after, err := stat()
	if err == nil && !os.SameFile(before, after) {
		err = errors.New("replaced while it was opened")
	}
	return err
}

// Names returns the names in the folder in any order. Not safe for concurrent use.
func (d *Dir) Names() ([]string, error) {
	if _, err := d.f.Seek(0, io.SeekStart); err != nil {
		return nil, d.wrap("list", ".", err)
	}
	names, err := d.f.Readdirnames(-1)
	return names, d.wrap("list", ".", err)
}

// Stat returns the entry without its content.
func (d *Dir) Stat(name string) (Entry, error) {
	e, _, err := d.lstat("stat", name)
	return e, err
}

func (d *Dir) lstat(op, name string) (Entry, fs.FileInfo, error) {
	info, err := d.r.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Entry{}, nil, nil
	}
	if err != nil {
		return Entry{}, nil, d.wrap(op, name, err)
	}
	return newEntry(info), info, nil
}

// StatFile returns the entry of an open file without its content.
func StatFile(f *os.File) (Entry, error) {
	info, err := f.Stat()
	if err != nil {
		return Entry{}, err
	}
	return newEntry(info), nil
}

// Read returns the entry with its content if it is a regular file of at most max bytes. It blocks neither on a pipe nor
// on a device.
func (d *Dir) Read(name string, max int64) (Entry, error) {
	f, e, err := d.Open(name)
	if f == nil {
		return e, err
	}
	defer f.Close()
	if e.TooLarge = e.Size > max; e.TooLarge {
		return e, nil
	}
	e.Data = make([]byte, e.Size+1) // one byte more, to notice that the file has grown
	n, err := io.ReadFull(f, e.Data)
	e.Data = e.Data[:n]
	if err == nil {
		var rest []byte
		rest, err = io.ReadAll(io.LimitReader(f, max+1-int64(n)))
		e.Data = append(e.Data, rest...)
		e.TooLarge = int64(len(e.Data)) > max
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return e, d.wrap("read", name, err)
}

// ReadEnds returns at most first bytes from the beginning and last bytes from the end of a regular file. tail is empty
// if the file is no longer than head; otherwise it starts after its first line feed, if it has one.
func (d *Dir) ReadEnds(name string, first, last int64) (head, tail []byte, err error) {
	f, e, err := d.Open(name)
	if f == nil {
		return nil, nil, err
	}
	defer f.Close()
	if head, err = readAt(f, 0, min(first, e.Size)); err != nil || e.Size <= first {
		return head, nil, err
	}
	start := max(first, e.Size-last)
	tail, err = readAt(f, start, e.Size-start)
	if _, after, ok := bytes.Cut(tail, []byte{'\n'}); ok {
		tail = after
	}
	return head, tail, err
}

// readAt reads n bytes at an offset, fewer if the file has become shorter.
func readAt(f *os.File, offset, n int64) ([]byte, error) {
	b := make([]byte, n)
	got, err := f.ReadAt(b, offset)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b[:got], err
}

// Open opens a regular file for reading in chunks. The file is nil if the entry is not a regular file or does not
// exist.
func (d *Dir) Open(name string) (*os.File, Entry, error) { return d.openFile(name, os.O_RDONLY) }

// openFile opens a regular file. The file is nil if the entry is not a regular file or does not exist.
func (d *Dir) openFile(name string, flag int) (*os.File, Entry, error) {
	for n := 1; ; n++ {
		e, before, err := d.lstat("open", name)
		if err != nil || !e.IsFile() {
			return nil, e, err
		}
		f, err := d.r.OpenFile(name, flag|syscall.O_NONBLOCK, 0)
		if err == nil {
			if err = sameFile(before, f.Stat); err == nil {
				return f, e, nil
			}
			f.Close()
		}
		if n == attempts {
			return nil, e, d.wrap("open", name, err)
		}
	}
}

// OpenAppend opens a regular file for reading and for writing at its end.
func (d *Dir) OpenAppend(name string) (*os.File, error) {
	f, e, err := d.openFile(name, os.O_RDWR|os.O_APPEND)
	switch {
	case f != nil || err != nil:
		return f, err
	case !e.Exists:
		return nil, d.wrap("open", name, fs.ErrNotExist)
	}
	return nil, d.wrap("open", name, errors.New(e.ReadProblem()))
}

// OpenToSync opens a regular file to be made durable. The file is nil if the entry is not a regular file or does not
// exist.
func (d *Dir) OpenToSync(name string) (*os.File, error) {
	f, _, err := d.openFile(name, openToSync)
	return f, err
}

// Create makes a new file for writing. The umask applies to mode.
func (d *Dir) Create(name string, mode fs.FileMode) (*os.File, error) {
	f, err := d.r.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	return f, d.wrap("create", name, err)
}

// Mkdir makes a folder that only its owner may enter.
func (d *Dir) Mkdir(name string) error { return d.wrap("mkdir", name, d.r.Mkdir(name, 0o700)) }

// Unlink removes a file.
func (d *Dir) Unlink(name string) error { return d.remove("unlink", name, false) }

// Rmdir removes an empty folder.
func (d *Dir) Rmdir(name string) error { return d.remove("rmdir", name, true) }

func (d *Dir) remove(op, name string, folder bool) error {
	if e, err := d.Stat(name); err != nil {
		return err
	} else if e.Exists && e.IsDir() != folder {
		return d.wrap(op, name, syscall.ENOTDIR)
	}
	return d.wrap(op, name, d.r.Remove(name))
}

// moveToFree moves name to a name of other after it has checked that the name is free.
func (d *Dir) moveToFree(name string, other *Dir, otherName string) error {
	if e, err := other.Stat(otherName); err != nil {
		return err
	} else if e.Exists {
		return other.wrap("rename", otherName, fs.ErrExist)
	}
	return d.Replace(name, other, otherName)
}

// SetMtime sets the mtime of a file, in nanoseconds since 1970.
func (d *Dir) SetMtime(name string, mtime int64) error {
	return d.wrap("set the time of", name, d.r.Chtimes(name, time.Time{}, time.Unix(0, mtime)))
}

// MakePrivate gives only the owner access to the folder. If mend runs as root, it makes o the owner. On Windows a
// folder inherits the rights of its parent.
func (d *Dir) MakePrivate(o Owner) error {
	switch os.Geteuid() {
	case -1:
		return nil
	case 0:
		if err := d.f.Chown(o.UID, o.GID); err != nil {
			return err
		}
	}
	return d.f.Chmod(0o700)
}

// wrap adds to an error the call and the path below the root of the tree.
func (d *Dir) wrap(op, name string, err error) error {
	if err == nil {
		return nil
	}
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		err = inner.Err
	}
	return &fs.PathError{Op: op, Path: path.Join(d.Path, name), Err: err}
}

// OpenRoot opens the root of a store by its canonical path.
func OpenRoot(canonical string) (*Dir, error) {
	d, err := Open(canonical)
	if err != nil {
		return nil, fmt.Errorf("opening store: %w", err)
	}
	return d, nil
}

// Identify returns the canonical path of the root of a store, and its entry, with device and inode.
func Identify(root string) (canonical string, e Entry, err error) {
	if canonical, err = filepath.EvalSymlinks(root); err != nil {
		return "", Entry{}, fmt.Errorf("opening store: %w", err)
	}
	d, err := OpenRoot(canonical)
	if err != nil {
		return "", Entry{}, err
	}
	defer d.Close()
	if e, err = d.Stat("."); err != nil {
		return "", Entry{}, fmt.Errorf("opening store: %w", err)
	}
	return canonical, e, nil
}
