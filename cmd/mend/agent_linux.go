package main

import (
	"fmt"
	"os"
	"syscall"
)

// isAgent reports whether the process is an OpenCode of this user. The library that is
// asked elsewhere reads /proc at each start of mend, also where nobody asks.
func isAgent(pid int32) bool {
	dir := fmt.Sprintf("/proc/%d", pid)
	exe, err := os.Readlink(dir + "/exe")
	if err != nil {
		return false
	}
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	status, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(status.Uid) == os.Getuid() && isAgentFile(exe)
}
