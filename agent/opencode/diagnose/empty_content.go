package diagnose

import (
	"fmt"

	"mend/agent/opencode/record"
	"mend/session"
)

// This file finds and fixes messages without content that is sent (docs/providers.md, R6).

// findNothing finds messages without texts, calls and thinking. The agent omits them,
// so they do no harm.
func findNothing(c *simulation) (fs []fault) {
	for i := range c.s.Messages {
		m := &c.s.Messages[i]
		if m.Role != session.RoleUser && m.Role != session.RoleAssistant || !isSent(m) || m.Malformed() {
			continue
		}
		if len(m.Parts) == 0 || m.Role == session.RoleAssistant && !anyOf(m.Parts, isSomething) {
			fs = append(fs, fault{Ref: m.Ref})
		}
	}
	return fs
}

func isSomething(p *record.Part) bool {
	return p.Malformed() || p.Sent() || p.IsThinking() || p.Type == record.TypeText
}

func whyNothing(c *simulation, f fault) string {
	if m := c.message(f.Ref); len(m.Parts) == 0 {
		return "The message has no parts, so OpenCode does not send it."
	}
	return "The assistant message has no content, so OpenCode does not send it."
}

// fixEmptyTurn returns the fixes that put the placeholder into the message: in place of
// a blank text, after its thinking, after the start of its last step, or as its only
// part.
func fixEmptyTurn(c *simulation, f fault) []fix {
	m := c.message(f.Ref)
	if m == nil {
		return nil
	}
	fixes := c.completions(func(r session.Ref) bool { return r.Message == m.Ref.Message })
	for i := range m.Parts {
		if m.Parts[i].IsBlankText() {
			fixes = append(fixes, blankBecomesPlaceholder(c, m.Parts[i].Ref))
		}
	}
	insert := func(inject func(*draft, *record.Message) error) fix {
		return fix{
			text: fmt.Sprintf("A synthetic text %q is added to the message.", c.texts.placeholder),
			edit: func(d *draft) error {
				m, err := d.message(f.Ref)
				if err != nil {
					return err
				}
				return inject(d, m)
			},
		}
	}
	return append(fixes, insert((*draft).injectWhereEmpty), insert((*draft).injectStep)) // the last one is for messages whose calls some versions omit
}

// injectWhereEmpty puts the placeholder into a message that has no content.
func (d *draft) injectWhereEmpty(m *record.Message) error {
	if len(m.Parts) == 0 {
		return d.inject(m, m.FirstPartID())
	}
	for _, is := range [...]func(*record.Part) bool{
		(*record.Part).IsThinking,
		func(p *record.Part) bool { return p.Type == record.TypeStepStart },
	} {
		if p := lastOf(m.Parts, is); p != nil {
			return d.injectAfter(m, p.ID)
		}
	}
	return d.injectAfter(m, m.Parts[len(m.Parts)-1].ID)
}
