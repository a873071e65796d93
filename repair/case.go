package repair

import (
	"mend/change"
	"mend/internal/request"
)

// A Case is one state of a session, as the agent understands it. It does not change.
// Its methods are not called concurrently.
type Case interface {
	Session
	// Findings returns all that is wrong with the session. Every call returns the same
	// Findings.
	Findings() *Findings
	// Describe returns the diagnosis of a finding, without a fix. WhyNot says why there
	// may be no fix, "" if that is not known.
	Describe(f Finding) Diagnosis
	// Fixes returns the ways to fix a finding, the one that loses least first. The error is nil or a
	// [*RefusalError].
	Fixes(f Finding) ([]Fix, error)
	// Draft returns a new draft of the session.
	Draft() Draft
	// Records calls yield for every record that a fix may change, in the order of the
	// session: each message is followed by its parts.
	Records(yield func(*change.Record) bool)
	// Busy says which process uses the session, and what the user can do; "" if the agent is not
	// working in it.
	Busy() string

	// Settings returns the ways in which the session may be sent in which a fix has to hold, the one
	// in use first.
	Settings() []Setting
	// Sent returns the request in a setting by its number, and what is refused of it.
	Sent(setting int) (request.Request, []request.Violation)
	// UnknownProvider returns the name of the provider that is asked next if mend knows no rules of it, and
	// so checked it by those of Anthropic; "" if it does.
	UnknownProvider() string
	// Window returns the context window of the model that is asked next, in tokens; 0 if that is not known.
	Window() int
	// Current returns the request that the agent makes of the session as it is, without what further repairs
	// bring, and what is refused of it. A violation without a place says that the agent makes none.
	Current() (request.Request, []request.Violation)
	// LastError returns the error with which the newest answer failed, as it is stored; nil if it
	// did not fail.
	LastError() []byte

	// Asking returns the case in the setting in which an error occurred, with the findings that only
	// the error shows; nil for the same case.
	Asking(e APIError) Case
	// Reset returns the case in the settings that the session has now, without what [Case.Asking] added;
	// nil for the same case. A search compares findings under the same settings, so they change only
	// between two searches.
	Reset() Case
	// Renamed returns the refs of records that had other refs in the earlier state of the session, by
	// their earlier refs.
	Renamed(earlier Case) map[change.Ref]change.Ref
	// ForkBefore says how the user can continue in a new session without a prompt and what follows it,
	// as a sentence; "" if the provider refuses what is before it, too.
	ForkBefore(prompt change.Ref) string
}

// RecordsOf returns the records of a case.
func RecordsOf(c Case) (all []change.Record) {
	for r := range c.Records {
		all = append(all, *r)
	}
	return all
}

// A Draft is a copy of a session that fixes edit.
type Draft interface {
	Editor
	// Apply edits the draft. After an error the draft is as before; a [*RefusalError] says
	// why this fix must not be applied.
	Apply(f Finding, x Fix) error
	// Case returns the session with the edits of the draft.
	Case() Case
}

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
	// position, removes it, or gives a call and its results another id.
	Alike bool

	// Edit edits a copy of the session, with the editor of the agent that made the fix. After an error
	// the next fix is tried.
	Edit func(Editor) error
}

// A RefusalError is an error that says why a finding is not fixed, or not by that fix.
type RefusalError struct {
	Why   string // a sentence or two for a person
	Helps bool   // Why says what the user can do about it
	Final bool   // no other fix of the finding is tried
}

func (r *RefusalError) Error() string { return r.Why }
