package boltfile

import "fmt"

// A LockedError means that another process has locked the file.
type LockedError struct {
	PID int // process id; 0 if unknown, as for readers
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return "locked by another process"
	}
	return fmt.Sprintf("locked by process %d", e.PID)
}
