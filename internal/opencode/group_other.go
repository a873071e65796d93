//go:build !unix

package opencode

import "os/exec"

// ownGroup does nothing here; Install has no executable for this system.
func ownGroup(*exec.Cmd) {}
