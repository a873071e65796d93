package render

import (
	"cmp"
	"fmt"
	"slices"

	"mend/agent/opencode/js"
	"mend/agent/opencode/record"
	"mend/change"
)

// A message is a stored message in the form that the agent has in memory.
type message struct {
	*record.Message
	isPrompt     bool           // the prompt that the user types next, which has no record
	parts        []*record.Part // the readable parts
	readFailures []Failure      // the agent fails when it reads the message
	useFailures  []Failure      // the agent fails when it uses the message

	finished, summary bool    // it has a reason to finish, or is a summary
	timeless          bool    // it has no time
	created           float64 // time.created, NaN if it is not a number

	compaction *record.Part // the first part that requests a compaction, or nil
}

// isSigned reports whether the part is thinking with a signature of Anthropic.
func isSigned(p *record.Part) bool {
	return p.Type == record.TypeReasoning && !p.JSON.Get("metadata").Get("anthropic").Get("signature").Nullish()
}

// textOf returns the text of a text or of reasoning, and whether it has one.
func textOf(p *record.Part) (text string, ok bool) { return p.Text, p.JSON.Get("text").Kind() == '"' }

func (m *message) hasPart(kind string) bool {
	return slices.ContainsFunc(m.parts, func(p *record.Part) bool { return p.Type == kind })
}

// setCompaction finds the part that requests a compaction.
func (m *message) setCompaction() {
	m.compaction = nil
	if i := slices.IndexFunc(m.parts, func(p *record.Part) bool { return p.Type == "compaction" }); i >= 0 {
		m.compaction = m.parts[i]
	}
}

// readMessage returns the message as the agent reads it.
func readMessage(src *record.Message) *message {
	v := src.JSON
	m := &message{
		Message: src, parts: make([]*record.Part, 0, len(src.Parts)), finished: v.Get("finish").Truthy(),
		summary:  v.Get("summary").Truthy(),
		timeless: v.Get("time").Nullish(), created: v.Get("time").Get("created").Number(),
	}
	if fault := whyUnread(&src.Record, v); fault != "" {
		m.readFailures = append(m.readFailures, Failure{FailureUnreadable, fault, src.Ref, nil})
	}
	for i := range src.Parts {
		p := &src.Parts[i]
		fault := whyUnread(&p.Record, p.JSON)
		if fault == "" && nullFile(&p.Record, p.JSON) {
			fault = "null"
		}
		if fault != "" {
			m.readFailures = append(m.readFailures, Failure{FailureUnreadable, fault, p.Ref, nil})
			continue
		}
		m.parts = append(m.parts, p)
	}
	m.setCompaction()
	if nullFile(&src.Record, v) {
		m.useFailures = append(m.useFailures, Failure{FailureUnreadable, "null", src.Ref, nil})
	}
	return m
}

// whyUnread returns why the agent cannot read the record, whose JSON is v. The agent can read JSON
// that is not an object, and ignores it because it has no role or type.
func whyUnread(r *change.Record, v js.Value) string {
	switch {
	case v.Exists() && !r.Unreadable():
		return ""
	case r.Defect != nil:
		return r.Defect.Why
	}
	return "no JSON"
}

// nullFile reports whether the record is a file that contains null, which makes the agent crash. To a row the agent
// adds the ids, which make it an object.
func nullFile(r *change.Record, v js.Value) bool { return v.Kind() == 'n' && !r.IsRow() }

// compare orders messages, oldest first.
func (p Profile) compare(a, b *message) int {
	if p.isSince(v12) {
		return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.ID, b.ID))
	}
	return cmp.Compare(cmp.Or(a.Ref.Message, a.ID), cmp.Or(b.Ref.Message, b.ID))
}

// fieldFailure returns the failure for a record with an invalid field.
func fieldFailure(ref change.Ref, format string, args ...any) Failure {
	return Failure{FailureField, fmt.Sprintf(format, args...), ref, nil}
}
