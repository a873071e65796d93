//go:build !linux

package claude

import (
	"os"
	"runtime"
	"syscall"
)

// lives reports whether a process with that id runs. Where that cannot be found out, a file
// that was written recently counts.
func (p *runningProcess) lives() bool {
	if runtime.GOOS == "windows" {
		return p.wroteRecently()
	}
	found, err := os.FindProcess(p.PID)
	return err == nil && found.Signal(syscall.Signal(0)) == nil
}
