//go:build unix

package opencode

import (
	"os/exec"
	"syscall"
)

// setProcessGroup gives cmd its own process group, and kills the whole group when cmd is cancelled: a shell
// that OpenCode runs must not outlive the test.
func setProcessGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
