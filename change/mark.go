package change

import "time"

// A Mark is a place in a session after one of its messages, identified by the rows before it.
type Mark struct {
	Messages int // before it
	// Print is of the rows of these messages and of their parts: of all that a [Stamp] is of.
	Print  [16]byte
	Newest time.Time // when one of these rows was last changed
}

// Distinct reports whether every change after t to a row before the mark gives the mark another
// Print, as it gives another stamp.
func (m Mark) Distinct(t time.Time) bool { return m.Newest.Before(t.Add(-clockStep)) }
