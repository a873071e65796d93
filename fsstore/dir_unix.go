//go:build (linux || darwin) && !portable

package fsstore

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// A dir is an open folder of the tree. Everything in it is named by a single
// name, and no link is ever followed, so that what is read and what is changed
// stays below the root whatever others do to the tree meanwhile.
type dir struct {
	fd   int
	path string   // below the root, for messages
	f    *os.File // of fd, once [dir.file] made it

	listed bool // fd does not stand at the first name any more
}

const openFolder = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// openRoot opens the store's root, a path that is canonical.
func openRoot(name string) (*dir, error) {
	fd, err := retry(func() (int, error) { return unix.Open(name, openFolder, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &dir{fd: fd, path: "."}, nil
}

func (d *dir) close() {
	if d.f != nil {
		d.f.Close()
		return
	}
	_ = unix.Close(d.fd)
}

// closeBy is close with a buffer.
func (d *dir) closeBy(b *buffer) {
	if d.f != nil {
		d.close()
		return
	}
	b.close(d.fd)
}

// file is the folder as a file, which the caller may close in its stead. It is not
// for two goroutines at once.
func (d *dir) file() *os.File {
	if d.f == nil {
		d.f = os.NewFile(uintptr(d.fd), d.path)
	}
	return d.f
}

// sub opens the folder at rel, one or more names below d. The error wraps
// [fs.ErrNotExist] where a name is missing, and is a [*strangeError] where one
// is a link or anything else but a folder.
func (d *dir) sub(rel string) (*dir, error) { return d.subInto(new(buffer), rel) }

// subInto is sub with a buffer.
func (d *dir) subInto(b *buffer, rel string) (*dir, error) {
	sub, err := d.open(b, rel)
	if err == nil {
		return sub, nil
	}
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil, d.strange(b, rel, err)
	}
	return nil, d.wrap("open", rel, err)
}

// strange finds the name on the way to rel that is no folder.
func (d *dir) strange(b *buffer, rel string, err error) error {
	at := d
	for name := range strings.SplitSeq(rel, "/") {
		t, lerr := at.statInto(b, name)
		if lerr != nil {
			break
		}
		if t.there && !t.folder() {
			return &strangeError{path.Join(at.path, name), t.mode}
		}
		next, werr := at.walk(b, name)
		if werr != nil {
			break
		}
		defer next.close()
		at = next
	}
	return d.wrap("open", rel, err)
}

// walk opens the folder at rel one name at a time.
func (d *dir) walk(b *buffer, rel string) (*dir, error) {
	at, fd := d.fd, -1
	for name := range strings.SplitSeq(rel, "/") {
		next, err := b.openat(at, name, openFolder)
		if fd >= 0 {
			_ = unix.Close(fd)
		}
		if err != nil {
			return nil, err
		}
		at, fd = next, next
	}
	return d.opened(fd, rel), nil
}

func (d *dir) opened(fd int, rel string) *dir {
	if d.path != "." {
		rel = d.path + "/" + rel
	}
	return &dir{fd: fd, path: rel}
}

// self is the folder's own thing.
func (d *dir) self() (thing, error) { return d.stat(".") }

func (d *dir) wrap(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: path.Join(d.path, name), Err: err}
}

// retry repeats a call that a signal interrupted before it did anything.
func retry(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
