package render

import (
	"slices"
	"strings"

	"mend/provider"
	"mend/request"
	"mend/session"
)

// A Renderer reads a session many times, before and after edits, and takes apart
// only the messages that have changed. Records are known by where their bytes are,
// which must not change: an edit replaces them.
//
// The zero Renderer is ready. It is for one session and the edits of its clones,
// and neither it nor its Readings are safe for several goroutines at once.
type Renderer struct {
	messages map[session.Ref]*message
	last     *View
}

// A Reading is a session as the agent reads it, of which it makes requests: one
// for each version, which rarely differ, and then cost next to nothing.
//
//	var r render.Renderer
//	of := r.Read(s)
//	for _, p := range render.Profiles() {
//		q := of.Render(render.Settings{Profile: p})
//		on, off := of.Check(anthropic.Provider{}, q, true), of.Check(q, false)
//		…
//	}
//
// The session must not change while there are requests to make. All of them must
// have the same [Settings].Missing and Reads.
type View struct {
	s        *session.Session
	messages []*message
	cache    *[]*cachedTurns
}

// Read reads the session.
func (r *Renderer) Read(s *session.Session) *View {
	is := &View{s: s, messages: make([]*message, len(s.Messages))}
	for i := range s.Messages {
		is.messages[i] = r.message(&s.Messages[i])
	}
	if r.last != nil && slices.Equal(is.messages, r.last.messages) {
		is.cache = r.last.cache
	} else {
		is.cache = new([]*cachedTurns)
	}
	r.last = is
	return is
}

// Render makes the request that OpenCode sends for the session when the user
// types one more prompt, or as it stands. It never fails: what the agent would
// die on is in the request's Fatal.
func Render(s *session.Session, set Settings) Request { return new(Renderer).Read(s).Render(set) }

// Render is like the function [Render]. Requests that do not differ share their
// Turns, so these must not be changed.
func (is *View) Render(set Settings) Request {
	if set.Profile.Version == "" {
		set.Profile = ProfileFor("")
	}
	g := newBuilder(set)
	g.fail(infoFailures(is.s, set.Profile)...)
	all := is.sorted(&set.Profile)
	if !set.NoPrompt {
		all = g.addPrompt(is.s, all)
	}
	if g.Model == (request.Model{}) {
		g.Model = g.nextModel(is.s, all)
	}
	g.claude = strings.Contains(g.Model.ModelID, "claude")
	contents := g.renderMessages(g.selectMessages(all))
	return Request{Request: request.Request{Model: g.Model, Turns: is.turns(g, contents).turns}, Failures: g.failures, Unseen: g.unseen}
}

// sorted are the messages, the oldest first.
func (is *View) sorted(p *Profile) []*message {
	if slices.IsSortedFunc(is.messages, p.compare) { // as most are for all versions
		return is.messages
	}
	all := slices.Clone(is.messages)
	slices.SortStableFunc(all, p.compare)
	return all
}

// Check is like the function [Check]. Rules are checked once for turns that this Reading
// rendered.
func (is *View) Check(p provider.Provider, q Request, thinking bool) []request.Violation {
	i := slices.IndexFunc(*is.cache, func(m *cachedTurns) bool { return sameTurns(m.turns, q.Turns) })
	if i < 0 {
		return Check(p, q, thinking)
	}
	return slices.Concat(q.failureViolations(), (*is.cache)[i].check(p, q.Request, thinking), q.refusedRepeat(p, thinking))
}

// sameTurns reports whether two lists of turns are one and the same.
func sameTurns(a, b []request.Turn) bool {
	return len(a) > 0 && len(a) == len(b) && &a[0] == &b[0]
}

// A made is the turns of a request, by what they are made of.
type cachedTurns struct {
	contents []*renderedMessage
	cacheKey

	turns []request.Turn
	// checked caches violations by the name of the provider and by rule, without the
	// rules that depend on thinking: these are quick to check.
	checked map[string][][]request.Violation
}

// make makes the turns of a request, or finds those that were made before.
func (is *View) turns(g *builder, contents []*renderedMessage) *cachedTurns {
	for _, m := range *is.cache {
		if m.matches(g) && slices.Equal(m.contents, contents) {
			return m
		}
	}
	own := g.fork()
	m := &cachedTurns{contents: contents, turns: own.joinTurns(contents), cacheKey: own.cacheKey()}
	*is.cache = append(*is.cache, m)
	return m
}

// check is [provider.Check] for the turns.
func (m *cachedTurns) check(p provider.Provider, q request.Request, thinking bool) (all []request.Violation) {
	rules := p.Rules()
	found, ok := m.checked[p.Name()]
	if !ok {
		found = make([][]request.Violation, len(rules))
		for i, r := range rules {
			if !r.Thinking {
				found[i] = r.Check(q, thinking)
			}
		}
		if m.checked == nil {
			m.checked = map[string][][]request.Violation{}
		}
		m.checked[p.Name()] = found
	}
	for i, r := range rules {
		if r.Thinking {
			all = append(all, r.Check(q, thinking)...)
		}
		all = append(all, found[i]...)
	}
	return all
}
