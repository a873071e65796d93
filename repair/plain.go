package repair

import (
	"cmp"
	"iter"
	"slices"
	"sync"
	"time"

	"mend/agent/opencode/render"
	"mend/agent/opencode/schema"
	"mend/jsonedit"
	"mend/session"
)

// A Glance tells from the bytes of a session's records whether it is plain: one
// with which nothing can be wrong in any setting. It has nothing but the usual
// parts in the usual order, complete and as every version of the agent writes and
// reads them. Most sessions are so, and this is many times faster than to build
// the session and simulate its requests. A session that is not plain need not be
// broken.
//
// Every version makes the same of a plain session: its messages are in the order
// of their ids as of their times, all are sent, and by one model; each step is
// thinking, then text, then calls with their results.
//
// The zero Glance is ready. Several goroutines may look at messages at a time.
type Glance struct {
	// Now is when the next prompt is typed; see [Options].
	Now time.Time

	mu   sync.Mutex
	seen []glimpse
}

// A glimpse is what a Glance keeps of a message.
type glimpse struct {
	id       string
	prompt   bool
	created  int64
	latest   int64 // of all times that it tells of
	model    model
	parent   string // of an answer, the id of the prompt
	calls    []string
	finished bool
	thinks   bool
	at       stage  // how far it came
	last     string // the id of its last part
}

type model struct{ provider, id string }

// Message looks at a message and its parts, which come in the order of their ids.
// Of the bytes of a record it needs nothing once the next one is asked for. It
// returns false as soon as the session cannot be plain.
func (g *Glance) Message(m *session.Record, parts iter.Seq[*session.Record]) bool {
	var l glimpse
	if !l.message(m) || !l.parts(parts) {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen = append(g.seen, l)
	return true
}

// Plain reports whether the session is plain whose messages were looked at. Of s
// all but the messages counts.
func (g *Glance) Plain(s *session.Session) bool {
	slices.SortFunc(g.seen, func(a, b glimpse) int { return cmp.Or(cmp.Compare(a.created, b.created), cmp.Compare(a.id, b.id)) })
	if len(g.seen) == 0 || !g.seen[0].prompt || len(s.Stray)+len(s.Files) > 0 || !plainInfo(s, g.seen[0].model) {
		return false
	}
	ids, calls := make(map[string]bool, len(g.seen)), map[string]bool{}
	told := session.Session{Created: s.Created, Updated: s.Updated}
	for i := range g.seen {
		l := &g.seen[i]
		if l.model != g.seen[0].model || i > 0 && !l.follows(&g.seen[i-1]) || !l.prompt && !ids[l.parent] {
			return false
		}
		for _, id := range l.calls {
			if calls[id] {
				return false
			}
			calls[id] = true
		}
		ids[l.id] = true
		told.Updated = max(told.Updated, l.latest)
	}
	newest := &g.seen[len(g.seen)-1]
	at, id := render.NextPrompt(&told, g.Now)
	return g.ended() && newest.created < at && newest.id < id // else the prompt would not be the newest message
}

// Span is the time around Now for which a plain session stays one; see [render.StableSpan].
func (g *Glance) Span() (from, until time.Time) {
	s := session.Session{Messages: make([]session.Message, 0, 1)}
	if n := len(g.seen); n > 0 {
		newest := &g.seen[n-1]
		s.Messages = append(s.Messages, session.Message{ID: newest.id, Created: newest.created})
	}
	return render.StableSpan(&s, g.Now)
}

// ended reports whether the newest answer is done, and its tool loop is closed.
func (g *Glance) ended() bool {
	for i := range slices.Backward(g.seen) {
		if l := &g.seen[i]; !l.prompt {
			return l.finished && l.at != stepCalled
		}
	}
	return true
}

// Thinks is what [Thinks] says of a plain session.
func (g *Glance) Thinks() bool {
	return slices.ContainsFunc(g.seen, func(l glimpse) bool { return l.thinks })
}

// plain reports whether the session is plain.
func plain(s *session.Session, now time.Time) bool {
	g := Glance{Now: now}
	for i := range s.Messages {
		m := &s.Messages[i]
		parts := func(yield func(*session.Record) bool) {
			for j := range m.Parts {
				if !yield(&m.Parts[j].Record) {
					return
				}
			}
		}
		if !g.Message(&m.Record, parts) {
			return false
		}
	}
	return g.Plain(s)
}

// plainInfo reports whether the session's own record says nothing that changes
// the request, which goes to that model.
func plainInfo(s *session.Session, asked model) bool {
	_, reverted := infoField(s, "revert")
	if s.Info.Defect != nil || s.Newer != "" || s.ProjectMissing || archived(s) || reverted || len(schema.SessionFaults(s, render.ProfileFor("").Strict)) > 0 || len(schema.ProjectFaults(s, render.ProfileFor("").Strict)) > 0 {
		return false
	}
	told, tells := infoField(s, "model")
	var m members
	return !tells || m.read(infoModelForm, told) && asked == model{string(m.text[atAskedProvider]), string(m.text[atAskedModel])}
}

// infoField is what the session's own record has under that name: a member of a
// file, or a column of a row that is not NULL; and whether there is one.
func infoField(s *session.Session, name string) ([]byte, bool) {
	if c, isColumn := s.Info.Col(name); isColumn && c.Class != session.ClassNull {
		return c.Bytes, true
	}
	return jsonedit.Get(s.Info.Data, name)
}

// follows reports whether the message is behind the one before it in every order,
// and may stand there: an answer follows a prompt, or calls.
func (l *glimpse) follows(before *glimpse) bool {
	return l.id > before.id && (l.prompt || before.prompt || before.at == stepCalled)
}
