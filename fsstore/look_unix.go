//go:build (linux || darwin) && !portable

package fsstore

import (
	"errors"
	"io"
	"io/fs"

	"golang.org/x/sys/unix"
)

// status is what the system tells of a file.
type status = unix.Stat_t

// lookInto is look with a buffer.
func (d *dir) lookInto(b *buffer, name string, max int64) (thing, error) {
	const flags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := b.openat(d.fd, name, flags)
	switch {
	case errors.Is(err, unix.ENOENT):
		return thing{}, nil
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENXIO), errors.Is(err, unix.EOPNOTSUPP):
		return d.statInto(b, name) // a link, a socket
	case err != nil:
		return thing{}, d.wrap("open", name, err)
	}
	defer b.close(fd)
	if err := b.fstat(fd); err != nil {
		return thing{}, d.wrap("stat", name, err)
	}
	t := thingOf(&b.status)
	t.big = t.plain() && t.size > max
	if !t.plain() || t.big {
		return t, nil
	}
	t.data, t.big, err = readFile(rawFile{b, fd}, b.room(t.size+1), max)
	return t, d.wrap("read", name, err)
}

// statInto is stat with a buffer.
func (d *dir) statInto(b *buffer, name string) (thing, error) {
	switch err := b.fstatat(d.fd, name, unix.AT_SYMLINK_NOFOLLOW); {
	case err == nil:
		return thingOf(&b.status), nil
	case errors.Is(err, unix.ENOENT):
		return thing{}, nil
	default:
		return thing{}, d.wrap("stat", name, err)
	}
}

func thingOf(st *unix.Stat_t) thing {
	return thing{
		there: true, mode: modeOf(uint32(st.Mode)), size: st.Size, links: uint64(st.Nlink),
		owner: owner{int(st.Uid), int(st.Gid)}, dev: uint64(st.Dev), ino: st.Ino,
		mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(),
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

// readFile is readAll for a file that most likely is still as large as it was
// when it was opened: then one call is enough, which had room for a byte more.
func readFile(f rawFile, room []byte, max int64) (data []byte, big bool, err error) {
	n, err := f.Read(room)
	data = room[:n]
	switch {
	case n == len(room)-1:
		return data, false, nil
	case err != nil && !errors.Is(err, io.EOF):
		return nil, false, err
	}
	rest, _, err := readAll(f, 0, max)
	data = append(data, rest...)
	return data, int64(len(data)) > max, err
}

// rawFile reads a descriptor without handing it to the runtime's poller.
type rawFile struct {
	b  *buffer
	fd int
}

func (r rawFile) Read(p []byte) (int, error) {
	n, err := r.b.read(r.fd, p)
	if n == 0 && err == nil && len(p) > 0 {
		return 0, io.EOF
	}
	return max(n, 0), err
}
