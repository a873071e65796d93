//go:build !linux

package main

import (
	"os/user"

	"github.com/shirou/gopsutil/v4/process"
)

// isAgent reports whether the process is an OpenCode of this user.
func isAgent(pid int32) bool {
	p, err := process.NewProcess(pid)
	if err != nil {
		return false
	}
	exe, _ := p.Exe()
	owner, err := p.Username()
	me, meErr := user.Current()
	return err == nil && meErr == nil && owner == me.Username && isAgentFile(exe)
}
