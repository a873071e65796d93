package faulttest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// A Call is a system call that changes what is stored.
type Call struct {
	Name  string
	Paths []string // of its files; absolute
}

func (c Call) String() string { return c.Name + " " + strings.Join(c.Paths, " ") }

// A shape describes which arguments of a call name its files.
type shape struct {
	name string
	file int      // the argument that is a descriptor; -1: the call takes paths
	at   [][2]int // pairs of arguments: a folder's descriptor and a path in it
}

func onFile(name string, arg int) shape { return shape{name: name, file: arg} }

func onPaths(name string, at ...[2]int) shape { return shape{name: name, file: -1, at: at} }

// shapes are the calls that are stopped. Go uses none of the older calls without a folder's descriptor.
var shapes = map[int32]shape{
	unix.SYS_WRITE:           onFile("write", 0),
	unix.SYS_PWRITE64:        onFile("pwrite64", 0),
	unix.SYS_WRITEV:          onFile("writev", 0),
	unix.SYS_PWRITEV:         onFile("pwritev", 0),
	unix.SYS_PWRITEV2:        onFile("pwritev2", 0),
	unix.SYS_SENDFILE:        onFile("sendfile", 0),
	unix.SYS_COPY_FILE_RANGE: onFile("copy_file_range", 2),
	unix.SYS_SPLICE:          onFile("splice", 2),
	unix.SYS_FTRUNCATE:       onFile("ftruncate", 0),
	unix.SYS_FALLOCATE:       onFile("fallocate", 0),
	unix.SYS_FSYNC:           onFile("fsync", 0),
	unix.SYS_FDATASYNC:       onFile("fdatasync", 0),
	unix.SYS_SYNCFS:          onFile("syncfs", 0),
	unix.SYS_FCHMOD:          onFile("fchmod", 0),
	unix.SYS_FCHOWN:          onFile("fchown", 0),
	unix.SYS_OPENAT:          onPaths("openat", [2]int{0, 1}),
	unix.SYS_OPENAT2:         onPaths("openat2", [2]int{0, 1}),
	unix.SYS_RENAMEAT:        onPaths("renameat", [2]int{0, 1}, [2]int{2, 3}),
	unix.SYS_RENAMEAT2:       onPaths("renameat2", [2]int{0, 1}, [2]int{2, 3}),
	unix.SYS_LINKAT:          onPaths("linkat", [2]int{0, 1}, [2]int{2, 3}),
	unix.SYS_SYMLINKAT:       onPaths("symlinkat", [2]int{1, 2}),
	unix.SYS_UNLINKAT:        onPaths("unlinkat", [2]int{0, 1}),
	unix.SYS_MKDIRAT:         onPaths("mkdirat", [2]int{0, 1}),
	unix.SYS_MKNODAT:         onPaths("mknodat", [2]int{0, 1}),
	unix.SYS_FCHMODAT:        onPaths("fchmodat", [2]int{0, 1}),
	unix.SYS_FCHMODAT2:       onPaths("fchmodat2", [2]int{0, 1}),
	unix.SYS_FCHOWNAT:        onPaths("fchownat", [2]int{0, 1}),
	unix.SYS_UTIMENSAT:       onPaths("utimensat", [2]int{0, 1}),
	unix.SYS_TRUNCATE:        onPaths("truncate", [2]int{-1, 0}),
	unix.SYS_MSYNC:           {name: "msync", file: -1},
}

// opening are the flags with which opening a file counts: they create or empty it, or ask for write access.
const opening = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC

// describe returns the call in the notification, and whether it counts: calls about pipes, sockets and
// terminals do not.
func describe(n *notification) (Call, bool) {
	s, known := shapes[n.nr]
	c := Call{Name: s.name}
	if !known { // stopped only because of the fixed inputs
		return c, false
	}
	if s.file >= 0 {
		target := link(n.pid, int32(n.args[s.file]))
		c.Paths = []string{target}
		return c, stored(target)
	}
	if n.nr == unix.SYS_OPENAT2 {
		how := peek(n.pid, n.args[2], 8) // the flags are the first field of struct open_how
		if len(how) < 8 || binary.NativeEndian.Uint64(how)&opening == 0 {
			return c, false
		}
	}
	counts := len(s.at) == 0
	for _, at := range s.at {
		p := text(n.pid, n.args[at[1]])
		if !path.IsAbs(p) {
			dir := int32(unix.AT_FDCWD)
			if at[0] >= 0 {
				dir = int32(n.args[at[0]])
			}
			p = path.Join(link(n.pid, dir), p)
		}
		c.Paths = append(c.Paths, p)
		counts = counts || stored(p)
	}
	return c, counts
}

// stored reports whether a path belongs to persistent storage.
func stored(p string) bool {
	return strings.HasPrefix(p, "/") && !strings.HasPrefix(p, "/proc/") &&
		(!strings.HasPrefix(p, "/dev/") || strings.HasPrefix(p, "/dev/shm/"))
}

// link returns the path of an open descriptor of the thread.
func link(pid uint32, fd int32) string {
	name := fmt.Sprintf("/proc/%d/fd/%d", pid, fd)
	if fd == unix.AT_FDCWD {
		name = fmt.Sprintf("/proc/%d/cwd", pid)
	}
	target, err := os.Readlink(name)
	if err != nil {
		return ""
	}
	return target
}

// text returns the string at that address of the thread.
func text(pid uint32, addr uint64) string {
	b := peek(pid, addr, unix.PathMax)
	if before, _, ok := bytes.Cut(b, []byte{0}); ok {
		return string(before)
	}
	return ""
}

// peek reads up to n bytes of the thread's memory, fewer at the end of its mapping.
func peek(pid uint32, addr uint64, n int) []byte {
	b := make([]byte, n)
	got := 0
	for got < n {
		here := min(n-got, unix.Getpagesize()-int(addr+uint64(got))%unix.Getpagesize())
		local := unix.Iovec{Base: &b[got]}
		local.SetLen(here)
		remote := unix.RemoteIovec{Base: uintptr(addr) + uintptr(got), Len: here}
		read, err := unix.ProcessVMReadv(int(pid), []unix.Iovec{local}, []unix.RemoteIovec{remote}, 0)
		if err != nil || read == 0 {
			break
		}
		got += read
	}
	return b[:got]
}
