//go:build linux || darwin

package safedir

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// A Dir is an open folder of the tree.
type Dir struct {
	Path string // below the root

	fd int
	f  *os.File // of fd, once [Dir.File] was called
}

const openFolder = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// Open opens the root of a tree by its canonical path.
func Open(name string) (*Dir, error) {
	fd, err := retry(func() (int, error) { return unix.Open(name, openFolder, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &Dir{fd: fd, Path: "."}, nil
}

// Close closes the folder.
func (d *Dir) Close() {
	if d.f != nil {
		d.f.Close()
		return
	}
	_ = unix.Close(d.fd)
}

// File returns the folder as a file; closing either closes both. Not safe for
// concurrent use.
func (d *Dir) File() *os.File {
	if d.f == nil {
		d.f = os.NewFile(uintptr(d.fd), d.Path)
	}
	return d.f
}

// Sub opens the folder at rel, one or more names below d. The error wraps
// [fs.ErrNotExist] where a name is missing, and is a [*NotFolderError] where a name
// is a link or anything else but a folder.
func (d *Dir) Sub(rel string) (*Dir, error) {
	sub, err := d.open(rel)
	if err == nil {
		return sub, nil
	}
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil, d.notFolder(rel, err)
	}
	return nil, d.wrap("open", rel, err)
}

// notFolder finds the name in rel that is not a folder.
func (d *Dir) notFolder(rel string, err error) error {
	parent := d
	for name := range strings.SplitSeq(rel, "/") {
		e, lerr := parent.Stat(name)
		if lerr != nil {
			break
		}
		if e.Exists && !e.IsDir() {
			return &NotFolderError{path.Join(parent.Path, name), e.Mode}
		}
		next, werr := parent.walk(name)
		if werr != nil {
			break
		}
		defer next.Close()
		parent = next
	}
	return d.wrap("open", rel, err)
}

// walk opens the folder at rel one name at a time.
func (d *Dir) walk(rel string) (*Dir, error) {
	parent, fd := d.fd, -1
	for name := range strings.SplitSeq(rel, "/") {
		next, err := retry(func() (int, error) { return unix.Openat(parent, name, openFolder, 0) })
		if fd >= 0 {
			_ = unix.Close(fd)
		}
		if err != nil {
			return nil, err
		}
		parent, fd = next, next
	}
	return d.newDir(fd, rel), nil
}

func (d *Dir) newDir(fd int, rel string) *Dir {
	if d.Path != "." {
		rel = d.Path + "/" + rel
	}
	return &Dir{fd: fd, Path: rel}
}

// Read returns the entry with its content if it is a regular file of at most max
// bytes. It blocks neither on a pipe nor on a device. b may be nil.
func (d *Dir) Read(b *Buffer, name string, max int64) (Entry, error) {
	const flags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := retry(func() (int, error) { return unix.Openat(d.fd, name, flags, 0) })
	switch {
	case errors.Is(err, unix.ENOENT):
		return Entry{}, nil
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENXIO), errors.Is(err, unix.EOPNOTSUPP):
		return d.Stat(name) // a link or a socket
	case err != nil:
		return Entry{}, d.wrap("open", name, err)
	}
	defer func() { _ = unix.Close(fd) }() // only read
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return Entry{}, d.wrap("stat", name, err)
	}
	e := newEntry(&st)
	e.TooLarge = e.IsFile() && e.Size > max
	if !e.IsFile() || e.TooLarge {
		return e, nil
	}
	e.Data, e.TooLarge, err = readFile(rawFile(fd), b.alloc(e.Size+1), max)
	return e, d.wrap("read", name, err)
}

// Open opens a regular file to be read piece by piece. The file is nil if the entry is another
// one, or none.
func (d *Dir) Open(name string) (*os.File, Entry, error) {
	const flags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := retry(func() (int, error) { return unix.Openat(d.fd, name, flags, 0) })
	if err != nil {
		return nil, Entry{}, d.wrap("open", name, err)
	}
	f := os.NewFile(uintptr(fd), path.Join(d.Path, name))
	e, err := StatFile(f)
	if err != nil || !e.IsFile() {
		f.Close()
		return nil, e, err
	}
	return f, e, nil
}

// Names returns the names in the folder in any order. Not safe for concurrent use.
func (d *Dir) Names() ([]string, error) {
	if _, err := d.File().Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return d.File().Readdirnames(-1)
}

// Stat returns the entry without its content.
func (d *Dir) Stat(name string) (Entry, error) {
	var st unix.Stat_t
	switch err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); {
	case err == nil:
		return newEntry(&st), nil
	case errors.Is(err, unix.ENOENT):
		return Entry{}, nil
	default:
		return Entry{}, d.wrap("stat", name, err)
	}
}

func newEntry(st *unix.Stat_t) Entry {
	return Entry{
		Exists: true, Mode: modeOf(uint32(st.Mode)), Size: st.Size, Links: uint64(st.Nlink),
		Owner: Owner{int(st.Uid), int(st.Gid)}, Dev: uint64(st.Dev), Ino: st.Ino,
		Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(),
	}
}

func modeOf(m uint32) fs.FileMode {
	perm := fs.FileMode(m & 0o777)
	switch m & unix.S_IFMT {
	case unix.S_IFREG:
		return perm
	case unix.S_IFDIR:
		return perm | fs.ModeDir
	case unix.S_IFLNK:
		return perm | fs.ModeSymlink
	case unix.S_IFIFO:
		return perm | fs.ModeNamedPipe
	case unix.S_IFSOCK:
		return perm | fs.ModeSocket
	case unix.S_IFBLK, unix.S_IFCHR:
		return perm | fs.ModeDevice
	}
	return perm | fs.ModeIrregular
}

// readFile reads f into data, which has room for one byte more than the size of the
// file. A file that did not change in size takes one call.
func readFile(f rawFile, data []byte, max int64) (content []byte, tooLarge bool, err error) {
	n, err := f.Read(data)
	content = data[:n]
	switch {
	case n == len(data)-1:
		return content, false, nil
	case err != nil && !errors.Is(err, io.EOF):
		return nil, false, err
	}
	rest, _, err := readAll(f, 0, max)
	content = append(content, rest...)
	return content, int64(len(content)) > max, err
}

// rawFile reads from a file descriptor without registering it with the runtime's poller.
type rawFile int

func (f rawFile) Read(p []byte) (int, error) {
	n, err := retry(func() (int, error) { return unix.Read(int(f), p) })
	if n == 0 && err == nil && len(p) > 0 {
		return 0, io.EOF
	}
	return max(n, 0), err
}

func (d *Dir) wrap(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: path.Join(d.Path, name), Err: err}
}

// retry repeats a call that a signal interrupted before it did anything.
func retry(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
