package repair

import (
	"slices"

	"mend/session"
)

// A chart is a session under repair, with what the rules need to know of it as a
// whole. A rule looks at one message; what it asks the chart is nothing that a
// cure of another message changes, so a cure is proved on its message alone.
type chart struct {
	s       *session.Session // the caller's until the first cure, then a copy
	copied  bool
	options Options
	force   bool
	texts   texts
	asked   []Class // which of the rules that want to be asked for are

	newest   int             // the newest answer, -1 for none
	open     bool            // its tool loop is open
	skip     int             // the answer that the agent still writes, -1 for none
	opener   int             // the first prompt, if it has no parts and an answer would come first; else -1
	answered map[string]bool // the calls that a tool_result part answers
	strays   map[string]session.Stray
}

// texts is what is written into a session.
type texts struct{ placeholder, cancelled string }

func defaultTexts() texts {
	return texts{placeholder: "[user interrupted]", cancelled: "Operation cancelled by user (ESC pressed)"}
}

// newChart makes the chart of a session. With force the newest answer is looked
// at although the session is busy.
func newChart(s *session.Session, o Options, force bool, asked ...Class) *chart {
	c := &chart{s: s, options: o, force: force, texts: defaultTexts(), asked: asked, newest: -1, skip: -1, opener: opener(s)}
	for i := range s.Messages {
		if s.Messages[i].Role == session.RoleAssistant {
			c.newest = i
		}
		c.noteResults(&s.Messages[i])
	}
	for _, stray := range s.Stray {
		if stray.Message != "" && c.strays == nil {
			c.strays = map[string]session.Stray{}
		}
		if stray.Message != "" {
			c.strays[stray.Message] = stray
		}
	}
	if n := len(s.Messages); n > 0 && c.newest == n-1 {
		c.open = !s.Messages[n-1].Finished()
	}
	if !force && Busy(s, o.Now, o.Held) {
		c.skip = c.newest
	}
	return c
}

// again is a new chart of the session as it is by now.
func (c *chart) again() *chart {
	n := newChart(c.s, c.options, c.force, c.asked...)
	n.texts = c.texts
	return n
}

func (c *chart) noteResults(m *session.Message) {
	for i := range m.Parts {
		if m.Parts[i].Type != session.TypeToolResult {
			continue
		}
		if c.answered == nil {
			c.answered = map[string]bool{}
		}
		c.answered[m.Parts[i].CallID] = true
	}
}

// opener is the first prompt of the session, if it has no parts and the first
// message that goes out is an answer; else -1. The provider wants a prompt first
// (provider-rules.md, R16).
func opener(s *session.Session) int {
	first := -1
	for i := range s.Messages {
		m := &s.Messages[i]
		switch {
		case m.Role == session.RoleUser && len(m.Parts) == 0:
			if first < 0 {
				first = i
			}
		case m.Role == session.RoleUser && slices.ContainsFunc(m.Parts, func(p session.Part) bool { return !p.Ignored }):
			return -1
		case m.Role == session.RoleAssistant && sent(m) && slices.ContainsFunc(m.Parts, goesOut):
			return first
		}
	}
	return -1
}

// goesOut reports whether a part of an answer is sent, or would be once it is
// cured.
func goesOut(p session.Part) bool {
	return p.Speaks() || p.IsThinking() || p.IsBlankText() || p.Malformed()
}

// look asks every rule about message i, given as m: the stored one, or one that
// a fix has edited.
func (c *chart) look(i int, m *session.Message) []finding {
	if i == c.skip {
		return nil
	}
	x := exam{chart: c, at: i, m: m}
	var fs []finding
	for _, r := range Rules {
		if !r.Asked || slices.Contains(c.asked, r.Class) {
			fs = append(fs, r.find(x)...)
		}
	}
	if why := x.hidden(); why != "" {
		for j := range fs {
			if fs[j].fixes != nil {
				fs[j].fixes, fs[j].WhyNot = nil, why
			}
		}
	}
	return fs
}

// set replaces message i, in a copy of the session.
func (c *chart) set(i int, m session.Message) {
	if !c.copied {
		s := *c.s
		s.Messages = slices.Clone(s.Messages)
		c.s, c.copied = &s, true
	}
	c.s.Messages[i] = m
}
