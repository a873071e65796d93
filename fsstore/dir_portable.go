//go:build (!linux && !darwin) || portable

package fsstore

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

// A dir is an open folder of the tree, for systems on which a tree can only be
// read. An [os.Root] keeps everything below it but follows links that stay
// there, so each name is looked at before and after it is opened.
type dir struct {
	r    *os.Root
	path string // below the root, for messages
}

// openRoot opens the store's root, a path that is canonical.
func openRoot(name string) (*dir, error) {
	r, err := os.OpenRoot(name)
	return &dir{r, "."}, err
}

func (d *dir) close() { d.r.Close() }

// closeBy is close; it makes no use of the buffer.
func (d *dir) closeBy(*buffer) { d.close() }

// sub opens the folder at rel, one or more names below d. The error wraps
// [fs.ErrNotExist] where a name is missing, and is a [*strangeError] where one
// is a link or anything else but a folder.
func (d *dir) sub(rel string) (*dir, error) {
	at := d
	for name := range strings.SplitSeq(rel, "/") {
		next, err := at.child(name)
		if at != d {
			at.close()
		}
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// subInto is sub; it makes no use of the buffer.
func (d *dir) subInto(_ *buffer, rel string) (*dir, error) { return d.sub(rel) }

func (d *dir) child(name string) (*dir, error) {
	before, err := d.r.Lstat(name)
	if err != nil {
		return nil, err
	}
	p := path.Join(d.path, name)
	if !before.IsDir() {
		return nil, &strangeError{p, before.Mode()}
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
	return &dir{r, p}, nil
}

// status is nothing that a buffer keeps here.
type status struct{}

// list puts the names of what stands in the folder into the buffer. Where some is not
// nil it is told of them.
func (d *dir) list(b *buffer, some func(names []string)) error {
	b.names = nil
	f, err := d.r.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	b.names, err = f.Readdirnames(-1)
	if some != nil {
		some(b.names)
	}
	return err
}

// lookInto is look; it makes no use of the buffer.
func (d *dir) lookInto(_ *buffer, name string, max int64) (thing, error) {
	t, before, err := d.lstat(name)
	t.big = t.plain() && t.size > max
	if err != nil || !t.plain() || t.big {
		return t, err
	}
	f, err := d.r.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return t, err
	}
	defer f.Close()
	after, err := f.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = fmt.Errorf("%s: replaced while it was opened", path.Join(d.path, name))
	}
	if err != nil {
		return t, err
	}
	t.data, t.big, err = readAll(f, t.size, max)
	return t, err
}

// statInto is stat; it makes no use of the buffer.
func (d *dir) statInto(_ *buffer, name string) (thing, error) {
	t, _, err := d.lstat(name)
	return t, err
}

// self is the folder's own thing.
func (d *dir) self() (thing, error) { return d.stat(".") }

func (d *dir) lstat(name string) (thing, fs.FileInfo, error) {
	fi, err := d.r.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return thing{}, nil, nil
	}
	if err != nil {
		return thing{}, nil, err
	}
	return thing{there: true, mode: fi.Mode().Type() | fi.Mode().Perm(), size: fi.Size(), links: 1}, fi, nil
}

// canWrite is nil where a tree can be changed.
func canWrite() error {
	return fmt.Errorf("changing a JSON store is not supported on %s: no call of it exchanges two files: %w", runtime.GOOS, errors.ErrUnsupported)
}

func (d *dir) mkdir(string) error                           { return canWrite() }
func (d *dir) unlink(string) error                          { return canWrite() }
func (d *dir) rmdir(string) error                           { return canWrite() }
func (d *dir) create(string, fs.FileMode) (*os.File, error) { return nil, canWrite() }
func (d *dir) exchange(string, *dir, string) error          { return canWrite() }
func (d *dir) move(string, *dir, string) error              { return canWrite() }
func (d *dir) replace(string, *dir, string) error           { return canWrite() }
func statFile(*os.File) (thing, error)                      { return thing{}, canWrite() }
func (d *dir) file() *os.File                               { return nil }
