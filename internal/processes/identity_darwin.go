package processes

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Identity returns what tells the process from all others that had or will have its number.
func (p Process) Identity() (string, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", int(p))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d.%06d", info.Proc.P_starttime.Sec, info.Proc.P_starttime.Usec), nil
}
