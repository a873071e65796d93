package live

import "mend/repair"

// An Outcome is a thing that happens to an error.
type Outcome string

// The outcomes: each error is detected once, and then one of the others.
const (
	Detected Outcome = "detected"
	Cured    Outcome = "cured"   // the store was repaired
	Refused  Outcome = "refused" // left alone: it has no cure, nothing is wrong in the store, or the limit is reached
	Failed   Outcome = "failed"  // something went wrong
)

// Interrupted is the class under which interrupted calls of an idle session are
// counted; no error has it.
const Interrupted repair.Class = "interrupted_tool"
