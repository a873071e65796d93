package render

import (
	"slices"

	"mend/agent/opencode/record"
	"mend/request"
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
	isLarge  bool
}

// largeSession is the size in bytes from which on a session is large. The indexes of the
// JSON of a large session are built again for each request: they take many times its memory.
const largeSession = 1 << 20

// partSize is how much a part adds to the size of a session beside its text: of each part
// there is a block in a request, however short its text.
const partSize = 128

// Read returns a View of the session.
func Read(s *record.Session) *View {
	v := &View{s: s, messages: make([]*message, len(s.Messages)), isLarge: isLarge(s)}
	for i := range s.Messages {
		v.messages[i] = readMessage(&s.Messages[i])
	}
	return v
}

// isLarge reports whether the session has the size from which on it is large.
func isLarge(s *record.Session) bool {
	size := 0
	for i := range s.Messages {
		m := &s.Messages[i]
		size += len(m.Data)
		for j := range m.Parts {
			size += len(m.Parts[j].Data) + partSize
		}
	}
	return size >= largeSession
}

// IsLarge reports whether the session is so large that only one request at a time is to be
// kept.
func (v *View) IsLarge() bool { return v.isLarge }

// Render returns the request that OpenCode sends for the session when the user types
// one more prompt. The result reports failures of the agent.
func Render(s *record.Session, set Settings) Request { return Read(s).Render(set) }

// Render is like the function [Render].
func (v *View) Render(set Settings) Request {
	if set.Profile.Version == "" {
		set.Profile = ProfileFor("")
	}
	return v.render(newBuilder(set))
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
		messages = append(messages, b.cleanUp(subtaskMessages(b.running))...)
	}
	q := Request{
		Request:  request.Request{Model: b.Model, Turns: b.joinTurns(messages)},
		Failures: b.failures, Unseen: b.unseen, Late: b.late, Subtasks: b.subtasks, Target: b.target, API: b.api,
	}
	if b.compacting {
		after := newBuilder(set)
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
