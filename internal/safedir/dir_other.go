//go:build !linux && !darwin

package safedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strings"
	"syscall"
)

// A Dir is an open folder of the tree, on systems where a tree can only be read. An
// [os.Root] follows links that stay below it, so each name is checked before and
// after it is opened.
type Dir struct {
	Path string // below the root

	r *os.Root
}

// Open opens the root of a tree by its canonical path.
func Open(name string) (*Dir, error) {
	r, err := os.OpenRoot(name)
	return &Dir{".", r}, err
}

// Close closes the folder.
func (d *Dir) Close() { d.r.Close() }

// Sub opens the folder at rel, one or more names below d. The error wraps
// [fs.ErrNotExist] where a name is missing, and is a [*NotFolderError] where a name
// is a link or anything else but a folder.
func (d *Dir) Sub(rel string) (*Dir, error) {
	parent := d
	for name := range strings.SplitSeq(rel, "/") {
		next, err := parent.child(name)
		if parent != d {
			parent.Close()
		}
		if err != nil {
			return nil, err
		}
		parent = next
	}
	return parent, nil
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
	return &Dir{p, r}, nil
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
// bytes. The buffer is not used.
func (d *Dir) Read(_ *Buffer, name string, max int64) (Entry, error) {
	e, before, err := d.lstat(name)
	e.TooLarge = e.IsFile() && e.Size > max
	if err != nil || !e.IsFile() || e.TooLarge {
		return e, err
	}
	f, err := d.r.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return e, err
	}
	defer f.Close()
	after, err := f.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = fmt.Errorf("%s: replaced while it was opened", path.Join(d.Path, name))
	}
	if err != nil {
		return e, err
	}
	e.Data, e.TooLarge, err = readAll(f, e.Size, max)
	return e, err
}

// Open opens a regular file to be read piece by piece. The file is nil if the entry is another
// one, or none.
func (d *Dir) Open(name string) (*os.File, Entry, error) {
	e, _, err := d.lstat(name)
	if err != nil || !e.IsFile() {
		return nil, e, err
	}
	f, err := d.r.Open(name)
	return f, e, err
}

func (d *Dir) open(name string) (*os.File, Entry, error) { return d.Open(name) }

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
	return Entry{Exists: true, Mode: fi.Mode().Type() | fi.Mode().Perm(), Size: fi.Size(), Links: 1}, fi, nil
}

// CanWrite returns nil where a tree can be changed, else an error that wraps
// [errors.ErrUnsupported].
func CanWrite() error {
	return fmt.Errorf("changing a JSON store is not supported on %s: no call of it exchanges two files: %w", runtime.GOOS, errors.ErrUnsupported)
}

// The methods below only return the error of [CanWrite], and File nil.

func (d *Dir) Mkdir(string) error                           { return CanWrite() }
func (d *Dir) Unlink(string) error                          { return CanWrite() }
func (d *Dir) Rmdir(string) error                           { return CanWrite() }
func (d *Dir) Create(string, fs.FileMode) (*os.File, error) { return nil, CanWrite() }
func (d *Dir) Exchange(string, *Dir, string) error          { return CanWrite() }
func (d *Dir) Move(string, *Dir, string) error              { return CanWrite() }
func (d *Dir) Replace(string, *Dir, string) error           { return CanWrite() }
func (d *Dir) OpenAppend(string) (*os.File, error)          { return nil, CanWrite() }
func (d *Dir) SetMtime(string, int64) error                 { return CanWrite() }
func (d *Dir) WhyFixed(string) (string, error)              { return "", CanWrite() }
func StatFile(*os.File) (Entry, error)                      { return Entry{}, CanWrite() }
func (d *Dir) File() *os.File                               { return nil }
