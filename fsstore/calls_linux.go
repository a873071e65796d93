//go:build (amd64 || arm64) && !portable

package fsstore

import (
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls that are made for each file and folder. They do what their namesakes in
// [unix] do and allocate nothing: a buffer has room for what they need.

// call makes a system call, again if a signal interrupted it. Where calls are quick
// the scheduler is not told of it, which costs as much as many of them.
//
//go:uintptrescapes
func (b *buffer) call(trap, a1, a2, a3, a4 uintptr) (int, error) {
	for {
		var n uintptr
		var errno unix.Errno
		if b.quick {
			n, _, errno = unix.RawSyscall6(trap, a1, a2, a3, a4, 0, 0)
		} else {
			n, _, errno = unix.Syscall6(trap, a1, a2, a3, a4, 0, 0)
		}
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
		default:
			return -1, errno
		}
	}
}

// callAt is call for a name in an open folder.
//
//go:uintptrescapes
func (b *buffer) callAt(trap uintptr, folder int, name string, a3, a4 uintptr) (int, error) {
	if strings.IndexByte(name, 0) >= 0 {
		return -1, unix.EINVAL
	}
	b.path = append(append(b.path[:0], name...), 0)
	return b.call(trap, uintptr(folder), uintptr(unsafe.Pointer(&b.path[0])), a3, a4)
}

func (b *buffer) openat(folder int, name string, flags int) (int, error) {
	return b.callAt(unix.SYS_OPENAT, folder, name, uintptr(flags), 0)
}

func (b *buffer) fstatat(folder int, name string, flags int) error {
	_, err := b.callAt(unix.SYS_NEWFSTATAT, folder, name, uintptr(unsafe.Pointer(&b.status)), uintptr(flags))
	return err
}

func (b *buffer) fstat(fd int) error {
	_, err := b.call(unix.SYS_FSTAT, uintptr(fd), uintptr(unsafe.Pointer(&b.status)), 0, 0)
	return err
}

func (b *buffer) read(fd int, p []byte) (int, error) {
	return b.call(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), 0)
}

func (b *buffer) getdents(fd int, p []byte) (int, error) {
	return b.call(unix.SYS_GETDENTS64, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), 0)
}

// close is not repeated: the descriptor is free even if a signal interrupted it.
func (b *buffer) close(fd int) {
	if b.quick {
		_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0)
		return
	}
	_ = unix.Close(fd)
}
