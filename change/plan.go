package change

import (
	"fmt"
	"iter"
	"slices"
)

// A Plan is a change to be made to one session. It has no id, no time and nothing random: the same
// session gives the same plan.
type Plan struct {
	Session string
	Cause   Cause
	Ops     []Op // at most one for each record

	// AgentVersion is the version of the agent that the plan was made for, "" if unknown. The
	// journal keeps it with the actor.
	AgentVersion string
	// AllowMissingParent allows rows to be created without their parent, to restore orphans. The
	// journal does not keep it, because a recovery creates no row.
	AllowMissingParent bool
	// Operation is the operation of an earlier change in the same run of mend, see [Entry]; 0 if the
	// plan begins a new operation.
	Operation uint64
	// Force allows the change while a process has the session in memory. Only Prepare needs it.
	Force bool
	// Fresh marks the session as used now, so that an agent that removes old sessions keeps it.
	// Only Prepare needs it.
	Fresh bool
	// Seen is the number of the newest event of the journal before the plan was made; nil for a
	// plan that does not depend on the journal. The journal does not keep it.
	Seen *uint64
	// Reverts has one element for each change that an undo or a redo reverts: the end of the file to which that change
	// appended, or nil. Only Prepare needs it.
	Reverts []*AppendPoint
	// Undecided lists the staging folders of undecided changes to other records. Prepare does not touch them.
	Undecided []string
}

// NoSession stands for the session id of records and plans that belong to no session.
const NoSession = "unknown"

// A Cause is the reason for a plan.
type Cause struct {
	Kind      CauseKind `json:"kind"`
	Text      string    `json:"text,omitempty"`      // the API error, the new folder, or the name of the state that a restore brings back
	Entries   []uint64  `json:"of,omitempty"`        // numbers of the entries that an undo, redo or decision is about
	Partial   bool      `json:"partial,omitempty"`   // an undo of some records only: Entries do not count as undone
	Diagnoses []string  `json:"diagnoses,omitempty"` // what was wrong and how it is fixed, in words, each once

	Live     bool      `json:"live,omitempty"`     // made for a running agent
	Title    string    `json:"title,omitempty"`    // title of the session; "" in the entries of older versions
	Folder   string    `json:"folder,omitempty"`   // folder of the session; "" if it has none, and in the entries of older versions
	Findings []Finding `json:"findings,omitempty"` // what was wrong; none in the entries of older versions
	Error    *Failure  `json:"error,omitempty"`    // the API error's other fields; nil in the entries of older versions

	Bound *BoundThinking `json:"boundThinking,omitempty"` // nil if the change spoils no thinking
}

// A Failure is the API error that a repair was made for. Fields that the error lacks are empty.
type Failure struct {
	Provider  string `json:"provider,omitempty"` // the provider of the session's model, as the agent names it
	Model     string `json:"model,omitempty"`
	Status    int    `json:"status,omitempty"` // HTTP status
	RequestID string `json:"requestId,omitempty"`
	Whole     string `json:"whole,omitempty"` // the complete error as given, if it has more than its text
}

// A Finding is a problem of a session and what was done about it. Why, Fix and Loses are sentences
// for a person.
type Finding struct {
	Rule  string `json:"rule"` // the rule's code
	Class string `json:"class"`
	Why   string `json:"why"`
	Fix   string `json:"fix"`
	Loses string `json:"loses,omitempty"` // what the user lost; "" for nothing
	Count int    `json:"count"`           // number of equal findings in the session

	Session string `json:"session,omitempty"` // the session that the finding is about, in an entry that has no session
}

// A CauseKind is the kind of a [Cause].
type CauseKind string

// The kinds of causes. Their spelling is part of the journal's format.
const (
	CauseScan      CauseKind = "scan"      // a repair of what a scan reported
	CauseError     CauseKind = "error"     // a repair of what an API error named
	CauseOrphans   CauseKind = "orphans"   // removes records that belong to no session
	CauseTrim      CauseKind = "trim"      // marks outputs of tools, which the agent then no longer sends
	CauseUncompact CauseKind = "uncompact" // removes a compaction
	CauseRestore   CauseKind = "restore"   // brings back a session that the agent did not show or had lost
	CauseMove      CauseKind = "move"      // gives the session another folder, in Text
	CauseSalvage   CauseKind = "salvage"   // exchanges a damaged database for a new one with its rows
	CauseClean     CauseKind = "clean"     // removes the data that Text lists, to free space
	CauseUndo      CauseKind = "undo"      // reverts Entries
	CauseRedo      CauseKind = "redo"      // reverts the undo in Entries
	CauseResolve   CauseKind = "resolve"   // a user's decision on a conflicted entry
)

// Diff returns the ops that turn the records before into the records after. Equal records have no op, and an unreadable
// record has none unless it is a removed file.
//
// A row that changes gets its old time_updated + 1, unless after already has another value, so that
// the agent notices the change. No clock is read.
func Diff(before, after iter.Seq[*Record]) []Op {
	all := slices.Collect(before)
	old := make(map[Ref]*Record, len(all))
	for _, r := range all {
		old[r.Ref] = r
	}
	var ops []Op
	for r := range after {
		previous := old[r.Ref]
		delete(old, r.Ref)
		switch {
		case previous == nil:
			ops = append(ops, Op{Ref: r.Ref, Post: ImageOf(r)})
		case r.Unreadable() || SameImage(previous, r):
		default:
			ops = append(ops, Op{Ref: r.Ref, Pre: ImageOf(previous), Post: ImageOf(r.touch(previous))})
		}
	}
	for _, r := range all {
		if old[r.Ref] == nil {
			continue
		}
		if r.Ref.Kind == KindFile || !r.Unreadable() {
			ops = append(ops, Op{Ref: r.Ref, Pre: ImageOf(r)})
		}
	}
	Sort(ops)
	return ops
}

// A BoundThinking counts the thinking blocks that a change spoils: they follow the change, and the provider accepts
// them only after the exact conversation that they were written in.
type BoundThinking struct {
	Spoiled int  `json:"spoiled"`           // blocks after the change that the model no longer gets
	Removed bool `json:"removed"`           // the change removes them; otherwise the agent omits them, or the provider refuses them
	Refused bool `json:"refused,omitempty"` // for an undo, a redo or a restore: the agent sends them, and the provider refuses the next prompt
}

// Loses returns a sentence about what is lost, "" if nothing is.
func (b *BoundThinking) Loses() string {
	if b == nil || b.Spoiled == 0 {
		return ""
	}
	what, them := "The thinking block after the change, which is", "it"
	if b.Spoiled > 1 {
		what, them = fmt.Sprintf("The %d thinking blocks after the change, which are", b.Spoiled), "them"
	}
	then := "the model may not get " + them + " again"
	switch {
	case b.Removed:
		then = "mend removes " + them + ", too"
	case b.Refused:
		then = "the provider refuses the next prompt with " + them + ", and mend fix removes " + them
	}
	return what + " bound to the conversation before " + them + ": " + then + ". Texts and tool calls stay."
}
