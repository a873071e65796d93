package repair

import (
	"errors"
	"fmt"
	"slices"

	"mend/session"
)

// An exam is one message with the chart of its session.
type exam struct {
	*chart
	at int
	m  *session.Message
}

// finding makes a finding of the record that is stored under ref.
func (x exam) finding(c Class, v Severity, ref session.Ref, why string) finding {
	return finding{Diagnosis: Diagnosis{Class: c, Severity: v, Ref: ref, Message: x.m.ID, Why: why}}
}

// part is the part that is stored under ref.
func (x exam) part(ref session.Ref) (*session.Part, error) {
	for i := range x.m.Parts {
		if x.m.Parts[i].Ref == ref {
			return &x.m.Parts[i], nil
		}
	}
	return nil, fmt.Errorf("%s: no such part", ref)
}

// sent reports whether the message goes out to the model. An answer that failed
// does not, unless the user aborted it and it holds more than a step's start and
// thinking (spec/opencode-storage.md, "What becomes of a record in the request").
func sent(m *session.Message) bool {
	if !m.Failed {
		return true
	}
	return m.ErrorName == "MessageAbortedError" && slices.ContainsFunc(m.Parts, func(p session.Part) bool {
		return p.Type != session.TypeStepStart && p.Type != session.TypeReasoning
	})
}

// isAnswer reports whether the message is an answer that goes out.
func (x exam) isAnswer() bool {
	return x.m.Role == session.RoleAssistant && sent(x.m)
}

// inLoop reports whether the message is the newest answer and its tool loop is
// open: the provider wants its thinking back unchanged (provider-rules.md, R8).
func (x exam) inLoop() bool {
	return x.open && x.at == x.newest
}

const whyLoop = "The tool loop of the newest answer is still open, and the provider takes no change to the thinking in it: send one more prompt, then repair again."

// hidden says, as a sentence, that a part of the message cannot be read: what
// the message holds is then unknown. It is "" if all can be read.
func (x exam) hidden() string {
	const advice = "so nothing in this message is changed: make it readable, then scan again."
	for i := range x.m.Parts {
		if p := &x.m.Parts[i]; p.Unreadable() {
			return fmt.Sprintf("The part %s cannot be read (%s), %s", p.Ref, p.Defect.Why, advice)
		}
	}
	if s, ok := x.strays[x.m.Ref.Message]; ok {
		return fmt.Sprintf("What stands at %s cannot be read as a part (%s), %s", s.Path, s.Why, advice)
	}
	return ""
}

// speaks reports whether the part has content that goes out with this message.
// A prompt may also be a file, a task or the order to compact.
func (x exam) speaks(p *session.Part) bool {
	if x.m.Role == session.RoleUser {
		switch p.Type {
		case session.TypeFile, "subtask", "compaction":
			return true
		}
	}
	return p.Speaks()
}

// maySpeak reports whether the part has content, or cannot be read and may have.
func (x exam) maySpeak(p *session.Part) bool {
	return p.Malformed() || x.speaks(p)
}

// any reports whether one of the parts is so.
func (x exam) any(parts []session.Part, is func(*session.Part) bool) bool {
	return lastOf(parts, is) != nil
}

// lastOf is the last of the parts that is so, nil if none is.
func lastOf(parts []session.Part, is func(*session.Part) bool) *session.Part {
	for i := len(parts) - 1; i >= 0; i-- {
		if is(&parts[i]) {
			return &parts[i]
		}
	}
	return nil
}

// inject puts the placeholder into the message, as a synthetic text part under id.
func (x exam) inject(id string) error {
	if !x.s.InjectText(x.m, id, x.texts.placeholder) {
		return errors.New("no id for the text")
	}
	return nil
}

// stepOf is the step of the message that the part stored under ref belongs to.
func (x exam) stepOf(ref session.Ref) []session.Part {
	for step := range x.m.Steps() {
		for i := range step {
			if step[i].Ref == ref {
				return step
			}
		}
	}
	return nil
}
