package repair

import (
	"cmp"
	"fmt"
	"slices"

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

// A Setting is one way in which a session may be sent.
type Setting struct {
	Version  string // of the agent: one that tests have run, and like which the one in use is judged
	Thinking bool   // the model is asked to think
}

// BaseCase is embedded in a case. It answers for what the agent does not have, and for an agent of
// which the request shows all: each turn is of stored messages, and what is wrong is fixed by a table of rules.
// See [NewBaseCase] and [BaseCase.Examine].
type BaseCase struct {
	self     Session // the case; nil for the BaseCase alone
	session  change.Ref
	rules    *Rules
	request  request.Request
	refused  []request.Violation
	turns    map[change.Ref][]int // by message
	calls    *Calls               // see [BaseCase.Calls]
	findings Findings

	asked  *APIError            // what [BaseCase.Ask] was given
	remake func(*APIError) Case // nil before that
}

// NewBaseCase returns the case of a session by what is sent of it next, and what is refused of that. Its rules are those of the engine.
func NewBaseCase(q request.Request, refused []request.Violation) (c BaseCase) {
	c.Examine(nil, change.Ref{}, &Rules{all: engineRules()}, q, refused, nil, "")
	return c
}

// Examine finds what is wrong: faults that no request shows, and then what is refused of the next request. self is the case that has the
// BaseCase, session is where a fault is that is at no record, and newer is [Findings].Newer.
func (c *BaseCase) Examine(self Session, session change.Ref, t *Rules, q request.Request, refused []request.Violation, faults []Finding, newer string) {
	*c = BaseCase{self: self, session: session, rules: t, request: q, refused: refused, turns: map[change.Ref][]int{}}
	c.findings.Newer = newer
	for i, t := range q.Turns {
		for _, ref := range t.Messages {
			c.turns[ref] = append(c.turns[ref], i)
		}
	}
	for _, f := range faults {
		c.Report(f)
	}
	for _, v := range refused {
		f := Finding{Code: v.Rule, Text: v.Message, Severity: Broken, Unknown: BesideUnknown(q, v)}
		switch {
		case len(v.Refs) > 0:
			f.Ref = v.Refs[0]
		case v.Block != nil && v.Block.Source == nil:
			continue // of what the agent adds
		}
		if v.Block != nil {
			f.Block, f.Detail = v.Block.Index, fmt.Sprint(v.Block.Index)
		}
		c.Report(f)
	}
}

// Ask adds what only an error shows, unless it is nil. remake returns the case of the same state with what another error shows.
func (c *BaseCase) Ask(asked *APIError, remake func(*APIError) Case) {
	if c.asked, c.remake = asked, remake; asked == nil {
		return
	}
	for _, f := range Asked(c.self, *asked) {
		c.Report(f)
	}
}

// Asked returns the error that the case was given, nil for none.
func (c *BaseCase) Asked() *APIError { return c.asked }

// Report adds a finding. Without a severity it has that of its rule.
func (c *BaseCase) Report(f Finding) {
	x := c.fault(f)
	f.Class, f.Tier, f.Severity = x.Class, x.Tier, cmp.Or(f.Severity, x.Rule.Severity)
	c.findings.Add(InUse, f)
}

func (c *BaseCase) fault(f Finding) *Fault {
	if c.self == nil {
		return c.rules.Fault(c, f)
	}
	return c.rules.Fault(c.self, f)
}

// Findings implements [Case].
func (c *BaseCase) Findings() *Findings { return &c.findings }

// Describe implements [Case].
func (c *BaseCase) Describe(f Finding) Diagnosis {
	x := c.fault(f)
	d := x.Describe()
	if f.Severity == Latent && !x.Rule.Asked { // the version in use goes on
		d.Healed = x.Rule.Healed
	}
	if d.Ref == (change.Ref{}) {
		d.Ref = c.session
	}
	return d
}

// Fixes implements [Case].
func (c *BaseCase) Fixes(f Finding) ([]Fix, error) { return c.fault(f).Fixes(), nil }

// Next implements [Session].
func (c *BaseCase) Next() (request.Request, []request.Violation) { return c.request, c.refused }

// Sent implements [Case].
func (c *BaseCase) Sent(int) (request.Request, []request.Violation) { return c.request, c.refused }

// Settings returns the only one.
func (c *BaseCase) Settings() []Setting { return []Setting{{}} }

// Stored implements [Session].
func (c *BaseCase) Stored(ref change.Ref) (m Stored) {
	ref = messageRef(ref)
	var step []*request.Block
	for _, i := range c.turns[ref] {
		t := c.request.Turns[i]
		m.Ref, m.Role, m.Summary = ref, t.Role, t.Summary
		step = append(step, t.Blocks...)
	}
	if m.Ref == ref {
		m.Steps = [][]*request.Block{step}
	}
	return m
}

// Messages implements [Session].
func (c *BaseCase) Messages() (refs []change.Ref) {
	for _, t := range c.request.Turns {
		refs = append(refs, t.Messages...)
	}
	return slices.Compact(refs)
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

// Current implements [Case].
func (c *BaseCase) Current() (request.Request, []request.Violation) { return c.request, c.refused }

// Calls implements [Session].
func (c *BaseCase) Calls() Calls {
	if c.calls == nil {
		calls := PairCalls(c.request.Blocks)
		c.calls = &calls
	}
	return *c.calls
}

// Texts implements [Session].
func (c *BaseCase) Texts() Texts { return TextsOf(Request{}) }

// Busy implements [Case].
func (*BaseCase) Busy() string { return "" }

// UnknownProvider implements [Case].
func (*BaseCase) UnknownProvider() string { return "" }

// Window implements [Case].
func (*BaseCase) Window() int { return 0 }

// LastError implements [Case].
func (*BaseCase) LastError() []byte { return nil }

// Asking implements [Case].
func (c *BaseCase) Asking(e APIError) Case {
	if c.remake == nil {
		return nil
	}
	return c.remake(&e)
}

// Reset implements [Case].
func (c *BaseCase) Reset() Case {
	if c.asked == nil {
		return nil
	}
	return c.remake(nil)
}

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
	// position, removes it, or gives a call and its results another id.
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
