package repair

import "mend/session"

// A Case is one state of a session, as the agent understands it. It does not change.
// Its methods are not called concurrently.
type Case interface {
	// Findings returns all that is wrong with the session. Every call returns the same
	// Findings.
	Findings() *Findings
	// Describe returns the diagnosis of a finding, without a fix. WhyNot says why there
	// may be no fix, "" if that is not known.
	Describe(f Finding) Diagnosis
	// Fixes returns the ways to fix a finding, the one that loses least first. They may
	// depend on what was edited in d before; d is nil if that is not known. The error is
	// nil or a [*RefusalError].
	Fixes(f Finding, d Draft) ([]Fix, error)
	// Draft returns a new draft of the session.
	Draft() Draft
	// Records calls yield for every record that a fix may change, in the order of the
	// session: each message is followed by its parts.
	Records(yield func(*session.Record) bool)
	// Has reports whether the session has a record with that ref.
	Has(ref session.Ref) bool
	// Busy reports whether the agent is working in the session.
	Busy() bool
}

// A Draft is a copy of a session that fixes edit.
type Draft interface {
	Editor
	// Apply edits the draft. After an error the draft is as before; a [*RefusalError] says
	// why this fix must not be applied.
	Apply(f Finding, x Fix) (Edit, error)
	// Undo undoes an edit. Later edits of other messages stay; those of the same message
	// were undone before.
	Undo(e Edit)
	// Case returns the session with the edits of the draft.
	Case() Case
}

// An Edit is what a draft needs to undo an edit.
type Edit any

// A Fix is one way to fix a finding.
type Fix struct {
	Text  string // what it does, for a person
	Loses string // what the user loses by it; "" for nothing

	// Whole says that the edit changes more than the message of the finding. Such a fix
	// is tried alone.
	Whole bool
	// Alike says that findings with the same code elsewhere in the message are fixed in
	// the same way, whatever becomes of this one: they may be tried together. With Whole
	// it says the same of those of other messages: the edit gives the message another
	// position, or removes it.
	Alike bool

	// Edit edits a draft of the agent that made the fix. After an error the next fix is
	// tried.
	Edit func(Draft) error
}

// A RefusalError is an error that says why a finding is not fixed, or not by that fix.
type RefusalError struct {
	Why   string // a sentence or two for a person
	Helps bool   // Why says what the user can do about it
	Final bool   // no other fix of the finding is tried
}

func (r *RefusalError) Error() string { return r.Why }

// A Renamer is a Case in which records may have other refs than in an earlier one.
type Renamer interface {
	// Renamed returns the refs of records that had other refs in the earlier state of
	// the session, by their earlier refs.
	Renamed(earlier Case) map[session.Ref]session.Ref
}

// A Releaser is a Case that remembers more than the session and its findings.
type Releaser interface {
	// Release drops what can be made again.
	Release()
}

// A Resetter is a Case whose settings depend on the session, such as on whether its
// model thinks.
type Resetter interface {
	// Reset returns the case in the settings that the session has now, without what
	// [Blamer.Blame] added. A search compares findings under the same settings, so they
	// change only between two searches.
	Reset() Case
}

// A Blamer is a Case that can find what an API error is about.
type Blamer interface {
	// Blame returns the case with the findings that only the error shows, and in the
	// settings under which it occurred.
	Blame(e APIError) Case
	// Locate returns the records that the error names: those of the findings, which are
	// of its kind, for which in returns true. in is nil if the error names none. If only
	// is true, other findings of the kind must not be fixed instead.
	Locate(e APIError, fs []Finding) (in func(session.Ref) bool, only bool)
	// Suspects returns the findings that only the error shows, of which it is not known
	// whether they are its cause.
	Suspects(e APIError) []Finding
}

// A BusyExplainer is a Case that knows why the session is busy.
type BusyExplainer interface {
	// WhyBusy says which process uses the session, and what the user can do.
	WhyBusy() string
}

// A Forker is a Case that can be continued without its newest messages.
type Forker interface {
	// Fork says how the user can continue without the messages in which broken findings
	// stay, as a sentence; "" if that is not possible.
	Fork(broken []Finding) string
}
