package render

import (
	"cmp"
	"fmt"
	"slices"

	"mend/agent/opencode/js"
	"mend/agent/opencode/record"
	"mend/change"
)

// A message is a stored message as the agent has it in memory.
type message struct {
	ref          change.Ref
	id           string    // that the record itself names
	isPrompt     bool      // the prompt that the user types next: it has no record
	storedAt     int64     // messages are sorted by this time, then by id
	json         js.Value  // of the record
	parts        []part    // those that can be read
	readFailures []Failure // the agent fails when it reads the message
	useFailures  []Failure // the agent fails when it uses the message

	// Of the JSON: the role, the reason to finish if it is a string, and which members
	// JavaScript takes for true.
	role, finish               string
	finished, summary, failure bool
	timeless                   bool    // it has no time
	created                    float64 // time.created, NaN if it is no number

	compaction *part // the first part that requests a compaction, or nil
	task       *part // the last part that is a compaction or a subtask, or nil
}

// A part is a stored part as the agent has it in memory.
type part struct {
	*record.Part
	kind   string
	signed bool // thinking with a signature of Anthropic
}

// text returns the text of a text or of reasoning, and whether it has one.
func (p part) text() (text string, ok bool) {
	v := p.JSON.Get("text")
	if p.Malformed() { // a file with a byte order mark, of which nothing is decoded
		return v.Text()
	}
	return p.Text, v.Kind() == '"'
}

// hasPart reports whether the message has a part of that kind.
func (m *message) hasPart(kind string) bool {
	return slices.ContainsFunc(m.parts, func(p part) bool { return p.kind == kind })
}

func isCompaction(p part) bool { return p.kind == "compaction" }

func isSubtask(p part) bool { return p.kind == "subtask" }

// setTasks finds what the parts request.
func (m *message) setTasks() {
	m.compaction, m.task = nil, nil
	for i := range m.parts {
		switch p := &m.parts[i]; {
		case isCompaction(*p):
			m.compaction, m.task = cmp.Or(m.compaction, p), p
		case isSubtask(*p):
			m.task = p
		}
	}
}

// readMessage parses a message.
func readMessage(src *record.Message) *message {
	m := &message{ref: src.Ref, id: src.ID, storedAt: src.Created, parts: make([]part, 0, len(src.Parts))}
	v := src.JSON
	if fault := whyUnread(&src.Record, v); fault != "" {
		m.readFailures = append(m.readFailures, Failure{FailureUnreadable, fault, src.Ref, nil})
	}
	m.json = v
	m.role, _ = v.Get("role").Text()
	m.finish, _ = v.Get("finish").Text()
	m.finished, m.summary, m.failure = v.Get("finish").Truthy(), v.Get("summary").Truthy(), v.Get("error").Truthy()
	m.timeless, m.created = v.Get("time").Nullish(), v.Get("time").Get("created").Number()
	for i := range src.Parts {
		p := part{Part: &src.Parts[i]}
		v := p.JSON
		fault := whyUnread(&p.Record, v)
		if fault == "" && nullFile(&p.Record, v) {
			fault = "null"
		}
		if fault != "" {
			m.readFailures = append(m.readFailures, Failure{FailureUnreadable, fault, p.Ref, nil})
			continue
		}
		p.kind, _ = v.Get("type").Text()
		p.signed = p.kind == record.TypeReasoning && !v.Get("metadata").Get("anthropic").Get("signature").Nullish()
		m.parts = append(m.parts, p)
	}
	m.setTasks()
	if nullFile(&src.Record, v) {
		m.useFailures = append(m.useFailures, Failure{FailureUnreadable, "null", src.Ref, nil})
	}
	return m
}

// whyUnread returns why the agent cannot read the record, whose JSON is v. The agent can read JSON
// that is no object, and ignores it for its lack of a role or a type.
func whyUnread(r *change.Record, v js.Value) string {
	switch {
	case v.Exists() && !r.Unreadable():
		return ""
	case r.Defect != nil:
		return r.Defect.Why
	}
	return "no JSON"
}

// nullFile reports whether the record is a file that holds null, on which the agent
// crashes. To a row it adds the ids, which makes an object of it.
func nullFile(r *change.Record, v js.Value) bool { return v.Kind() == 'n' && !r.IsRow() }

// compare orders messages, oldest first.
func (p Profile) compare(a, b *message) int {
	if p.since(v12) {
		return cmp.Or(cmp.Compare(a.storedAt, b.storedAt), cmp.Compare(a.id, b.id))
	}
	return cmp.Compare(cmp.Or(a.ref.Message, a.id), cmp.Or(b.ref.Message, b.id))
}

// fieldFailure returns the failure for a record with an invalid field.
func fieldFailure(ref change.Ref, format string, args ...any) Failure {
	return Failure{FailureField, fmt.Sprintf(format, args...), ref, nil}
}
