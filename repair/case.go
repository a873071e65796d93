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
	// Blocks returns how many stored blocks the next request has; 0 if the case does not count them.
	Blocks() int
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

// A Setting is one way in which a session may be sent.
type Setting struct {
	Version  string // of the agent
	Thinking bool   // the model is asked to think
}

// BaseCase is embedded in a case. It answers for what the agent does not have, and for an agent of
// which the request shows all: each turn is a stored message, and what is refused is fixed by the
// rules of the engine. See [NewBaseCase].
type BaseCase struct {
	request  request.Request
	refused  []request.Violation
	turns    map[change.Ref]int // by message
	findings Findings
}

// NewBaseCase returns the case of a session by what is sent of it next, and what is refused of that.
func NewBaseCase(q request.Request, refused []request.Violation) BaseCase {
	c := BaseCase{request: q, refused: refused, turns: map[change.Ref]int{}}
	for i, t := range q.Turns {
		for _, ref := range t.Messages {
			c.turns[ref] = i
		}
	}
	for _, v := range refused {
		f := Finding{Code: v.Rule, Text: v.Message, Severity: Broken}
		if len(v.Refs) > 0 {
			f.Ref = v.Refs[0]
		}
		if v.Block != nil {
			f.Block = v.Block.Index
		}
		x, _ := EngineFault(&c, f)
		c.findings.Add(InUse, x.Finding)
	}
	return c
}

// Findings implements [Case].
func (c *BaseCase) Findings() *Findings { return &c.findings }

// Describe implements [Case].
func (c *BaseCase) Describe(f Finding) Diagnosis {
	x, _ := EngineFault(c, f)
	return x.Describe()
}

// Fixes implements [Case].
func (c *BaseCase) Fixes(f Finding) ([]Fix, error) {
	x, _ := EngineFault(c, f)
	return x.Fixes(), nil
}

// Next implements [Session].
func (c *BaseCase) Next() (request.Request, []request.Violation) { return c.request, c.refused }

// Sent implements [Case].
func (c *BaseCase) Sent(int) (request.Request, []request.Violation) { return c.request, c.refused }

// Settings returns the only one.
func (c *BaseCase) Settings() []Setting { return []Setting{{}} }

// Stored implements [Session].
func (c *BaseCase) Stored(ref change.Ref) Stored {
	ref = messageRef(ref)
	i, ok := c.turns[ref]
	if !ok {
		return Stored{}
	}
	t := c.request.Turns[i]
	return Stored{Ref: ref, Role: t.Role, Steps: [][]*request.Block{t.Blocks}}
}

// Messages implements [Session].
func (c *BaseCase) Messages() (refs []change.Ref) {
	for _, t := range c.request.Turns {
		refs = append(refs, t.Messages...)
	}
	return refs
}

// Prompts implements [Session].
func (c *BaseCase) Prompts() (refs []change.Ref) {
	for _, t := range c.request.Turns {
		if t.Role == change.RoleUser {
			refs = append(refs, t.Messages...)
		}
	}
	return refs
}

// Texts implements [Session].
func (c *BaseCase) Texts() Texts { return TextsOf(Request{}) }

// Busy implements [Case].
func (*BaseCase) Busy() string { return "" }

// UnknownProvider implements [Case].
func (*BaseCase) UnknownProvider() string { return "" }

// Window implements [Case].
func (*BaseCase) Window() int { return 0 }

// Blocks implements [Case].
func (*BaseCase) Blocks() int { return 0 }

// LastError implements [Case].
func (*BaseCase) LastError() []byte { return nil }

// Asking implements [Case].
func (*BaseCase) Asking(APIError) Case { return nil }

// Reset implements [Case].
func (*BaseCase) Reset() Case { return nil }

// Renamed implements [Case].
func (*BaseCase) Renamed(Case) map[change.Ref]change.Ref { return nil }

// ForkBefore implements [Case].
func (*BaseCase) ForkBefore(change.Ref) string { return "" }

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
