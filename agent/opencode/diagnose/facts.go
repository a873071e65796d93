package diagnose

import (
	"bytes"

	"mend/agent/opencode/record"
	"mend/jsonedit"
	"mend/session"
)

// facts has what all records of a session show, damaged ones included: the source of
// missing values.
type facts struct {
	s             *record.Session
	folder        func(path string) string // see [Environment]
	projectOf     func(folder string) string
	line          *timeline      // see [facts.timeline]
	places        map[string]int // of messages in s
	parts         partIndex
	contentCounts map[string]int        // see [facts.countContent]
	steps         map[session.Ref]*step // see [facts.step]
}

func (k *facts) timeline() *timeline {
	if k.line == nil {
		k.line = newTimeline(k.s)
	}
	return k.line
}

// contextOf returns the context of a message or a part. It reports false if the record
// does not exist or its bytes are unknown.
func (k *facts) contextOf(ref session.Ref) (recordContext, bool) {
	g := recordContext{s: k.s, known: k}
	if k.places == nil {
		k.places = messageIndexes(k.s)
	}
	i, ok := k.places[ref.Message]
	if !ok {
		return g, false
	}
	g.m = &k.s.Messages[i]
	if ref.Kind == session.KindMessage {
		return g, !g.m.Unreadable()
	}
	j := k.parts.find(g.m.Parts, ref)
	if j < 0 {
		return g, false
	}
	g.p, g.at = &g.m.Parts[j], j
	return g, !g.p.Unreadable()
}

// countContent returns the number of parts of a message that have content that is sent.
func (k *facts) countContent(m *record.Message) int {
	n, counted := k.contentCounts[m.Ref.Message]
	if counted {
		return n
	}
	if k.contentCounts == nil {
		k.contentCounts = map[string]int{}
	}
	n = countContent(m, m.Parts)
	k.contentCounts[m.Ref.Message] = n
	return n
}

func countContent(m *record.Message, parts []record.Part) (n int) {
	for i := range parts {
		if hasContent(m, &parts[i]) {
			n++
		}
	}
	return n
}

// A step summarizes a step of an answer.
type step struct {
	content int // number of parts with content
	thinks  bool
}

// step returns the step of a part of the message.
func (k *facts) step(m *record.Message, ref session.Ref) *step {
	if s, ok := k.steps[ref]; ok {
		return s
	}
	if k.steps == nil {
		k.steps = map[session.Ref]*step{}
	}
	for parts := range m.Steps() {
		s := &step{countContent(m, parts), anyOf(parts, (*record.Part).IsThinking)}
		for i := range parts {
			k.steps[parts[i].Ref] = s
		}
	}
	return k.steps[ref]
}

// readable returns the message, or what can be read of a damaged one: the members that
// are complete; nil if there are none.
func readable(s *record.Session, m *record.Message) *record.Message {
	if m.Malformed() {
		return salvaged(s, m)
	}
	return m
}

// salvaged returns a damaged message with what can be read of its record, nil if
// nothing can.
func salvaged(s *record.Session, m *record.Message) *record.Message {
	if m.Unreadable() {
		return nil
	}
	r, v := s.Salvage(m.Record)
	data := withoutCutValue(r.Data, v)
	if jsonedit.CheckObject(data) != nil || len(bytes.TrimSpace(data)) == len("{}") {
		return nil
	}
	left := record.NewMessage(with(r, data))
	if left.Created == 0 {
		left.Created = m.Created
	}
	left.Parts = m.Parts
	return &left
}

// modelNames are the two names of a model, as JSON; nil for a missing one.
type modelNames struct{ provider, model []byte }

func (n modelNames) of(name string) []byte {
	if name == "providerID" {
		return n.provider
	}
	return n.model
}

// modelOf returns the names of the model that a prompt asks or that wrote an answer,
// and whether the message has both.
func modelOf(m *record.Message) (n modelNames, ok bool) {
	if m.Role == session.RoleUser {
		n = modelNames{textIn(m, "model", "providerID"), textIn(m, "model", "modelID")}
	}
	if n.provider == nil && n.model == nil { // a damaged record may have no role
		n = modelNames{textIn(m, "providerID"), textIn(m, "modelID")}
	}
	if n.provider == nil && n.model == nil {
		n = modelNames{textIn(m, "model", "providerID"), textIn(m, "model", "modelID")}
	}
	return n, n.provider != nil && n.model != nil
}

// sessionModel returns the names of the model in the session's own record.
func (k *facts) sessionModel() (n modelNames, ok bool) {
	model, _ := k.s.Field("model")
	text := func(name string) []byte {
		if v := model.Get(name).Raw(); len(v) > 2 && v[0] == '"' {
			return v
		}
		return nil
	}
	n = modelNames{text("providerID"), text("id")}
	return n, n.provider != nil && n.model != nil
}

// sessionText returns a text in the session's own record, nil if there is none.
func (k *facts) sessionText(name string) []byte {
	if c, ok := k.s.Info.Col(name); ok {
		if c.Class != session.ClassText || len(c.Bytes) == 0 {
			return nil
		}
		return jsonedit.Quote(string(c.Bytes))
	}
	if raw, ok := jsonedit.Get(k.s.Info.Data, name); ok && raw[0] == '"' && len(raw) > 2 {
		return raw
	}
	return nil
}
