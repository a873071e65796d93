//go:build unix

package opencode

import (
	"os/exec"
	"syscall"
)

// ownGroup makes cmd the head of a process group, and its cancelling the end
// of the whole group: a shell that OpenCode runs must not outlive the test.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
