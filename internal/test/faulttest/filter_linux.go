package faulttest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// socket is the descriptor through which the child sends the listener.
const socket = 3

// Child is the main function of the process that a [Program] starts: it installs the filter and becomes the
// program in its first argument, with the other arguments. It does not return.
func Child() {
	runtime.LockOSThread() // the filter is the thread's, and exec keeps it
	err := become(os.Args[1:])
	_ = unix.Sendmsg(socket, []byte(err.Error()), nil, nil, 0)
	os.Exit(1)
}

func become(args []string) error {
	unix.CloseOnExec(socket)
	listener, err := install()
	if err != nil {
		return fmt.Errorf("installing the seccomp filter: %w", err)
	}
	if err := unix.Sendmsg(socket, nil, unix.UnixRights(listener), nil, 0); err != nil {
		return fmt.Errorf("handing over the listener: %w", err)
	}
	return syscall.Exec(args[0], args, os.Environ())
}

// install puts the filter on this thread and returns the listener, which exec closes.
func install() (int, error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	filter := filter()
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	// Without WAIT_KILLABLE the signals of Go's scheduler would make calls arrive twice.
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return 0, errno
	}
	return int(fd), nil
}

// Offsets in struct seccomp_data.
const (
	offNr    = 0
	offArgs0 = 16 // the low halves, on a little-endian machine
	offArgs2 = 32
)

// filter is the program that the kernel runs before each call: it stops the calls in shapes, openat only with
// the flags that count, and those that [fixedInputs] answers.
func filter() []unix.SockFilter {
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		isSet = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		ret   = unix.BPF_RET | unix.BPF_K
	)
	allow := unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ALLOW}
	stop := unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_USER_NOTIF}
	f := []unix.SockFilter{
		{Code: load, K: offNr},
		{Code: equal, K: unix.SYS_OPENAT, Jf: 4},
		{Code: load, K: offArgs2},
		{Code: isSet, K: opening, Jf: 1},
		stop,
		allow,
		{Code: equal, K: unix.SYS_CLOCK_GETTIME, Jf: 4},
		{Code: load, K: offArgs0},
		{Code: equal, K: unix.CLOCK_REALTIME, Jf: 1},
		stop,
		allow,
	}
	first := firstCall // a variable, since no constant below zero becomes a uint32
	f = append(f,
		unix.SockFilter{Code: equal, K: uint32(first), Jf: 1}, stop,
		unix.SockFilter{Code: equal, K: unix.SYS_GETPID, Jf: 1}, stop,
		unix.SockFilter{Code: equal, K: unix.SYS_GETRANDOM, Jf: 1}, stop)
	for _, nr := range slices.Sorted(maps.Keys(shapes)) {
		if nr != unix.SYS_OPENAT {
			f = append(f, unix.SockFilter{Code: equal, K: uint32(nr), Jf: 1}, stop)
		}
	}
	return append(f, allow)
}

// listenerFrom receives the listener from the child, or the reason why it has no listener.
func listenerFrom(sock int) (int, error) {
	text, oob := make([]byte, 512), make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := unix.Recvmsg(sock, text, oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return 0, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	switch {
	case err != nil:
		return 0, err
	case len(messages) == 0 && n > 0:
		return 0, fmt.Errorf("%w: %s", ErrUnsupported, text[:n])
	case len(messages) == 0:
		return 0, errors.New("the child ended before it sent the listener")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return 0, err
	}
	return fds[0], nil
}
