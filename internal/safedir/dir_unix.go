//go:build linux || darwin

package safedir

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// A Dir is an open folder of the tree.
type Dir struct {
	Path string // below the root

	fd int
	f  *os.File // of fd, after a call of [Dir.File]
}

const openFolder = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

func open(name string) (*Dir, error) {
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

func (d *Dir) child(name string) (*Dir, error) {
	fd, err := retry(func() (int, error) { return unix.Openat(d.fd, name, openFolder, 0) })
	if err == nil {
		return &Dir{fd: fd, Path: path.Join(d.Path, name)}, nil
	}
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		if e, serr := d.Stat(name); serr == nil && e.Exists && !e.IsDir() {
			return nil, &NotFolderError{path.Join(d.Path, name), e.Mode}
		}
	}
	return nil, d.wrap("open", name, err)
}

// Read returns the entry with its content if it is a regular file of at most max
// bytes. It blocks neither on a pipe nor on a device.
func (d *Dir) Read(name string, max int64) (Entry, error) {
	fd, e, err := d.open(name)
	switch {
	case errors.Is(err, unix.ENOENT):
		return Entry{}, nil
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENXIO), errors.Is(err, unix.EOPNOTSUPP):
		return d.Stat(name) // a link or a socket
	case err != nil || !e.IsFile():
		return e, err
	}
	if e.TooLarge = e.Size > max; e.TooLarge {
		return e, unix.Close(fd)
	}
	data := make([]byte, e.Size+1)
	n, err := retry(func() (int, error) { return unix.Read(fd, data) })
	if err == nil && int64(n) == e.Size { // one call reads a file whose size has not changed
		e.Data = data[:n]
		return e, unix.Close(fd)
	}
	f := os.NewFile(uintptr(fd), path.Join(d.Path, name))
	defer f.Close()
	if err != nil {
		return e, d.wrap("read", name, err)
	}
	rest, _, err := readAll(f, 0, max)
	e.Data = append(data[:n], rest...)
	e.TooLarge = int64(len(e.Data)) > max
	return e, err
}

// Open opens a regular file for reading in chunks. The file is nil if the entry is not a regular
// file or does not exist.
func (d *Dir) Open(name string) (*os.File, Entry, error) {
	fd, e, err := d.open(name)
	if err != nil || !e.IsFile() {
		return nil, e, err
	}
	return os.NewFile(uintptr(fd), path.Join(d.Path, name)), e, nil
}

// open is Open for [Dir.Read]: making an [os.File] takes two more system calls for each record. The descriptor is open
// if the entry is a regular file.
func (d *Dir) open(name string) (fd int, e Entry, err error) {
	const flags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err = retry(func() (int, error) { return unix.Openat(d.fd, name, flags, 0) })
	if err != nil {
		return fd, e, d.wrap("open", name, err)
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil {
		e = newEntry(&st)
	}
	if !e.IsFile() {
		_ = unix.Close(fd)
	}
	return fd, e, d.wrap("stat", name, err)
}

// Names returns the names in the folder in any order. Not safe for concurrent use.
func (d *Dir) Names() (names []string, err error) {
	if _, err := unix.Seek(d.fd, 0, io.SeekStart); err != nil {
		return nil, d.wrap("list", ".", err)
	}
	var buf [8 << 10]byte
	for {
		n, err := retry(func() (int, error) { return unix.ReadDirent(d.fd, buf[:]) })
		if err != nil || n <= 0 {
			return names, d.wrap("list", ".", err)
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
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

func (d *Dir) wrap(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: path.Join(d.Path, name), Err: err}
}

// retry repeats a call that a signal interrupted before it had any effect.
func retry(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
