package repair

import (
	"slices"
	"time"

	"mend/agent/opencode/render"
	"mend/provider/anthropic"
	"mend/request"
	"mend/session"
)

// A chart is a session under examination, with what holds for all of it.
type chart struct {
	s        *session.Session
	renderer *render.Renderer
	settings []setting // the one in use first
	missing  func(path string) bool
	reads    func(request.Model, string) (reads, known bool)
	now      time.Time   // when the next prompt is typed; see [Options]
	asked    []Class     // which of the rules that want to be asked for are
	tool     string      // the name of the tool that an error is about
	file     session.Ref // the record with the file that an error blames
	stay     bool        // files of the user's own are left where they are
	told     bool        // the options say whether the model is asked to think
	texts    texts

	places   map[string]int // see [chart.message]
	parts    map[session.Ref]int
	blind    map[string]string   // see [chart.hidden]
	reading  *render.View        // see [chart.read]
	requests []rendered          // see [chart.render]
	screened *[]render.Failure   // see [chart.screen]
	knows    *known              // see [chart.known]
	edited   *known              // what the draft tells in which messages are completed, nil for none
	looped   *map[string]bool    // see [chart.loop]
	surveyed *survey             // see [chart.survey]
	files    *[]fault            // see [findFiles]
	fileAt   map[session.Ref]int // the places of the session's files
	// origin is under which refs records that got other ids were found at first.
	origin map[session.Ref]session.Ref

	newest string // the message id of the newest answer
	busy   bool   // the agent still writes it

	unread bool // by any version of OpenCode; see [Options]
}

// texts is what is written into a session.
type texts struct{ placeholder, cancelled string }

func defaultTexts() texts {
	return texts{placeholder: "[user interrupted]", cancelled: "Operation cancelled by user (ESC pressed)"}
}

// newChart makes the chart of a session. With force the newest answer is looked
// at although the session is busy.
func newChart(s *session.Session, o Options, force bool, asked ...Class) *chart {
	c := &chart{s: s, renderer: &render.Renderer{}, settings: o.settings(s), missing: o.Missing, reads: o.Reads, now: o.Typed(), unread: o.Foreign, asked: asked, told: o.Thinking != nil, texts: defaultTexts()}
	c.origin = map[session.Ref]session.Ref{}
	c.busy = !force && Busy(s, o.Now, o.Held)
	return c.of(s)
}

// of is the same chart for the session as it is by now.
func (c *chart) of(s *session.Session) *chart {
	n := *c
	n.s, n.newest = s, ""
	n.places, n.parts, n.blind, n.reading, n.requests, n.screened, n.looped, n.surveyed, n.knows, n.edited, n.files, n.fileAt = nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil
	if m := s.LatestAssistant(); m != nil {
		n.newest = m.Ref.Message
	}
	return &n
}

// anew is the chart in the settings that the options mean for the session as it
// is by now.
func (c *chart) anew(o Options) *chart {
	n := *c
	if n.settings = o.settings(c.s); n.settings[own] != c.settings[own] {
		n.surveyed, n.looped, n.files = nil, nil, nil
	}
	return &n
}

// first is the ref under which the record was found at first.
func (c *chart) first(ref session.Ref) session.Ref {
	if was, ok := c.origin[ref]; ok {
		return was
	}
	return ref
}

// keyAtFirst is the key that the finding had, or would have had, at first.
func (c *chart) keyAtFirst(f finding) key { return f.at(c.first(f.ref)) }

// screen is what keeps newer agents from showing the session, besides the stores
// of other tools.
func (c *chart) screen() []render.Failure {
	if c.screened == nil && c.unread {
		c.screened = &[]render.Failure{}
	}
	if c.screened == nil {
		found := slices.DeleteFunc(c.read().Screen(render.ProfileFor("")), func(f render.Failure) bool {
			return f.Code != render.FailureScreen || c.foreign(f.Ref) // the others are in the request's
		})
		c.screened = &found
	}
	return *c.screened
}

// known is what the records of the session tell.
func (c *chart) known() *known {
	if c.knows == nil {
		c.knows = &known{s: c.s}
	}
	return c.knows
}

func (c *chart) asks(class Class) bool { return slices.Contains(c.asked, class) }

// read is the session as the agent reads it.
func (c *chart) read() *render.View {
	if c.reading == nil {
		c.reading = c.renderer.Read(c.s)
	}
	return c.reading
}

// A rendered request is what an agent of the profile's version will send.
type rendered struct {
	render.Request
	profile render.Profile
}

// render is the request that an agent of the profile's version will send.
func (c *chart) render(p render.Profile) render.Request {
	for i := range c.requests {
		if c.requests[i].profile == p {
			return c.requests[i].Request
		}
	}
	r := c.read().Render(render.Settings{Profile: p, Now: c.now, Missing: c.missing, Reads: c.reads})
	c.requests = append(c.requests, rendered{r, p})
	return r
}

// violations is what the provider will refuse of that request.
func (c *chart) violations(set setting) []request.Violation {
	return c.read().Check(anthropic.Provider{}, c.render(set.profile), set.thinking)
}

// settings are all ways in which the session may be sent: that of the options
// first, then every profile with thinking on and off, unless another program reads it.
func (o Options) settings(s *session.Session) []setting {
	use := setting{render.ProfileFor(o.Version), Thinks(s)}
	if o.Thinking != nil {
		use.thinking = *o.Thinking
	}
	all := []setting{use}
	if o.Foreign {
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
func Thinks(s *session.Session) bool {
	newest := s.LatestAssistant()
	return newest != nil && slices.ContainsFunc(s.Messages, func(m session.Message) bool {
		return m.Role == session.RoleAssistant && m.ProviderID == newest.ProviderID && m.ModelID == newest.ModelID && m.HasThinking()
	})
}

// loopOpen reports whether the tool loop of the newest answer is open: nothing
// was said behind its calls and its results.
func loopOpen(s *session.Session) bool {
	n := len(s.Messages) - 1
	if n < 0 || s.Messages[n].Role != session.RoleAssistant || s.Messages[n].Finished() {
		return false
	}
	m := &s.Messages[n]
	last := lastOf(m.Parts, func(p *session.Part) bool { return speaks(m, p) || p.IsThinking() })
	return last == nil || last.Type != session.TypeText || anyOf(stepOf(m, last.Ref), (*session.Part).IsTool)
}

// abortedError is the name of the error of an answer that the user ended.
const abortedError = "MessageAbortedError"

// sent reports whether the message goes out to the model. An answer that failed
// does not, unless the user aborted it and it holds more than a step's start and
// thinking (docs/opencode.md, "What becomes of a record in the request").
func sent(m *session.Message) bool {
	return !m.Failed || m.ErrorName == abortedError && anyOf(m.Parts, func(p *session.Part) bool {
		return p.Type != session.TypeStepStart && p.Type != session.TypeReasoning
	})
}

// message is the message that the ref is, or is in; nil if there is none.
func (c *chart) message(ref session.Ref) *session.Message {
	if c.places == nil {
		c.places = placesOf(c.s)
	}
	i, ok := c.places[ref.Message]
	if !ok || ref.Message == "" {
		return nil
	}
	return &c.s.Messages[i]
}

// placesOf are the places of the session's messages, by the ids in their refs.
func placesOf(s *session.Session) map[string]int {
	at := make(map[string]int, len(s.Messages))
	for i := len(s.Messages) - 1; i >= 0; i-- { // the first counts
		at[s.Messages[i].Ref.Message] = i
	}
	return at
}

// part is the part that is stored under ref, with its message; nil if there is none.
func (c *chart) part(ref session.Ref) (*session.Message, *session.Part) {
	m := c.message(ref)
	if m == nil || ref.Kind != session.KindPart {
		return m, nil
	}
	if c.parts == nil {
		c.parts = placesOfParts(c.s)
	}
	if at, ok := c.parts[ref]; ok && at < len(m.Parts) && m.Parts[at].Ref == ref {
		return m, &m.Parts[at]
	}
	return m, nil
}

// placesOfParts are the places of the session's parts in their messages.
func placesOfParts(s *session.Session) map[session.Ref]int {
	at := map[session.Ref]int{}
	for i := range s.Messages {
		m := &s.Messages[i]
		for j := len(m.Parts) - 1; j >= 0; j-- { // the first counts
			at[m.Parts[j].Ref] = j
		}
	}
	return at
}
