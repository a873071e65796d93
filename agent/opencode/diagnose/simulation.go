package diagnose

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/agent/opencode/schema"
	"mend/change"
	"mend/internal/request"
	"mend/repair"
)

// A simulation is one state of a session with the requests that the agent will send for it. They are made
// on first use. It is not safe for concurrent use.
type simulation struct {
	s        *record.Session
	request  repair.Request
	env      Environment
	settings []setting // the one in use first
	now      time.Time // the time of the next prompt; see [repair.Options]
	texts    repair.Texts
	asked    *repair.APIError // the error in whose settings the session is sent; nil for its own settings

	ownTarget func(request.Model) render.Target // from the environment; an error does not change it

	newest string // the message id of the newest answer
	busy   bool   // the agent is still writing it

	cache
}

// cache has the cached results about one state of a session.
type cache struct {
	cachedIndex  *index                        // see [simulation.index]
	stored       repair.Stored                 // see [simulation.Stored]
	blind        map[string]string             // see [simulation.whyHidden]
	cachedView   *render.View                  // see [simulation.view]
	requests     []settingRequest              // see [simulation.render]
	cachedScreen *[]render.Failure             // see [simulation.screen]
	readable     []*record.Message             // see [simulation.readableMessages]
	contexts     map[change.Ref]schema.Context // see [simulation.messageContext]
}

// An Environment has the inputs of a diagnosis besides the session and the request.
type Environment struct {
	// Agent is the name of the program that uses the store, in texts; "" for OpenCode.
	Agent string
	Held  time.Time // the start of the oldest process that has the store open; zero for none
	Free  bool      // it is certain that no process has the store open
	// CanRead reports whether a model accepts files of a kind, see [render.Settings]. If unknown, a file that the
	// provider would refuse is latent.
	CanRead func(m request.Model, kind string) (reads, known bool)
	// Window returns the context window of a model in tokens, 0 if unknown.
	Window func(m request.Model) int
	// Target returns where the requests of a model go; see [render.Settings]. nil means the built-in
	// knowledge of well-known providers.
	Target func(m request.Model) render.Target
	// Missing reports whether a path does not exist, see [render.Settings].
	Missing func(path string) bool
	// Folder returns why the agent cannot use a session's folder, one of the constants; "" if it can, or
	// if that is unknown.
	Folder func(path string) string
	// Places returns the folders where the content of the session's missing folder may be now, best first; certain means
	// that only the first has the same repository. nil if none is known.
	Places func() (all []string, certain bool)
}

// openCode matches the name of OpenCode, with a digit if a version follows.
var openCode = regexp.MustCompile(`OpenCode( [0-9])?`)

// Rebrand returns a text about OpenCode with the name of the program that uses the store. Statements about
// versions of OpenCode stay.
func (e Environment) Rebrand(text string) string {
	if e.Agent == "" || e.Agent == "OpenCode" || !strings.Contains(text, "OpenCode") {
		return text
	}
	return openCode.ReplaceAllStringFunc(text, func(name string) string {
		if name == "OpenCode" {
			return e.Agent
		}
		return name
	})
}

// A Diagnosis is the result of diagnosing a session, with the model and the provider that it is for.
type Diagnosis struct {
	Found  []repair.Diagnosis
	Model  request.Model // of the next prompt
	Target render.Target // where the next prompt goes
}

// Diagnose returns the diagnosis of a session, see [repair.Diagnose].
func Diagnose(s *record.Session, o repair.Options, e Environment) Diagnosis {
	c := New(s, repair.Request{Options: o}, e)
	r := stateOf(c).render(stateOf(c).settings[own])
	return Diagnosis{repair.Diagnose(c), r.Model, r.Target}
}

func newSimulation(s *record.Session, r repair.Request, e Environment) *simulation {
	c := &simulation{s: s, request: r, env: e, now: r.Now, texts: repair.TextsOf(r)}
	if c.env.Target == nil {
		c.env.Target = render.WellKnown
	}
	if c.env.Places == nil {
		c.env.Places = func() ([]string, bool) { return nil, false }
	}
	if c.env.Folder == nil {
		c.env.Folder = func(string) string { return "" }
	}
	c.ownTarget = c.env.Target
	c.busy = !r.Force && c.whyBusy() != ""
	c = c.withSession(s)
	c.settings = c.settingsFor(s)
	return c
}

// whyBusy returns why the session is in use, "" if it is not.
func (c *simulation) whyBusy() string {
	return WhyBusy(c.s, c.request.Now, c.env.Held, c.env.Free)
}

// withSession returns the simulation of another state of the session.
func (c *simulation) withSession(s *record.Session) *simulation {
	n := *c
	n.s, n.newest, n.cache = s, "", cache{}
	if m := s.LatestAssistant(); m != nil {
		n.newest = m.Ref.Message
	}
	return &n
}

// screen returns why newer versions cannot show the session.
func (c *simulation) screen() []render.Failure {
	if c.cachedScreen == nil {
		found := c.view().Screen(c.newestProfile())
		c.cachedScreen = &found
	}
	return *c.cachedScreen
}

// screenFailures returns why newer versions cannot show the session, except because of parts that only
// other tools write.
func (c *simulation) screenFailures() (found []render.Failure) {
	for _, f := range c.screen() {
		if f.Code == render.FailureScreen && !c.isForeign(f.Ref) { // other failures are findings of the request
			found = append(found, f)
		}
	}
	return found
}

// view returns the session as the agent reads it.
func (c *simulation) view() *render.View {
	if c.cachedView == nil {
		c.cachedView = render.Read(c.s)
	}
	return c.cachedView
}

// A settingRequest is the request of a setting.
type settingRequest struct {
	render.Request
	setting
}

// render returns the request of a setting. It does not depend on whether the model thinks.
func (c *simulation) render(set setting) render.Request {
	set.thinking = false
	for i := range c.requests {
		if c.requests[i].setting == set {
			return c.requests[i].Request
		}
	}
	s := render.Settings{
		Profile: set.profile, Now: c.now, Missing: c.env.Missing, CanRead: c.env.CanRead,
		Target: c.env.Target,
	}
	s.Model, s.Version = c.request.Model, c.request.Version
	r := c.view().Render(s)
	if c.newer() != "" {
		c.markUnknown(r.Turns)
	}
	c.requests = append(c.requests, settingRequest{r, set})
	return r
}

func (c *simulation) violations(set setting) []request.Violation {
	r := c.render(set)
	return render.Check(ProviderOf(r), r, set.thinking)
}

// settingsFor returns the setting in use, followed by the others where a fix must hold: the newest version, or with
// [repair.Options].AllSettings or Latent all versions, and for Anthropic's API each with thinking on and off.
func (c *simulation) settingsFor(s *record.Session) []setting {
	use := setting{profile: render.ProfileFor(c.request.Version)}
	use.thinking = LikelyThinks(s, c.render(use).Target)
	if c.request.Thinking != nil {
		use.thinking = *c.request.Thinking
	}
	all := []setting{use}
	profiles := []render.Profile{use.profile, c.newestProfile()}
	if (c.request.AllSettings || c.request.Latent) && !use.profile.IsKilo() {
		profiles = append(profiles, render.Profiles()...)
	}
	switches := c.render(use).API == render.Anthropic
	for _, p := range profiles {
		for _, thinking := range [...]bool{use.thinking, !use.thinking} {
			if set := (setting{p, thinking}); !slices.Contains(all, set) && (thinking == use.thinking || switches) {
				all = append(all, set)
			}
		}
	}
	return all
}

// newestProfile returns the profile of the newest version of the program in use.
func (c *simulation) newestProfile() render.Profile {
	if p := render.ProfileFor(c.request.Version); p.IsKilo() {
		return p
	}
	return render.ProfileFor("")
}

// LikelyThinks reports whether the next request, which goes to t, most likely asks the model to think: the settings turn
// thinking on, or some answer of the model that wrote the newest answer has thinking. A model that can think does not
// always do so, so the newest answer alone is not enough.
func LikelyThinks(s *record.Session, t render.Target) bool {
	newest := s.LatestAssistant()
	return t.Thinks || newest != nil && slices.ContainsFunc(s.Messages, func(m record.Message) bool {
		return m.Role == change.RoleAssistant && m.ProviderID == newest.ProviderID && m.ModelID == newest.ModelID &&
			m.HasThinking()
	})
}

// isLoopOpen reports whether the tool loop of the newest answer is open: no text follows its calls.
func isLoopOpen(s *record.Session) bool {
	n := len(s.Messages) - 1
	if n < 0 || s.Messages[n].Role != change.RoleAssistant || s.Messages[n].IsFinished() {
		return false
	}
	m := &s.Messages[n]
	last := lastOf(m.Parts, func(p *record.Part) bool { return hasContent(m, p) || p.IsThinking() })
	return last == nil || last.Type != record.TypeText || anyOf(stepOf(m, last.Ref), (*record.Part).IsTool)
}

// index returns the index of the session's records.
func (c *simulation) index() *index {
	if c.cachedIndex == nil {
		c.cachedIndex = newIndex(c.s)
	}
	return c.cachedIndex
}

// message returns the message with the ref, or the message of the part with the ref; or nil.
func (c *simulation) message(ref change.Ref) *record.Message { return c.index().message(ref) }

// part returns the part with the ref and its message; or nil.
func (c *simulation) part(ref change.Ref) (*record.Message, *record.Part) {
	m := c.message(ref)
	if m == nil || ref.Kind != change.KindPart {
		return m, nil
	}
	if at := c.index().part(m, ref); at >= 0 {
		return m, &m.Parts[at]
	}
	return m, nil
}
