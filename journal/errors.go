package journal

import (
	"errors"
	"fmt"

	"mend/change"
	"mend/internal/boltfile"
	"mend/internal/fail"
)

// Errors that any method may wrap.
var (
	// ErrDamaged says that the file is not what mend wrote. It was not changed, and
	// mend does not change it: a person has to look at it.
	ErrDamaged error = fail.New(fail.Unusable, `nothing was written to it. "mend verify" shows the damage; "mend log" reads what is intact`,
		"journal is damaged")
	// errFormat says that a later mend wrote the journal.
	errFormat error = fail.New(fail.Unusable, "use the version of mend that wrote it, or a later one", "journal has another format")
	// ErrNotFound says that no repair has the id.
	ErrNotFound error = fail.New(fail.Usage, `"mend log" lists the repairs`, "no such repair")
	// ErrForgotten says that gc or forget removed the images of a repair.
	ErrForgotten error = fail.New(fail.Refused, "its undo data was deleted by gc or forget; only the log entry is left", "its undo data was deleted")
	// errHead says that a head is not the hash of an event in the chain: entries were
	// removed from its end, or the chain was rebuilt.
	errHead = errors.New("that head is not in this journal: it may have been truncated or rebuilt")
	// ErrUnsure says that the last step may have been written or not. The next Open
	// shows which.
	ErrUnsure = boltfile.ErrUnsure
)

// A LockedError says that another process has locked the journal.
type LockedError = boltfile.LockedError

// An AmbiguousError says that several ids have the prefix.
type AmbiguousError struct {
	Prefix string
	IDs    []string // at least two, newest first
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q is ambiguous: it matches %d repairs, such as %s and %s", e.Prefix, len(e.IDs), e.IDs[0], e.IDs[1])
}

// Failure gives the error its exit code, see [fail.Of].
func (e *AmbiguousError) Failure() (fail.Code, string) { return fail.Usage, "" }

// A StateError says that an entry is not in the state that the method needs.
type StateError struct {
	ID    string
	State change.State
	Want  change.State // what the method needs
}

func (e *StateError) Error() string {
	return fmt.Sprintf("repair %s is %s, not %s", e.ID, e.State, e.Want)
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}
