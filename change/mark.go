package change

import "time"

// A Mark is a place in a session behind one of its messages, known by what precedes it.
type Mark struct {
	Messages int // before it
	// Print is of the rows of these messages and of their parts: of all that a [Stamp] is of.
	Print  [16]byte
	Newest time.Time // when one of these rows was last changed
}

// Distinct reports whether every change after t of what precedes the mark gives it another Print, as that of a
// stamp does.
func (m Mark) Distinct(t time.Time) bool { return m.Newest.Before(t.Add(-clockStep)) }
