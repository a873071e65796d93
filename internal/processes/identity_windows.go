package processes

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// Identity returns a value that no earlier or later process with the same number has.
func (p Process) Identity() (string, error) {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(p))
	if err != nil {
		return "", err
	}
	defer func() { _ = windows.CloseHandle(h) }()
	var started, ended, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &started, &ended, &kernel, &user); err != nil {
		return "", err
	}
	if ended != (windows.Filetime{}) { // its id stays in use while another process has it open
		return "", fmt.Errorf("process %d has ended", p)
	}
	return fmt.Sprint(started.Nanoseconds()), nil
}
