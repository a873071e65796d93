package boltfile

import (
	"fmt"

	"mend/internal/fail"
)

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

// Failure gives the error its exit code and its hint, see [fail.Of].
func (e *LockedError) Failure() (fail.Code, string) {
	return fail.Refused, "another mend is running; try again when it is done"
}
