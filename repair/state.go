package repair

import (
	"slices"

	"mend/change"
	"mend/internal/request"
)

// A State is one state of a session as its agent understands it: what an agent has to write, with an [Editor]. It
// does not change. Its methods are not called concurrently. An agent embeds [BaseState].
type State interface {
	// Stored returns what is stored of the message of a record; with no steps if there is none.
	Stored(ref change.Ref) Stored
	// Messages returns the refs of the messages in their order.
	Messages() []change.Ref
	// Prompts returns the refs of the messages that the user typed.
	Prompts() []change.Ref
	// Records calls yield for every record that a fix may change, in the order of the session: each message is followed
	// by its parts.
	Records(yield func(*change.Record) bool)

	// Send returns what the agent sends next in a setting. A State may keep it until Release.
	Send(set Setting) Sent
	// Faults returns what is wrong, and neither a request nor a rule shows; see [Rule].Find.
	Faults() []Finding
	// Release drops what was kept of requests: the findings are known now.
	Release()
	// Refuses returns why nothing may be changed to fix a finding; nil if it may.
	Refuses(f Finding) *RefusalError
	// Edit returns a copy that fixes can change.
	Edit() Editor
}

// BaseState is embedded in a [State]. It is one in which the request shows all.
type BaseState struct{}

// Faults implements [State].
func (BaseState) Faults() []Finding { return nil }

// Release implements [State].
func (BaseState) Release() {}

// Refuses implements [State].
func (BaseState) Refuses(Finding) *RefusalError { return nil }

// Sent is what an agent sends of a session in a setting.
type Sent struct {
	Request request.Request // as it is when all that an agent leaves out because of a fault is repaired
	Refused []request.Violation
	// Findings are what is refused of it, as far as a record is at fault; see [FindingsOf]. Without a severity they have
	// that of their rule, or else are broken.
	Findings []Finding
	// Unfinished is the newest answer if its calls have results and the agent continues it.
	Unfinished change.Ref
	Fails      bool // the agent fails before it sends the request, so that some of what is wrong with it may be hidden
	// Now returns the request that the agent makes without further repairs, and what is refused of it; nil for the same.
	// A violation without a place says that the agent makes none.
	Now             func() (request.Request, []request.Violation)
	UnknownProvider string // the name of the provider if mend knows no rules of it, and checked it by those of Anthropic
}

// A Setting is one way in which a session may be sent.
type Setting struct {
	Version  string // of the agent: one that tests have run, and like which the one in use is judged
	Thinking bool   // the model is asked to think
}

// A Context is what the engine needs to know of a session besides its state. All but Session may be left out.
type Context struct {
	Session   change.Ref // the session as a whole, where a fault is that is at no record
	Rules     *Rules     // nil for the rules of the engine alone
	Texts     Texts
	Busy      string                  // which process uses the session, and what the user can do; "" for none
	Newer     string                  // see [Findings]
	Window    func(request.Model) int // the context window of a model in tokens; 0 if it is not known
	LastError []byte                  // the stored error with which the newest answer failed; nil if it did not fail

	// Settings returns the ways to send a state in which a fix has to hold, the one in use first: that in which an error
	// occurred, if there is one. The state that it returns is the same one, as it is sent in these settings.
	Settings func(s State, e *APIError) (State, []Setting)
	All      bool    // what is wrong in another setting than the one in use is a finding, too
	Asked    []Class // the user asks for all that is of these classes

	// OfRequest reports whether a code is of what is wrong with a request: it may be hidden where the agent fails before.
	OfRequest func(code string) bool
	// Writing reports whether a finding is of what the agent is still writing.
	Writing func(s State, f Finding) bool
	// Ask completes a finding that only an error shows, at a block, and reports whether it is one.
	Ask func(s State, f *Finding, b *request.Block) bool
	// Says returns a sentence with the name of the program that uses the store.
	Says func(text string) string
	// Describe completes the diagnosis of a finding.
	Describe func(x *Fault, d *Diagnosis)
	// Renamed returns the refs of records that had other refs in an earlier state, by their earlier refs.
	Renamed func(before, after State) map[change.Ref]change.Ref
	// ForkBefore says how the user can continue in a new session without a prompt and what follows it, as a sentence; ""
	// if the provider refuses what is before it, too.
	ForkBefore func(s State, prompt change.Ref) string
}

// Turns is embedded in a [State] of an agent of which each turn is of stored messages: it answers for what the
// next request shows.
type Turns struct {
	BaseState

	request request.Request
	refused []request.Violation
	at      map[change.Ref][]int // by message
}

// NewTurns returns the turns of a request, and what is refused of it.
func NewTurns(q request.Request, refused []request.Violation) Turns {
	t := Turns{request: q, refused: refused, at: map[change.Ref][]int{}}
	for i, turn := range q.Turns {
		for _, ref := range turn.Messages {
			t.at[ref] = append(t.at[ref], i)
		}
	}
	return t
}

// Next returns the request, and what is refused of it.
func (t *Turns) Next() (request.Request, []request.Violation) { return t.request, t.refused }

// Send implements [State], whatever the setting.
func (t *Turns) Send(Setting) Sent {
	return Sent{Request: t.request, Refused: t.refused, Findings: FindingsOf(t.request, t.refused)}
}

// Stored implements [State].
func (t *Turns) Stored(ref change.Ref) (m Stored) {
	ref = messageRef(ref)
	var step []*request.Block
	for _, i := range t.at[ref] {
		turn := t.request.Turns[i]
		m.Ref, m.Role, m.Summary = ref, turn.Role, turn.Summary
		step = append(step, turn.Blocks...)
	}
	if m.Ref == ref {
		m.Steps = [][]*request.Block{step}
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
