package journal

import (
	"errors"
	"fmt"

	"mend/change"
)

// What a caller may want to know of an error of any method, by [errors.Is].
var (
	// ErrDamaged says that the file is not what mend wrote. Nothing was changed
	// because of it, and nothing will be: the file is for a person to look at.
	ErrDamaged = errors.New("journal is damaged")
	// ErrFormat says that a later mend wrote the journal.
	ErrFormat = errors.New("journal has another format")
	// ErrNotFound says that no repair has such an id.
	ErrNotFound = errors.New("no such repair")
	// ErrForgotten says that the images of a repair were removed by gc or forget.
	ErrForgotten = errors.New("its images were removed")
	// ErrHead says that a head is not an event of the chain: entries were
	// removed from its end, or the whole chain was made anew.
	ErrHead = errors.New("head is not in the journal")
	// ErrReadOnly says that the journal was opened for reading.
	ErrReadOnly = errors.New("journal is open for reading only")
	// ErrUnsure says that it is not known whether the last step was written: the
	// next open tells.
	ErrUnsure = errors.New("whether it was written is not known")
	// ErrClosed says that the journal was closed.
	ErrClosed = errors.New("journal is closed")
)

// A LockedError says that another process holds the journal. PID is what the
// lock file says; it is 0 where that is not known, as when readers hold it.
type LockedError struct {
	PID  int
	Path string // of the lock file
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return "locked by another process"
	}
	return fmt.Sprintf("locked by process %d", e.PID)
}

// An AmbiguousError says that a prefix fits more than one id.
type AmbiguousError struct {
	Prefix string
	IDs    []string // all of them, newest first
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q fits %d repairs, such as %s and %s", e.Prefix, len(e.IDs), e.IDs[0], e.IDs[1])
}

// A StateError says that an entry is not in the state that a step starts from.
type StateError struct {
	ID          string
	State, Want change.State
}

func (e *StateError) Error() string {
	return fmt.Sprintf("repair %s is %s, not %s", e.ID, e.State, e.Want)
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}
