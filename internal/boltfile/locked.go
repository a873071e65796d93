package boltfile

import "fmt"

// A LockedError says that another process has locked the file.
type LockedError struct {
	PID int // of that process; 0 if it is not known, as for readers
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return "locked by another process"
	}
	return fmt.Sprintf("locked by process %d", e.PID)
}
