//go:build !linux

package claude

import (
	"os"
	"strconv"

	"mend/internal/processes"
)

// isRunning reports whether a process with that id is running.
func (p *registeredProcess) isRunning() bool {
	_, err := processes.Process(p.PID).Identity()
	return err == nil
}

// Ancestors returns the known processes that wait for this one: its parent, and the process that Claude Code names in the
// environment of hooks.
func Ancestors() []int {
	all := []int{os.Getppid()}
	if pid, err := strconv.Atoi(os.Getenv("CLAUDE_PID")); err == nil && pid > 1 {
		all = append(all, pid)
	}
	return all
}
