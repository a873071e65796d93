package faulttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrUnsupported means that the kernel cannot stop the calls.
var ErrUnsupported = errors.New("seccomp notifications are not available")

// A Program is a program into which faults are injected.
type Program struct {
	Path     string
	Filtered string   // the command filtered, built
	Env      []string // all of its environment
	Dir      string   // where it runs
	// Now, unless zero, is the time that the program always reads. Its random numbers then depend only on its
	// arguments. This works for Go programs on amd64.
	Now time.Time
}

// An Action is the action at a call.
type Action uint8

// The actions.
const (
	Kill   Action = iota + 1 // the program is killed before it makes the call
	Fail                     // the call fails
	Resume                   // the call is made
)

func (a Action) String() string { return [...]string{"", "killed", "failed", "resumed"}[a] }

// A Fault is the fault of a run. The zero Fault means none.
type Fault struct {
	At     int // the number of the call, from 1
	Action Action
	Errno  syscall.Errno // of Fail
	Lasts  bool          // Fail also applies to every later call
	// Frozen is called while the call waits, before the action; nil: no call.
	Frozen func(Call)
}

// A Result is a run that has ended.
type Result struct {
	Calls []Call // made or about to be made
	Hit   bool   // the run reached the call of the Fault
	Code  int    // its exit code; -1 if a signal ended it
	Out   string // standard output
	Err   string // standard error
}

// Run runs the program. It returns when the program has ended; when ctx ends, the program is killed. The
// error wraps [ErrUnsupported] if calls cannot be stopped; an exit code is not an error.
func (p Program) Run(ctx context.Context, f Fault, args ...string) (Result, error) {
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, p.Filtered, append([]string{p.Path}, args...)...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = p.Env, p.Dir, &out, &errOut
	w := watch{fault: f, kill: func() { _ = cmd.Process.Kill() }}
	if !p.Now.IsZero() {
		w.fixed = newFixedInputs(p.Now, args)
	}
	if err := start(cmd, &w.listener); err != nil {
		return Result{}, fmt.Errorf("running %s: %w", p.Path, err)
	}
	err := w.serve()
	if err != nil {
		w.kill()
	}
	_ = unix.Close(w.listener)
	var exit *exec.ExitError
	if werr := cmd.Wait(); !errors.As(werr, &exit) {
		err = errors.Join(err, werr)
	}
	if err = errors.Join(err, ctx.Err()); err != nil {
		return Result{}, fmt.Errorf("running %s: %w", p.Path, err)
	}
	return Result{w.calls, w.hit, cmd.ProcessState.ExitCode(), out.String(), errOut.String()}, nil
}

// start starts the child and gets the listener from it.
func start(cmd *exec.Cmd, listener *int) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	theirs := os.NewFile(uintptr(pair[1]), "listener")
	cmd.ExtraFiles = []*os.File{theirs} // becomes socket
	err = cmd.Start()
	theirs.Close()
	if err == nil {
		*listener, err = listenerFrom(pair[0])
		if err != nil {
			err = errors.Join(err, cmd.Wait())
		}
	}
	return errors.Join(err, unix.Close(pair[0]))
}

// A watch answers the calls of one run.
type watch struct {
	fault    Fault
	fixed    *fixedInputs // nil: the kernel's
	kill     func()
	listener int
	calls    []Call
	hit      bool
	killed   bool
}

// A notification is struct seccomp_notif.
type notification struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

// An answer is struct seccomp_notif_resp.
type answer struct {
	id    uint64
	val   int64
	errno int32
	flags uint32
}

// serve answers every call until the program has ended.
func (w *watch) serve() error {
	for {
		fds := []unix.PollFd{{Fd: int32(w.listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, -1); errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil {
			return fmt.Errorf("waiting for its calls: %w", err)
		}
		if fds[0].Revents&unix.POLLIN == 0 { // the program has ended
			return nil
		}
		var n notification
		switch err := w.ioctl(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); {
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EINTR): // the thread has ended, or repeats the call
			continue
		case err != nil:
			return fmt.Errorf("receiving a call: %w", err)
		}
		if err := w.answer(&n); err != nil {
			return fmt.Errorf("answering a call: %w", err)
		}
	}
}

func (w *watch) answer(n *notification) error {
	if w.killed {
		return nil
	}
	a := answer{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	if w.fixed != nil {
		switch val, answered, err := w.fixed.answer(n); {
		case err != nil && w.ioctl(unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&n.id)) != nil: // the thread has ended
			return nil
		case err != nil:
			return fmt.Errorf("fixing the time: %w", err)
		case answered:
			a = answer{id: n.id, val: val}
		}
	}
	if c, counts := describe(n); counts {
		w.calls = append(w.calls, c)
		switch w.decide(c) {
		case Kill:
			w.killed = true
			w.kill() // the call is never made, since it is never answered
			return nil
		case Fail:
			a = answer{id: n.id, errno: -int32(w.fault.Errno)}
		case Resume:
		}
	}
	return w.send(a)
}

func (w *watch) send(a answer) error {
	err := w.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&a))
	if errors.Is(err, unix.ENOENT) { // ctx has killed it meanwhile
		return nil
	}
	return err
}

// decide returns the action at the newest call.
func (w *watch) decide(c Call) Action {
	at := len(w.calls)
	switch {
	case w.fault.At == 0 || at < w.fault.At:
		return Resume
	case at > w.fault.At:
		if w.fault.Action == Fail && w.fault.Lasts {
			return Fail
		}
		return Resume
	}
	w.hit = true
	if w.fault.Frozen != nil {
		w.fault.Frozen(c)
	}
	return w.fault.Action
}

func (w *watch) ioctl(request uint, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(w.listener), uintptr(request), uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}
