package change

import "mend/session"

// A Plan is what shall become of one session. It holds no id, no clock and
// nothing of chance: the same session gives the same plan.
type Plan struct {
	Session string
	Cause   Cause
	Ops     []Op // at most one for each record
}

// A Cause says why a plan was made.
type Cause struct {
	Kind      CauseKind `json:"kind"`
	Text      string    `json:"text,omitempty"`      // the API error
	Entries   []uint64  `json:"of,omitempty"`        // the entries that an undo, redo or decision is about, by number
	Partial   bool      `json:"partial,omitempty"`   // an undo of some records only: what it is of is not undone by it
	Diagnoses []string  `json:"diagnoses,omitempty"` // what was wrong and what cures it, in words
}

// A CauseKind is the kind of a [Cause].
type CauseKind string

// The kinds of causes. Their spelling is part of the journal's format.
const (
	CauseScan    CauseKind = "scan"    // a repair of what a scan found
	CauseError   CauseKind = "error"   // a repair of what an API error named
	CauseOrphans CauseKind = "orphans" // puts away what belongs to nothing
	CauseUndo    CauseKind = "undo"    // takes back the entries Of
	CauseRedo    CauseKind = "redo"    // takes back the undo Of
	CauseResolve CauseKind = "resolve" // a user's decision on the conflict of Of
)

// Diff is the ops that turn the records of before into those of after: none for
// a record that is the same in both, so that the plan is minimal by
// construction and empty the second time.
//
// A row that changes gets its old time_updated + 1, unless after already gave
// it another one: the agent sees that it changed, and no clock is asked.
func Diff(before, after *session.Session) []Op {
	old := map[session.Ref]*session.Record{}
	for r := range before.Records {
		old[r.Ref] = r
	}
	var ops []Op
	for r := range after.Records {
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
	for r := range before.Records {
		if _, gone := old[r.Ref]; gone && !r.Unreadable() {
			ops = append(ops, Op{Ref: r.Ref, Pre: ImageOf(r)})
		}
	}
	if was, is := &before.ProjectRow, &after.ProjectRow; was.Ref.Kind != 0 && was.Ref == is.Ref && !ImageOf(was).Equal(ImageOf(is)) {
		ops = append(ops, Op{Ref: is.Ref, Pre: ImageOf(was), Post: ImageOf(is.Touched(was))})
	}
	left := make(map[session.Ref]bool, len(after.Files))
	for i := range after.Files {
		left[after.Files[i].Ref] = true
	}
	for i := range before.Files {
		if f := &before.Files[i]; !left[f.Ref] {
			ops = append(ops, Op{Ref: f.Ref, Pre: ImageOf(&f.Record)})
		}
	}
	Sort(ops)
	return ops
}
