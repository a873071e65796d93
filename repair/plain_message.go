package repair

import (
	"bytes"
	"iter"
	"strings"

	"mend/session"
)

// message reports whether the record is a message that may be in a plain session.
func (l *glimpse) message(r *session.Record) bool {
	var m members
	l.id = r.Ref.Message
	if !strings.HasPrefix(l.id, "msg") || !plainRecord(r) || !m.read(messageForm, r.Data) || !plainID(r, &m, l.id) {
		return false
	}
	l.created = m.count(atCreated)
	if c, isRow := r.Col("time_created"); isRow { // what the agent sorts rows by
		if sorted, ok := c.Int(); !ok || sorted != l.created {
			return false // newer versions go by the one here and by the other there
		}
	}
	l.latest = max(l.created, m.count(atCompleted))
	switch string(m.inner(atRole)) {
	case session.RoleUser:
		l.prompt = true
		l.model = model{string(m.text[atAskedProvider]), string(m.text[atAskedModel])}
		return promptShape.fits(m.had) && !isFalse(m.text[atSummary])
	case session.RoleAssistant:
		l.model = model{string(m.text[atProvider]), string(m.text[atModel])}
		l.parent = string(m.inner(atParent))
		finish := m.inner(atFinish)
		l.finished = string(finish) != "tool-calls" && bytes.IndexByte(finish, '\\') < 0
		return answerShape.fits(m.had) && !isObject(m.text[atSummary])
	}
	return false
}

func plainRecord(r *session.Record) bool { return r.Defect == nil && r.Class == 0 }

// plainID reports whether the record has the id that it is stored under: a row has
// it outside.
func plainID(r *session.Record, m *members, id string) bool {
	return r.Cols != nil || m.had>>atID&1 == 1 && string(m.inner(atID)) == id
}

// parts reports whether a prompt is text, and whether each step of an answer is
// thinking, then text, then calls, and says something; each but the last has calls.
func (l *glimpse) parts(parts iter.Seq[*session.Record]) bool {
	for r := range parts {
		if !l.part(r) {
			return false
		}
	}
	return l.at == stepSaid || l.at == stepCalled
}

func (l *glimpse) part(r *session.Record) bool {
	var m members
	id := r.Ref.Part
	if id <= l.last || !strings.HasPrefix(id, "prt") || !plainRecord(r) || !m.read(partForm, r.Data) || !plainID(r, &m, id) {
		return false
	}
	l.last = id
	kind := string(m.inner(atType))
	if !plainPart(kind, &m) || !l.at.goesOn(kind) || l.prompt && kind != session.TypeText {
		return false
	}
	if kind == session.TypeTool {
		l.calls = append(l.calls, string(m.inner(atCallID)))
	}
	l.thinks = l.thinks || kind == session.TypeReasoning
	l.latest = max(l.latest, m.count(atStart), m.count(atEnd))
	return true
}

// plainPart reports whether a part of that kind has what one has; a call has ended,
// and its id and name are as they must be.
func plainPart(kind string, m *members) bool {
	shape, known := partShapes[kind]
	if kind == session.TypeTool {
		end, ended := stateShapes[string(m.inner(atStatus))]
		known = ended && isName(m.inner(atCallID)) && isToolName(m.inner(atTool))
		shape = shape.with(end)
	}
	return known && shape.fits(m.had)
}

// A stage is how far a step of an answer has come.
type stage uint8

const (
	stepBegun stage = iota
	stepThought
	stepSaid
	stepCalled
)

// goesOn takes the next part of an answer, and reports whether it may come here.
func (at *stage) goesOn(kind string) bool {
	next := *at
	switch kind {
	case session.TypeStepStart:
		if next == stepThought || next == stepSaid {
			return false
		}
		*at, next = stepBegun, stepBegun
	case session.TypeReasoning:
		next = stepThought
	case session.TypeText:
		next = stepSaid
	case session.TypeTool:
		next = stepCalled
	}
	ok := next >= *at
	*at = next
	return ok
}

// isName reports whether the name is made of letters, digits, _ and -.
func isName(s []byte) bool {
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return len(s) > 0
}
