package claude

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// lives reports whether the process that wrote the file runs: one with its id that was started
// at the same time.
func (p *runningProcess) lives() bool {
	own, err := os.Readlink("/proc/self/ns/pid")
	if err == nil && p.PidDomain != "" && !strings.HasSuffix(p.PidDomain, own) {
		return p.wroteRecently()
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/stat")
	if err != nil {
		return false
	}
	// The second field is the name of the program, in parentheses; it may hold some.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const started = 22 - 3
	return p.ProcStart == "" || len(fields) > started && string(fields[started]) == p.ProcStart
}
