package claude

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"mend/internal/processes"
)

// isRunning reports whether the process that wrote the file is running: one with its id and start time.
func (p *registeredProcess) isRunning() bool {
	own, err := os.Readlink("/proc/self/ns/pid")
	if err == nil && p.PidDomain != "" && !strings.HasSuffix(p.PidDomain, own) {
		return p.wroteRecently()
	}
	ticks, err := processes.Process(p.PID).StartTicks()
	return err == nil && (p.ProcStart == "" || strconv.FormatInt(ticks, 10) == p.ProcStart)
}

// Ancestors returns the processes that wait for this one: its parent, the parent's parent, and so on.
func Ancestors() (all []int) {
	for pid := os.Getppid(); pid > 1 && !slices.Contains(all, pid); {
		all = append(all, pid)
		parent, err := processes.Process(pid).Parent()
		if err != nil {
			break
		}
		pid = parent
	}
	return all
}
