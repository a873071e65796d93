package change

import (
	"iter"

	"mend/session"
)

// A Plan is a change of one session that is to be made. It has no id, no time and nothing
// random: the same session gives the same plan.
type Plan struct {
	Session string
	Cause   Cause
	Ops     []Op // at most one for each record

	// AllowMissingParent allows a row to be created whose parent does not exist, as it is
	// when orphans are restored. The journal does not keep it: a recovery creates no row.
	AllowMissingParent bool
	// Force allows the change beside a process that has the session in its memory. Only
	// Prepare needs it.
	Force bool
}

// A Cause says why a plan was made.
type Cause struct {
	Kind      CauseKind `json:"kind"`
	Text      string    `json:"text,omitempty"`      // the API error
	Entries   []uint64  `json:"of,omitempty"`        // numbers of the entries that an undo, redo or decision is about
	Partial   bool      `json:"partial,omitempty"`   // an undo of some records only: Entries do not count as undone
	Diagnoses []string  `json:"diagnoses,omitempty"` // what was wrong and how it is fixed, in words
}

// A CauseKind is the kind of a [Cause].
type CauseKind string

// The kinds of causes. Their spelling is part of the journal's format.
const (
	CauseScan    CauseKind = "scan"    // a repair of what a scan found
	CauseError   CauseKind = "error"   // a repair of what an API error named
	CauseOrphans CauseKind = "orphans" // removes records that belong to no session
	CauseUndo    CauseKind = "undo"    // reverts Entries
	CauseRedo    CauseKind = "redo"    // reverts the undo in Entries
	CauseResolve CauseKind = "resolve" // a user's decision on a conflicted entry
)

// Diff returns the ops that turn the records of before into those of after. Records that are
// equal have no op.
//
// A row that changes gets its old time_updated + 1, unless after has another one already, so
// that the agent notices the change. No clock is read.
func Diff(before, after iter.Seq[*session.Record]) []Op {
	old := map[session.Ref]*session.Record{}
	for r := range before {
		old[r.Ref] = r
	}
	var ops []Op
	for r := range after {
		was, ok := old[r.Ref]
		delete(old, r.Ref)
		switch {
		case !ok:
			ops = append(ops, Op{Ref: r.Ref, Post: ImageOf(r)})
		case r.Unreadable() || ImageOf(was).Equal(ImageOf(r)):
		default:
			ops = append(ops, Op{Ref: r.Ref, Pre: ImageOf(was), Post: ImageOf(r.Touched(was))})
		}
	}
	for r := range before {
		if _, deleted := old[r.Ref]; deleted && (r.Ref.Kind == session.KindFile || !r.Unreadable()) {
			ops = append(ops, Op{Ref: r.Ref, Pre: ImageOf(r)})
		}
	}
	Sort(ops)
	return ops
}
