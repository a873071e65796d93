package diagnose

import (
	"slices"
	"time"

	"mend/agent/opencode/js"
	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/provider/anthropic"
	"mend/repair"
	"mend/request"
	"mend/session"
)

// A simulation is one state of a session, with the requests that the agent will send for
// it, which are made when they are first needed. It is not safe for concurrent use.
type simulation struct {
	s         *record.Session
	renderer  *render.Renderer
	request   repair.Request
	env       Environment
	settings  []setting      // the one in use first
	now       time.Time      // when the next prompt is typed; see [repair.Options]
	requested []repair.Class // which of the rules that want to be asked for are
	blamed    bool           // asked by an API error
	tool      string         // the name of the tool that an error is about
	file      session.Ref    // the record with the file that an error blames
	texts     injectedTexts

	places       map[string]int // see [simulation.message]
	parts        partIndex
	blind        map[string]string   // see [simulation.whyHidden]
	cachedView   *render.View        // see [simulation.view]
	requests     []rendered          // see [simulation.render]
	cachedScreen *[]render.Failure   // see [simulation.screenFailures]
	cachedFacts  *facts              // see [simulation.known]
	draftFacts   *facts              // what the draft tells in which messages are completed, nil for none
	cachedLoop   *map[string]bool    // see [simulation.loopIDs]
	findings     *repair.Findings    // see [simulation.Findings]
	files        *[]fault            // see [findFiles]
	fileAt       map[session.Ref]int // the places of the session's files

	locked *bool // see [simulation.hasLocked]

	newest string // the message id of the newest answer
	busy   bool   // the agent still writes it
}

var (
	_ repair.Case     = (*simulation)(nil)
	_ repair.Renamer  = (*simulation)(nil)
	_ repair.Releaser = (*simulation)(nil)
	_ repair.Resetter = (*simulation)(nil)
	_ repair.Blamer   = (*simulation)(nil)
	_ repair.Forker   = (*simulation)(nil)
)

// An Environment is what a diagnosis needs to know besides the session and the request.
type Environment struct {
	Held time.Time // the start of the oldest process that has the store open; zero: there is none
	// Foreign says that no version of OpenCode reads the store: what would be latent is
	// left out, since that is judged by other versions and their screen.
	Foreign bool
	// Reads tells whether a model takes files of a kind; see [render.Settings]. A file that
	// the provider would refuse is latent where that is not known.
	Reads func(m request.Model, kind string) (reads, known bool)
	// Window returns the context window of a model in tokens, 0 if that is not known.
	Window func(m request.Model) int
	// Missing tells whether nothing is at a path; see [render.Settings].
	Missing func(path string) bool
}

// New returns the case of a session for a request. Unless the request has Force, the
// newest answer of a busy session is not examined, since the agent still writes it.
func New(s *record.Session, r repair.Request, e Environment) repair.Case {
	return newSimulation(s, r, e)
}

// Diagnose returns what is wrong with a session, as [repair.Diagnose] does, but without
// building its requests if the quick check finds it healthy.
func Diagnose(s *record.Session, o repair.Options, e Environment) []repair.Diagnosis {
	if quickCheck(s, o.Typed()) {
		return nil
	}
	return repair.Diagnose(New(s, repair.Request{Options: o}, e))
}

// injectedTexts is what is written into a session.
type injectedTexts struct{ placeholder, cancelled string }

func defaultTexts() injectedTexts {
	return injectedTexts{placeholder: "[user interrupted]", cancelled: "Operation cancelled by user (ESC pressed)"}
}

func textsOf(r repair.Request) injectedTexts {
	t := defaultTexts()
	if !js.Blank(r.Placeholder) {
		t.placeholder = r.Placeholder
	}
	if !js.Blank(r.Cancelled) {
		t.cancelled = r.Cancelled
	}
	return t
}

func newSimulation(s *record.Session, r repair.Request, e Environment) *simulation {
	c := &simulation{s: s, renderer: &render.Renderer{}, request: r, env: e, now: r.Typed(), requested: r.Classes, texts: textsOf(r)}
	c.settings = c.settingsFor(s)
	c.busy = !r.Force && c.Busy()
	return c.withSession(s)
}

// Busy implements [repair.Case].
func (c *simulation) Busy() bool { return Busy(c.s, c.request.Now, c.env.Held) }

// withSession returns the simulation of another state of the session.
func (c *simulation) withSession(s *record.Session) *simulation {
	n := *c
	n.s, n.newest = s, ""
	n.parts = partIndex{}
	n.places, n.blind, n.cachedView, n.requests, n.cachedScreen, n.cachedLoop, n.findings, n.cachedFacts, n.draftFacts, n.files, n.fileAt, n.locked = nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil
	if m := s.LatestAssistant(); m != nil {
		n.newest = m.Ref.Message
	}
	return &n
}

// Release implements [repair.Releaser]. It is for all states of the session.
func (c *simulation) Release() {
	*c.renderer = render.Renderer{}
	c.cachedView, c.requests, c.cachedFacts, c.places, c.parts = nil, nil, nil, nil, partIndex{}
}

// Reset implements [repair.Resetter].
func (c *simulation) Reset() repair.Case {
	n := *c
	if c.blamed {
		n = *c.withSession(c.s)
		n.requested, n.blamed, n.tool, n.file = c.request.Classes, false, "", session.Ref{}
	}
	if n.settings = c.settingsFor(c.s); n.settings[own] != c.settings[own] {
		n.findings, n.cachedLoop, n.files = nil, nil, nil
	}
	return &n
}

// screenFailures returns what keeps newer agents from showing the session, besides the stores
// of other tools.
func (c *simulation) screenFailures() []render.Failure {
	if c.cachedScreen == nil && c.env.Foreign {
		c.cachedScreen = &[]render.Failure{}
	}
	if c.cachedScreen == nil {
		found := slices.DeleteFunc(c.view().Screen(render.ProfileFor("")), func(f render.Failure) bool {
			return f.Code != render.FailureScreen || c.isForeign(f.Ref) // the others are in the request's
		})
		c.cachedScreen = &found
	}
	return *c.cachedScreen
}

// known returns what the records of the session tell.
func (c *simulation) known() *facts {
	if c.cachedFacts == nil {
		c.cachedFacts = &facts{s: c.s}
	}
	return c.cachedFacts
}

func (c *simulation) isRequested(class repair.Class) bool { return slices.Contains(c.requested, class) }

// view returns the session as the agent reads it.
func (c *simulation) view() *render.View {
	if c.cachedView == nil {
		c.cachedView = c.renderer.Read(c.s)
	}
	return c.cachedView
}

// A rendered request is what an agent of the profile's version will send.
type rendered struct {
	render.Request
	profile render.Profile
}

// render returns the request that an agent of the profile's version will send.
func (c *simulation) render(p render.Profile) render.Request {
	for i := range c.requests {
		if c.requests[i].profile == p {
			return c.requests[i].Request
		}
	}
	r := c.view().Render(render.Settings{Profile: p, Now: c.now, Missing: c.env.Missing, Reads: c.env.Reads})
	c.requests = append(c.requests, rendered{r, p})
	return r
}

// violations returns what the provider will refuse of that request.
func (c *simulation) violations(set setting) []request.Violation {
	return c.view().Check(anthropic.Provider{}, c.render(set.profile), set.thinking)
}

// settingsFor returns all ways in which the session may be sent: that of the options
// first, then every profile with thinking on and off, unless another program reads it.
func (c *simulation) settingsFor(s *record.Session) []setting {
	use := setting{render.ProfileFor(c.request.Version), Thinks(s)}
	if c.request.Thinking != nil {
		use.thinking = *c.request.Thinking
	}
	all := []setting{use}
	if c.env.Foreign {
		return all
	}
	for _, p := range slices.Backward(render.Profiles()) {
		for _, thinking := range [...]bool{true, false} {
			if set := (setting{p, thinking}); set != use {
				all = append(all, set)
			}
		}
	}
	return all
}

// Thinks reports whether the next request most likely asks the model to think: an
// answer of the model that wrote the newest one holds thinking. The newest alone
// does not tell, since a model that may think need not.
func Thinks(s *record.Session) bool {
	newest := s.LatestAssistant()
	return newest != nil && slices.ContainsFunc(s.Messages, func(m record.Message) bool {
		return m.Role == session.RoleAssistant && m.ProviderID == newest.ProviderID && m.ModelID == newest.ModelID && m.HasThinking()
	})
}

// loopOpen reports whether the tool loop of the newest answer is open: nothing
// was said behind its calls and its results.
func loopOpen(s *record.Session) bool {
	n := len(s.Messages) - 1
	if n < 0 || s.Messages[n].Role != session.RoleAssistant || s.Messages[n].Finished() {
		return false
	}
	m := &s.Messages[n]
	last := lastOf(m.Parts, func(p *record.Part) bool { return hasContent(m, p) || p.IsThinking() })
	return last == nil || last.Type != record.TypeText || anyOf(stepOf(m, last.Ref), (*record.Part).IsTool)
}

// abortedError is the name of the error of an answer that the user ended.
const abortedError = "MessageAbortedError"

// isSent reports whether the message is sent to the model. An answer that failed
// does not, unless the user aborted it and it holds more than a step's start and
// thinking (docs/opencode.md, "What becomes of a record in the request").
func isSent(m *record.Message) bool {
	return !m.Failed || m.ErrorName == abortedError && anyOf(m.Parts, func(p *record.Part) bool {
		return p.Type != record.TypeStepStart && p.Type != record.TypeReasoning
	})
}

// message returns the message that the ref is, or is in; nil if there is none.
func (c *simulation) message(ref session.Ref) *record.Message {
	if c.places == nil {
		c.places = messageIndexes(c.s)
	}
	i, ok := c.places[ref.Message]
	if !ok || ref.Message == "" {
		return nil
	}
	return &c.s.Messages[i]
}

// messageIndexes returns the places of the session's messages, by the ids in their refs.
func messageIndexes(s *record.Session) map[string]int {
	at := make(map[string]int, len(s.Messages))
	for i := len(s.Messages) - 1; i >= 0; i-- { // the first counts
		at[s.Messages[i].Ref.Message] = i
	}
	return at
}

// part returns the part that is stored under ref, with its message; nil if there is none.
func (c *simulation) part(ref session.Ref) (*record.Message, *record.Part) {
	m := c.message(ref)
	if m == nil || ref.Kind != session.KindPart {
		return m, nil
	}
	if at := c.parts.find(m.Parts, ref); at >= 0 {
		return m, &m.Parts[at]
	}
	return m, nil
}
