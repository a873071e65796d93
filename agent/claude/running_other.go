//go:build !linux

package claude

import (
	"os"
	"runtime"
	"strconv"
	"syscall"

	"mend/internal/processes"
)

// isRunning reports whether a process with that id is running.
func (p *registeredProcess) isRunning() bool {
	if runtime.GOOS == "windows" { // Windows supports no signals
		_, err := processes.Process(p.PID).Identity()
		return err == nil
	}
	found, err := os.FindProcess(p.PID)
	return err == nil && found.Signal(syscall.Signal(0)) == nil
}

// Ancestors returns the known processes that wait for this one: its parent, and the one that Claude
// Code names in the environment of hooks.
func Ancestors() []int {
	all := []int{os.Getppid()}
	if pid, err := strconv.Atoi(os.Getenv("CLAUDE_PID")); err == nil && pid > 1 {
		all = append(all, pid)
	}
	return all
}
