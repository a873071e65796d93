//go:build (linux || darwin) && !portable

package fsstore

import "golang.org/x/sys/unix"

// The system calls that a read makes for each file and folder, repeated where a
// signal interrupted them.

func (b *buffer) openat(folder int, name string, flags int) (int, error) {
	return retry(func() (int, error) { return unix.Openat(folder, name, flags, 0) })
}

func (b *buffer) fstatat(folder int, name string, flags int) error {
	return unix.Fstatat(folder, name, &b.status, flags)
}

func (b *buffer) fstat(fd int) error { return unix.Fstat(fd, &b.status) }

func (b *buffer) read(fd int, p []byte) (int, error) {
	return retry(func() (int, error) { return unix.Read(fd, p) })
}

func (b *buffer) getdents(fd int, p []byte) (int, error) {
	return retry(func() (int, error) { return unix.ReadDirent(fd, p) })
}

func (b *buffer) close(fd int) { _ = unix.Close(fd) }
