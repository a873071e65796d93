package wire

import (
	"slices"
	"strings"

	"mend/session"
)

// A Renderer renders and checks a session many times: under other settings, or
// with other records. It keeps what it has read of each message, and what it made
// of the session as it saw it last:
//
//	var r wire.Renderer
//	for _, p := range wire.Profiles() {
//		q := r.Render(s, wire.Settings{Profile: p})
//		on, off := r.Check(q, true), r.Check(q, false)
//		…
//	}
//
// The first rendering costs what [Render] does. Another profile costs little
// more than looking whether it makes a difference, and of a session in which a
// record was changed no more than its message is read again. Records are known
// by where their bytes are, which must not change: an edit replaces them.
//
// The zero Renderer is ready. It is for one session and the edits of its clones,
// and not safe for several goroutines at once.
type Renderer struct {
	messages map[session.Ref]*message

	// Of the session as it was seen last.
	all  []*message
	made []*made
}

// Render makes the request that OpenCode sends for the session when the user
// types one more prompt, or as it stands. It never fails: what the agent would
// die on is in the request's Fatal.
func Render(s *session.Session, set Settings) Request { return new(Renderer).Render(s, set) }

// Render is like the function [Render]. Requests that do not differ share their
// Turns, so these must not be changed.
func (r *Renderer) Render(s *session.Session, set Settings) Request {
	if set.Profile.Version == "" {
		set.Profile = ProfileFor("")
	}
	g := &rendering{Settings: set, told: map[Fatal]bool{}}
	all := slices.Clone(r.read(s))
	slices.SortStableFunc(all, set.Profile.compare)
	if !set.Standing {
		all = g.prompt(s, all)
	}
	if g.Model == (Model{}) {
		g.Model = g.lastModel(s, all)
	}
	g.claude = strings.Contains(g.Model.ModelID, "claude")
	m := r.make(g, g.history(all))
	g.die(m.fatal...)
	return Request{Model: g.Model, Turns: m.turns, Fatal: g.fatal}
}

// Check is like the function [Check]. Turns that this Renderer made are judged
// once.
func (r *Renderer) Check(q Request, thinking bool) []Violation {
	i := slices.IndexFunc(r.made, func(m *made) bool { return sameTurns(m.turns, q.Turns) })
	if i < 0 {
		return Check(q, thinking)
	}
	return append(q.dead(), r.made[i].check(thinking)...)
}

// sameTurns reports whether two lists of turns are one and the same.
func sameTurns(a, b []Turn) bool {
	return len(a) > 0 && len(a) == len(b) && &a[0] == &b[0]
}

// A making is what decides what becomes of messages.
type making struct {
	content Profile
	model   Model
	strip   bool
}

// A madeMessage is what a message becomes.
type madeMessage struct {
	out   []ready
	fatal []Fatal
}

// made is what a message becomes, made once.
func (r *rendering) made(m *message) *madeMessage {
	how := r.making()
	if made := m.made[how]; made != nil {
		return made
	}
	own := &rendering{Settings: r.Settings, strip: r.strip, claude: r.claude, told: map[Fatal]bool{}}
	made := &madeMessage{out: own.cleanUp(own.messages(m)), fatal: own.fatal}
	if m.made == nil {
		m.made = map[making]*madeMessage{}
	}
	m.made[how] = made
	return made
}

func (r *rendering) making() making { return making{r.Profile.content(), r.Model, r.strip} }

// A made is the content of a request, by what it is made of.
type made struct {
	making
	kept []*message

	turns  []Turn
	fatal  []Fatal
	judged [][]Violation // by rule, but for those that ask about thinking; nil until asked for
}

// make makes the content of a request, or finds one that was made before.
func (r *Renderer) make(g *rendering, kept []*message) *made {
	how := g.making()
	same := func(a, b *message) bool { return a == b || a.prompt && b.prompt }
	for _, m := range r.made {
		if m.making == how && slices.EqualFunc(m.kept, kept, same) {
			return m
		}
	}
	m := &made{making: how, kept: kept}
	m.turns, m.fatal = g.turns(kept)
	r.made = append(r.made, m)
	return m
}

// check is judge, in which each rule looks at the turns once: those that ask about
// thinking look at little.
func (m *made) check(thinking bool) (all []Violation) {
	c, rules := conversation{m.turns, thinking}, rules()
	if m.judged == nil {
		m.judged = make([][]Violation, len(rules))
		for i, r := range rules {
			if !r.thinking {
				m.judged[i] = r.broken(c)
			}
		}
	}
	for i, r := range rules {
		if r.thinking {
			all = append(all, r.broken(c)...)
		}
		all = append(all, m.judged[i]...)
	}
	return all
}
