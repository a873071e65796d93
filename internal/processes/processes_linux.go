package processes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Others lists the processes that this one can see, except itself.
func Others(ctx context.Context) ([]Process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	self, err := os.Readlink("/proc/self")
	if err != nil {
		return nil, err
	}
	var all []Process
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && e.Name() != self {
			all = append(all, Process(pid))
		}
	}
	return all, ctx.Err()
}

// Complete reports whether [Others] lists every process of this machine: it does not in a container, or if the system
// hides other users' processes.
func Complete() bool {
	const first = "pid:[4026531836]" // the machine's own namespace
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil || space != first {
		return false
	}
	_, err = os.ReadFile("/proc/1/stat")
	return err == nil
}

func (p Process) path(name string) string {
	return filepath.Join("/proc", strconv.Itoa(int(p)), name)
}

// Path returns the path at which this process finds the file that has the given name in p.
func (p Process) Path(name string) string {
	if filepath.IsAbs(name) {
		return p.path("root") + name
	}
	return p.path("cwd") + "/" + name
}

// User returns the id of the user that the process runs as.
func (p Process) User() (uint32, error) {
	info, err := os.Stat(p.path(""))
	if err != nil {
		return 0, endedError(err)
	}
	return info.Sys().(*syscall.Stat_t).Uid, nil
}

// Program returns the name of the executable.
func (p Process) Program() (string, error) {
	exe, err := os.Readlink(p.path("exe"))
	// If an update has replaced the executable, the path ends with " (deleted)".
	return filepath.Base(strings.TrimSuffix(exe, " (deleted)")), endedError(err)
}

// Environment returns a function that looks up a variable in the environment that
// the process was started with.
func (p Process) Environment() (func(name string) string, error) {
	b, err := os.ReadFile(p.path("environ"))
	if err != nil {
		return nil, endedError(err)
	}
	lines := strings.Split(string(b), "\x00")
	return func(name string) string {
		for _, line := range lines {
			if value, ok := strings.CutPrefix(line, name+"="); ok {
				return value
			}
		}
		return ""
	}, nil
}

// Name returns the name that the process has given itself, or else its program's: at most 15 bytes.
func (p Process) Name() (string, error) {
	b, err := os.ReadFile(p.path("comm"))
	return strings.TrimSuffix(string(b), "\n"), endedError(err)
}

// Arguments returns the command line of the process.
func (p Process) Arguments() ([]string, error) {
	b, err := os.ReadFile(p.path("cmdline"))
	return strings.Split(strings.TrimRight(string(b), "\x00"), "\x00"), endedError(err)
}

// Parent returns the process that started the process, or that adopted it.
func (p Process) Parent() (int, error) {
	n, err := p.stat(4)
	return int(n), err
}

// StartTicks returns when the process was started, in ticks since the boot.
func (p Process) StartTicks() (int64, error) { return p.stat(22) }

// stat returns a numeric field of the process's status, counted from 1.
func (p Process) stat(field int) (int64, error) {
	b, err := os.ReadFile(p.path("stat"))
	if err != nil {
		return 0, endedError(err)
	}
	// The second field is the name of the program in parentheses, which may contain parentheses.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) <= field-3 {
		return 0, fmt.Errorf("%s has %d fields", p.path("stat"), len(fields)+2)
	}
	n, err := strconv.ParseInt(string(fields[field-3]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", p.path("stat"), err)
	}
	return n, nil
}

// StartTime returns the time at which the process was started, by the present clock.
func (p Process) StartTime() (time.Time, error) {
	ticks, err := p.StartTicks()
	if err != nil {
		return time.Time{}, err
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return time.Time{}, fmt.Errorf("reading the time since boot: %w", err)
	}
	const perSecond = 100
	age := time.Duration(now.Nano()) - time.Duration(ticks)*time.Second/perSecond
	return time.Now().Add(-age), nil
}

// Locking lists the processes that hold a POSIX lock on a byte of the file with that inode, or a lock of the
// whole file; 0 for processes that the system does not name.
func Locking(ino uint64, at int64) ([]Process, error) {
	b, err := os.ReadFile("/proc/locks")
	if err != nil {
		return nil, err
	}
	var all []Process
	for line := range strings.Lines(string(b)) {
		// 1: POSIX  ADVISORY  READ 1234 fd:01:5678 128 128
		f := strings.Fields(line)
		if len(f) != 8 {
			continue // a waiting lock has an additional arrow
		}
		_, inode, _ := strings.Cut(f[5][strings.IndexByte(f[5], ':')+1:], ":")
		if inode != strconv.FormatUint(ino, 10) {
			continue
		}
		first, err := strconv.ParseInt(f[6], 10, 64)
		last, lerr := strconv.ParseInt(f[7], 10, 64)
		if err != nil || at < first || lerr == nil && at > last { // last may be "EOF"
			continue
		}
		pid, err := strconv.Atoi(f[4])
		if err != nil || pid < 0 {
			pid = 0
		}
		all = append(all, Process(pid))
	}
	return all, nil
}

// endedError returns the same error for all errors about an ended process.
func endedError(err error) error {
	if errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return err
}
