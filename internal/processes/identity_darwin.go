package processes

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Identity returns a value that no earlier or later process with the same number has.
func (p Process) Identity() (string, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", int(p))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d.%06d", info.Proc.P_starttime.Sec, info.Proc.P_starttime.Usec), nil
}
