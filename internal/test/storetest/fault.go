package storetest

import "errors"

// A Fault makes one call fail, or all calls from that one on, as after a kill.
type Fault struct {
	At    int      // the call that fails, counted from 0
	Once  bool     // the calls after it succeed
	Calls []string // all calls so far
}

// ErrFault is the error of a call that a Fault makes fail.
var ErrFault = errors.New("a fault of the test")

// Step is the step hook for a store.
func (f *Fault) Step(call string) error {
	n := len(f.Calls)
	f.Calls = append(f.Calls, call)
	if n == f.At || n > f.At && !f.Once {
		return ErrFault
	}
	return nil
}

// Hit reports whether the failing call was reached.
func (f *Fault) Hit() bool { return len(f.Calls) > f.At }
