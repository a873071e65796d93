package storetest

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// NobodyUID is the id of an unprivileged user.
const NobodyUID = 65534

// RunInChild runs the calling test again in a child process, which may limit itself. It returns true in the child. If uid is
// not 0 and the tests run as root, the child runs as that user.
func RunInChild(t *testing.T, uid int) bool {
	t.Helper()
	if os.Getenv(childKey) == t.Name() {
		t.Cleanup(func() {
			if testing.CoverMode() != "" && !t.Failed() {
				os.Exit(0) // a process with limits cannot write the coverage report
			}
		})
		return true
	}
	program := os.Args[0]
	attr := &syscall.SysProcAttr{}
	if uid != 0 && os.Geteuid() == 0 {
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}
		program = filepath.Join(FastDir(t), "program") // accessible to that user
		CopyProgram(t, os.Args[0], program)
	}
	cmd := exec.Command(program, "-test.run=^"+t.Name()+"$", "-test.v", "-test.short="+strconv.FormatBool(testing.Short()))
	cmd.Env = append(os.Environ(), childKey+"="+t.Name())
	cmd.Dir, cmd.SysProcAttr = "/", attr
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("in the child process: %v", err)
	}
	return false
}

// DenyExchange makes the process unable to exchange files and to rename without overwriting, as on a
// plain FUSE or NFS file system.
func DenyExchange(t *testing.T) {
	t.Helper()
	DenySyscall(t, unix.SYS_RENAMEAT2, 4, unix.RENAME_EXCHANGE, unix.EINVAL)
	DenySyscall(t, unix.SYS_RENAMEAT2, 4, unix.RENAME_NOREPLACE, unix.EINVAL)
}

// StartCat starts a copy of the program cat, and returns when the program runs: from then on the system reports its command
// line and its environment. end ends the program.
func StartCat(t *testing.T, cmd *exec.Cmd) (end func()) {
	t.Helper()
	in, out := StartPiped(t, cmd)
	end = func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // it is killed
	}
	_, err := io.WriteString(in, "x")
	if err == nil {
		_, err = out.Read(make([]byte, 1))
	}
	if err != nil {
		end()
		t.Fatal(err)
	}
	return end
}

// CopyProgram copies a program and lets every user run it.
func CopyProgram(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{to, filepath.Dir(to)} {
		if err := os.Chmod(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// DenySyscall makes a system call fail in the whole process, until the process ends: always if arg is negative, otherwise
// only if argument arg, counted from 0, has the value. It skips the test if the system does not allow that.
func DenySyscall(t *testing.T, call uint32, arg int, value uint32, errno syscall.Errno) {
	t.Helper()
	const ldw, jeq, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	prog := []unix.SockFilter{
		{Code: ldw, K: 0}, // the number of the call
		{Code: jeq, K: call, Jf: 3},
		{Code: ldw, K: 16 + 8*uint32(arg)},
		{Code: jeq, K: value, Jf: 1},
		{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: ret, K: unix.SECCOMP_RET_ALLOW},
	}
	if arg < 0 {
		prog[1].Jf = 1
		prog = append(prog[:2], prog[4:]...)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Skip(err)
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&fprog)))
	if e != 0 {
		t.Skip(e)
	}
}
