package render

import (
	"slices"

	"mend/agent/opencode/record"
	"mend/internal/request"
)

// A View is a session as the agent reads it. It renders requests for several versions.
//
//	v := render.Read(s)
//	for _, p := range render.Profiles() {
//		q := v.Render(render.Settings{Profile: p})
//		violations := render.Check(anthropic.Provider{}, q, true)
//		…
//	}
//
// The session must not change while the View is in use.
type View struct {
	s        *record.Session
	messages []*message
}

// Read returns a View of the session.
func Read(s *record.Session) *View {
	v := &View{s: s, messages: make([]*message, len(s.Messages))}
	for i := range s.Messages {
		v.messages[i] = readMessage(&s.Messages[i])
	}
	return v
}

// IsSent reports whether the agent sends message number i even if an error is stored in it.
func (v *View) IsSent(i int) bool { return !v.messages[i].isDropped() }

// Render returns the request that OpenCode sends for the session when the user types one more
// prompt. The result includes failures of the agent.
func Render(s *record.Session, set Settings) Request { return Read(s).Render(set) }

// Render is like the function [Render].
func (v *View) Render(set Settings) Request {
	if set.Profile.Version == "" {
		set.Profile = ProfileFor("")
	}
	return v.render(&builder{Settings: set})
}

func (v *View) render(b *builder) Request {
	set := b.Settings
	b.fail(infoFailures(v.s, set.Profile)...)
	all := b.addPrompt(v.s, v.sortedMessages(set.Profile))
	if b.Model == (request.Model{}) {
		b.Model = b.nextModel(v.s, all)
	}
	b.setTarget()
	messages := b.renderMessages(b.selectMessages(all))
	q := Request{
		Request:  request.Request{Model: b.Model, Turns: b.joinTurns(messages), Bound: b.binding()},
		Failures: b.failures, Unseen: b.unseen, Late: b.late, Target: b.target, API: b.api,
	}
	if b.compacting {
		next := v.render(&builder{Settings: set, compacted: true})
		q.Next, q.Then = &next, &next.Request
	}
	return q
}

// sortedMessages returns the messages, oldest first.
func (v *View) sortedMessages(p Profile) []*message {
	if slices.IsSortedFunc(v.messages, p.compare) {
		return v.messages
	}
	all := slices.Clone(v.messages)
	slices.SortStableFunc(all, p.compare)
	return all
}
