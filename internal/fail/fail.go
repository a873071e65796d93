// Package fail adds to an error what the command line needs: the exit code of mend, and a hint for the user. The
// function that makes an error sets both. It prints nothing. The errors of the layer that docs/library.md describes do
// not depend on the command line: layer.go has a table of them.
//
// It may import change, internal/boltfile, journal, txn and undo. Read [New] and [Classify] first.
package fail

import (
	"errors"
	"fmt"
)

// A Code is an exit code of mend. "mend help exit-codes" documents them, and they never change.
type Code int

// The exit codes, except the codes of signals.
const (
	Done     Code = 0
	Problems Code = 1
	Usage    Code = 2
	Conflict Code = 3
	Unusable Code = 4 // the store or the journal; also for errors without a code
	Refused  Code = 5
	Pending  Code = 6
)

// String returns the name of a code in JSON answers.
func (c Code) String() string {
	return [...]string{"done", "problems", "usage", "conflict", "unusable", "refused", "pending"}[c]
}

// severity orders the codes: of several errors the one with the greatest severity counts.
func (c Code) severity() int {
	return [...]int{Done: 0, Problems: 1, Refused: 2, Usage: 3, Conflict: 4, Unusable: 5, Pending: 6}[c]
}

// A Failure is an error with its exit code and its hint.
type Failure struct { //nolint:errname // fail.Error would read as the interface
	Code Code
	Hint string // what the user can do; "" if the error text suffices
	Err  error
}

// New returns a failure with a formatted text.
func New(code Code, hint, format string, args ...any) *Failure {
	return &Failure{code, hint, fmt.Errorf(format, args...)}
}

// WithHint returns an error with another hint and the same code.
func WithHint(err error, hint string) *Failure {
	code, _ := Classify(err)
	return &Failure{code, hint, err}
}

func (f *Failure) Error() string { return f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

// Failure returns the code and the hint. Other types of errors can have this method, too.
func (f *Failure) Failure() (Code, string) { return f.Code, f.Hint }

// Classify returns the code and the hint of the outermost failure in an error. If the error wraps several, the worst
// counts. An error without a failure is Refused if the system does not support an operation, and otherwise Unusable.
func Classify(err error) (Code, string) {
	if err == nil {
		return Done, ""
	}
	if code, hint, ok := find(err); ok {
		return code, hint
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return Refused, ""
	}
	return Unusable, ""
}

func find(err error) (code Code, hint string, ok bool) {
	if e, is := any(err).(interface{ Failure() (Code, string) }); is {
		code, hint = e.Failure()
		return code, hint, true
	}
	if code, hint, ok = layerFailure(err); ok {
		return code, hint, true
	}
	switch e := any(err).(type) {
	case interface{ Unwrap() error }:
		return find(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			if c, h, found := find(err); found && (!ok || c.severity() > code.severity()) {
				code, hint, ok = c, h, true
			}
		}
	}
	return code, hint, ok
}

// Worst returns the error with the worse code, the first if both are equal.
func Worst(a, b error) error {
	severity := func(err error) int { code, _ := Classify(err); return code.severity() }
	if severity(b) > severity(a) {
		return b
	}
	return a
}
