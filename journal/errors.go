package journal

import (
	"errors"
	"fmt"

	"mend/change"
	"mend/internal/boltfile"
)

// Errors that any method may wrap.
var (
	// ErrDamaged means that the file differs from what mend wrote. It was not changed, and mend does
	// not change it: a person has to look at it.
	ErrDamaged = errors.New("journal is damaged")
	// ErrFormat means that a later version of mend wrote the journal.
	ErrFormat = errors.New("journal has another format")
	// ErrNotFound means that no repair has the id.
	ErrNotFound = errors.New("no such repair")
	// ErrForgotten means that gc or forget removed the images of a repair.
	ErrForgotten = errors.New("its undo data was deleted")
	// ErrExport means that an export differs from what [Journal.Export] wrote.
	ErrExport = errors.New("it is not as mend exported it")
	// errHead means that the chain has no event with that hash: entries were removed from its end,
	// or it was rebuilt.
	errHead = errors.New("that head is not in this journal: it may have been truncated or rebuilt")
	// ErrUnsure means that the last step may or may not have been written. The next Open shows
	// which.
	ErrUnsure = boltfile.ErrUnsure
)

// A LockedError means that another process has locked the journal.
type LockedError = boltfile.LockedError

// An AmbiguousError means that several ids have the prefix.
type AmbiguousError struct {
	Prefix string
	IDs    []string // at least two, newest first
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q is ambiguous: it matches %d repairs, such as %s and %s", e.Prefix, len(e.IDs), e.IDs[0], e.IDs[1])
}

// A StateError means that a method needs the entry in another state.
type StateError struct {
	ID    string
	State change.State
	Want  change.State // the state that the method needs
}

func (e *StateError) Error() string {
	return fmt.Sprintf("repair %s is %s, not %s", e.ID, e.State, e.Want)
}

func damageError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}
