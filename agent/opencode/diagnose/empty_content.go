package diagnose

import (
	"fmt"

	"mend/session"
)

// Messages of which nothing goes out (docs/providers.md, R6).

// findNothing finds messages that hold nothing that was said, done or thought.
// The agent leaves them out, so they do no harm.
func findNothing(c *chart) (fs []fault) {
	for i := range c.s.Messages {
		m := &c.s.Messages[i]
		if m.Role != session.RoleUser && m.Role != session.RoleAssistant || !sent(m) || m.Malformed() {
			continue
		}
		if len(m.Parts) == 0 || m.Role == session.RoleAssistant && !anyOf(m.Parts, isSomething) {
			fs = append(fs, fault{Ref: m.Ref})
		}
	}
	return fs
}

func isSomething(p *session.Part) bool {
	return p.Malformed() || p.Sent() || p.IsThinking() || p.Type == session.TypeText
}

func whyNothing(c *chart, f fault) string {
	if m := c.message(f.Ref); len(m.Parts) == 0 {
		return "The message has no parts; the agent leaves it out."
	}
	return "The answer holds nothing that the model said or did; the agent leaves it out."
}

// fixEmptyTurn puts the placeholder into the message: for a blank text, behind
// its thinking, behind the start of its last step, or as its only part.
func fixEmptyTurn(c *chart, f fault) []fix {
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
	id := placeFor(m)
	return append(fixes, fix{
		cure: fmt.Sprintf("A synthetic text %q is put into the message.", c.texts.placeholder),
		edit: func(d *draft) error {
			m, err := d.message(f.Ref)
			if err != nil {
				return err
			}
			return d.inject(m, id)
		},
	})
}

// placeFor is the id of a text for a message that says nothing.
func placeFor(m *session.Message) string {
	if len(m.Parts) == 0 {
		return m.FirstPartID()
	}
	for _, is := range [...]func(*session.Part) bool{
		(*session.Part).IsThinking,
		func(p *session.Part) bool { return p.Type == session.TypeStepStart },
	} {
		if p := lastOf(m.Parts, is); p != nil {
			return p.ID + suffix
		}
	}
	return m.Parts[len(m.Parts)-1].ID + suffix
}
