//go:build !unix

package opencode

import "os/exec"

// setProcessGroup does nothing here; Install has no executable for this system.
func setProcessGroup(*exec.Cmd) {}
