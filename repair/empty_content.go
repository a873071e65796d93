package repair

import (
	"fmt"

	"mend/session"
)

// findEmptyContent finds what leaves a turn of the request without content: blank
// text, a step in which the model only thought, a message with nothing in it
// (provider-rules.md, R5, R6, R10, R11, R16).
func findEmptyContent(x exam) []finding {
	role := x.m.Role
	if role != session.RoleUser && role != session.RoleAssistant || !sent(x.m) {
		return nil
	}
	if len(x.m.Parts) == 0 {
		return x.withoutParts()
	}
	fs := x.blankTexts()
	if role == session.RoleUser {
		return fs
	}
	fs = append(fs, x.thinkingOnlySteps()...)
	if len(fs) == 0 && x.saysNothing() {
		fs = append(fs, x.bracketsOnly())
	}
	return fs
}

// thinkingOnlySteps finds the steps in which the model thought and then neither
// said nor did anything. Blank text in the step is a finding of its own.
func (x exam) thinkingOnlySteps() []finding {
	var fs []finding
	for step := range x.m.Steps() {
		last := lastOf(step, (*session.Part).IsThinking)
		if last == nil || x.any(step, x.maySpeak) || x.any(step, (*session.Part).IsBlankText) {
			continue
		}
		f := x.finding(EmptyContentMessage, Broken, last.Ref,
			"The model thought and then said nothing: the provider refuses an answer that ends with thinking.")
		id := last.ID + suffix
		f.fixes = []fix{{
			cure: fmt.Sprintf("A synthetic text %q is put behind the thinking.", x.texts.placeholder),
			edit: func(x exam) error { return x.inject(id) },
		}}
		fs = append(fs, f)
	}
	return fs
}

// saysNothing reports whether the message has parts, and none that the model
// said, did or thought.
func (x exam) saysNothing() bool {
	return !x.any(x.m.Parts, func(p *session.Part) bool {
		return x.maySpeak(p) || p.IsThinking() || p.Type == session.TypeText
	})
}

func (x exam) bracketsOnly() finding {
	f := x.finding(EmptyContentMessage, Note, x.m.Ref, "The answer holds nothing that the model said or did; the agent leaves it out.")
	before := lastOf(x.m.Parts, func(p *session.Part) bool { return p.Type == session.TypeStepStart })
	if before == nil {
		before = &x.m.Parts[len(x.m.Parts)-1]
	}
	f.fixes = x.injection(before.ID + suffix)
	return f
}

// withoutParts is the finding for a message that lost its parts, or never had
// any. It is left out of the request, which matters for the first prompt alone.
func (x exam) withoutParts() []finding {
	f := x.finding(EmptyContentMessage, Note, x.m.Ref, "The message has no parts; the agent leaves it out.")
	if x.at == x.opener {
		f.Severity, f.Why = Broken, "The first prompt has no parts, so the conversation starts with an answer, and the provider refuses that."
	}
	f.fixes = x.injection(x.m.FirstPartID())
	return []finding{f}
}

func (x exam) injection(id string) []fix {
	return []fix{{
		cure: fmt.Sprintf("A synthetic text %q is put into the message.", x.texts.placeholder),
		edit: func(x exam) error { return x.inject(id) },
	}}
}
