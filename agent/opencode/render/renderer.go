package render

import (
	"slices"

	"mend/agent/opencode/record"
	"mend/provider"
	"mend/request"
)

// A Renderer reads a session and its edited clones. It parses a message again only if
// its bytes or its list of parts are at another address. So an edit must replace the bytes
// of a message and its list of parts.
//
// The zero Renderer is ready to use. A Renderer and its Views are not safe for concurrent
// use.
type Renderer struct {
	messages map[string]*message // by the id of the ref
	last     *View
}

// A View is a session as the agent reads it. It renders requests for several versions;
// those that do not differ cost almost nothing.
//
//	var r render.Renderer
//	v := r.Read(s)
//	for _, p := range render.Profiles() {
//		q := v.Render(render.Settings{Profile: p})
//		violations := v.Check(anthropic.Provider{}, q, true)
//		…
//	}
//
// The session must not change while the View is in use. All requests must have the same
// [Settings].Missing and Reads.
type View struct {
	s        *record.Session
	messages []*message
	cache    *[]*cachedTurns
}

// Read returns a View of the session.
func (r *Renderer) Read(s *record.Session) *View {
	v := &View{s: s, messages: make([]*message, len(s.Messages))}
	for i := range s.Messages {
		v.messages[i] = r.message(&s.Messages[i])
		if r.last != nil && (i >= len(r.last.messages) || v.messages[i] != r.last.messages[i]) {
			r.last = nil // release what was read before more is read
		}
	}
	if r.last != nil && len(v.messages) == len(r.last.messages) {
		v.cache = r.last.cache
	} else {
		v.cache = new([]*cachedTurns)
	}
	r.last = v
	return v
}

// Render returns the request that OpenCode sends for the session when the user types
// one more prompt. The result reports failures of the agent.
func Render(s *record.Session, set Settings) Request { return new(Renderer).Read(s).Render(set) }

// Render is like the function [Render]. Requests may share their Turns: they are read only.
func (v *View) Render(set Settings) Request {
	if set.Profile.Version == "" {
		set.Profile = ProfileFor("")
	}
	return v.render(newBuilder(v, set))
}

func (v *View) render(b *builder) Request {
	set := b.Settings
	b.fail(infoFailures(v.s, set.Profile)...)
	all := v.sorted(set.Profile)
	if !set.NoPrompt {
		all = b.addPrompt(v.s, all)
	}
	if b.Model == (request.Model{}) {
		b.Model = b.nextModel(v.s, all)
	}
	b.setTarget()
	messages := b.renderMessages(b.selectMessages(all))
	if b.running != nil {
		messages = append(messages, b.renderSubtask(b.running))
	}
	q := Request{
		Request:  request.Request{Model: b.Model, Turns: v.turns(b, messages).turns},
		Failures: b.failures, Unseen: b.unseen, Late: b.late, Subtasks: b.subtasks, Target: b.target, API: b.api,
	}
	if b.compacting {
		after := newBuilder(v, set)
		after.compacted = true
		next := v.render(after)
		q.Next = &next
	}
	return q
}

// sorted returns the messages, oldest first.
func (v *View) sorted(p Profile) []*message {
	if slices.IsSortedFunc(v.messages, p.compare) {
		return v.messages
	}
	all := slices.Clone(v.messages)
	slices.SortStableFunc(all, p.compare)
	return all
}

// Check is like the function [Check], but checks the turns of requests of this View only
// once.
func (v *View) Check(p provider.Provider, q Request, thinking bool) []request.Violation {
	return q.check(p, thinking, func(q request.Request) []request.Violation {
		i := slices.IndexFunc(*v.cache, func(m *cachedTurns) bool { return sameTurns(m.turns, q.Turns) })
		if i < 0 {
			return provider.Check(p, q, thinking)
		}
		return (*v.cache)[i].check(p, q, thinking)
	})
}

// sameTurns reports whether two slices are the same memory.
func sameTurns(a, b []request.Turn) bool {
	return len(a) > 0 && len(a) == len(b) && &a[0] == &b[0]
}

// cachedTurns are the turns that were built of rendered messages.
type cachedTurns struct {
	from []*renderedMessage
	cacheKey

	turns []request.Turn
	// checked caches violations by the name of the provider and by rule, without the
	// rules that depend on thinking: these are quick to check.
	checked map[string][][]request.Violation
}

// turns joins rendered messages to turns, or returns the cached result.
func (v *View) turns(b *builder, messages []*renderedMessage) *cachedTurns {
	for _, m := range *v.cache {
		if m.matches(b) && slices.Equal(m.from, messages) {
			return m
		}
	}
	fork := b.fork()
	m := &cachedTurns{from: messages, turns: fork.joinTurns(messages), cacheKey: fork.cacheKey()}
	*v.cache = append(*v.cache, m)
	return m
}

// check is [provider.Check] with a cache.
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
