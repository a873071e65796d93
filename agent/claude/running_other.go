//go:build !linux

package claude

import (
	"os"
	"runtime"
	"strconv"
	"syscall"

	"mend/internal/processes"
)

// lives reports whether a process with that id runs.
func (p *registeredProcess) lives() bool {
	if runtime.GOOS == "windows" { // which sends no signal
		_, err := processes.Process(p.PID).Identity()
		return err == nil
	}
	found, err := os.FindProcess(p.PID)
	return err == nil && found.Signal(syscall.Signal(0)) == nil
}

// Ancestors returns the processes that wait for this one, as far as the system and Claude Code
// say: its parent, and the one that is named in the environment of hooks.
func Ancestors() []int {
	all := []int{os.Getppid()}
	if pid, err := strconv.Atoi(os.Getenv("CLAUDE_PID")); err == nil && pid > 1 {
		all = append(all, pid)
	}
	return all
}
