package repair

import (
	"slices"

	"mend/change"
	"mend/internal/request"
)

// A State is one state of a session as its agent understands it. An agent implements it and an [Editor]. A State does
// not change. Its methods must not be called concurrently. An agent embeds [BaseState].
type State interface {
	// Stored returns the stored message of a record; it has no steps if the message does not exist.
	Stored(ref change.Ref) Stored
	// Messages returns the refs of the messages in order.
	Messages() []change.Ref
	// Prompts returns the refs of the messages that the user typed.
	Prompts() []change.Ref
	// Records calls yield for every record that a fix may change, in the order of the session: a message comes
	// before its parts.
	Records(yield func(*change.Record) bool)

	// Send returns the agent's next request in a setting. A State may cache it until Release.
	Send(set Setting) Sent
	// Faults returns the findings that neither the request nor an agent's [Rule] with Find shows, such as a record that
	// cannot be read.
	Faults() []Finding
	// Release drops cached requests. The engine calls it when it has the findings.
	Release()
	// Refuses returns why a finding must not be fixed; nil if it may be.
	Refuses(f Finding) *RefusalError
	// Edit returns a copy for fixes to edit.
	Edit() Editor
}

// BaseState is embedded in a [State] without faults, cached requests and refusals.
type BaseState struct{}

// Faults implements [State].
func (BaseState) Faults() []Finding { return nil }

// Release implements [State].
func (BaseState) Release() {}

// Refuses implements [State].
func (BaseState) Refuses(Finding) *RefusalError { return nil }

// Sent is an agent's request for a session in a setting.
type Sent struct {
	Request request.Request // as it would be after a repair of findings for which the agent omits content
	Refused []request.Violation
	// Findings are the violations at stored records; see [FindingsOf]. A finding without a severity is broken.
	Findings []Finding
	// Unfinished is the newest answer if its calls have results and the agent continues it.
	Unfinished change.Ref
	Fails      bool // the agent fails before it sends the request, so that some of its findings may be hidden
	// Now returns the request that the agent sends without further repairs, and its violations; nil if it is Request. A
	// violation without a place means that the agent sends no request.
	Now             func() (request.Request, []request.Violation)
	UnknownProvider string // the name of the provider if mend does not know its rules and used those of Anthropic
}

// A Setting is one way to send a session.
type Setting struct {
	Version  string // the tested version whose behavior is assumed for the version in use
	Thinking bool   // the model is asked to think
}

// A Context has the values about a session that the engine needs besides its state. Only Session is required.
type Context struct {
	Session   change.Ref // the session as a whole, for findings that are at no record
	Rules     *Rules     // nil for the rules of the engine alone
	Texts     Texts
	Busy      string                  // the process that uses the session, and what the user can do; "" for none
	Newer     string                  // the agent's name and version if mend knows only older versions; else ""
	Window    func(request.Model) int // the context window of a model in tokens; 0 if unknown
	LastError []byte                  // the stored error with which the newest answer failed; nil if it did not fail

	// Settings returns the settings that a fix of the state is tested in. The first is the setting in use or, if e is
	// not nil, the one in which that error occurred. The returned state is the same session, prepared for these
	// settings.
	Settings func(s State, e *APIError) (State, []Setting)
	All      bool    // findings in other settings than the one in use count, too
	Asked    []Class // the user asks for all findings of these classes

	// OfRequest reports whether findings with the code are about a request: if the agent fails before it makes one,
	// they may be hidden.
	OfRequest func(code string) bool
	// Writing reports whether a finding is about content that the agent is still writing.
	Writing func(s State, f Finding) bool
	// Ask completes a finding that only an error reveals, and reports whether the finding applies to the block.
	Ask func(s State, f *Finding, b *request.Block) bool
	// Rebrand returns a sentence in which the name of the program that uses the store replaces the agent's.
	Rebrand func(text string) string
	// Describe completes the diagnosis of a finding.
	Describe func(x *Fault, d *Diagnosis)
	// Renamed returns the new refs of records that were renamed since an earlier state, by old ref.
	Renamed func(before, after State) map[change.Ref]change.Ref
	// ForkBefore says, in a sentence, how the user can continue in a new session without a prompt and everything after
	// it; "" if the provider refuses the rest, too.
	ForkBefore func(s State, prompt change.Ref) string
}

// Turns is embedded in a [State] if each turn of a request consists of stored messages. It implements all methods
// except Records and Edit.
type Turns struct {
	BaseState

	request request.Request
	refused []request.Violation
	at      map[change.Ref][]int // by message
	newest  Stored               // the last result of Stored
}

// NewTurns returns the turns of a request, and its violations.
func NewTurns(q request.Request, refused []request.Violation) Turns {
	t := Turns{request: q, refused: refused, at: map[change.Ref][]int{}}
	for i, turn := range q.Turns {
		for _, ref := range turn.Messages {
			t.at[ref] = append(t.at[ref], i)
		}
	}
	return t
}

// Send implements [State]. It ignores the setting.
func (t *Turns) Send(Setting) Sent {
	return Sent{Request: t.request, Refused: t.refused, Findings: FindingsOf(t.request, t.refused)}
}

// Stored implements [State].
func (t *Turns) Stored(ref change.Ref) (m Stored) {
	if ref = messageRef(ref); ref == t.newest.Ref {
		return t.newest
	}
	var step []*request.Block
	for _, i := range t.at[ref] {
		turn := t.request.Turns[i]
		m.Ref, m.Role, m.Summary = ref, turn.Role, turn.Summary
		step = append(step, turn.Blocks...)
	}
	if m.Ref == ref {
		m.Steps = [][]*request.Block{step}
		m = m.WithIndex()
		t.newest = m
	}
	return m
}

// Messages implements [State].
func (t *Turns) Messages() (refs []change.Ref) {
	for _, turn := range t.request.Turns {
		refs = append(refs, turn.Messages...)
	}
	return slices.Compact(refs)
}

// Prompts implements [State].
func (t *Turns) Prompts() (refs []change.Ref) {
	for _, turn := range t.request.Turns {
		if turn.Role == change.RoleUser {
			refs = append(refs, turn.Messages...)
		}
	}
	return refs
}
