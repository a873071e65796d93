package diagnose

import (
	"fmt"
	"slices"

	"mend/agent/opencode/record"
	"mend/session"
)

// This file fixes text parts without a visible character (docs/providers.md, R5, R11).
// Some versions of OpenCode omit a text of no bytes, and send every other one.

func whyBlank(c *simulation, f fault) string {
	if _, p := c.part(f.Ref); p != nil && p.Text == "" {
		return "The text is empty; the provider rejects that."
	}
	return "The text is only whitespace; the provider rejects that."
}

// fixBlank returns the fixes of a blank text: remove it if the message has other
// content, else replace it by the placeholder, where it is or after the thinking of its
// step.
func fixBlank(c *simulation, f fault) []fix {
	m, p := c.part(f.Ref)
	if p == nil || p.Type != record.TypeText {
		return nil
	}
	var fixes []fix
	if c.known().countContent(m) > 0 {
		fix := removal(f.Ref, "The blank text is removed. The rest of the message stays.", "")
		fix.alike = true
		fixes = append(fixes, fix)
	}
	return append(fixes, blankBecomesPlaceholder(c, f.Ref), placeholderBehindThinking(c, f.Ref))
}

func blankBecomesPlaceholder(c *simulation, ref session.Ref) fix {
	return fix{
		text: fmt.Sprintf("The text becomes %q, marked synthetic.", c.texts.placeholder),
		edit: func(d *draft) error {
			_, p, err := d.part(ref)
			if err != nil {
				return err
			}
			return p.ReplaceText(d.texts.placeholder)
		},
	}
}

func placeholderBehindThinking(c *simulation, ref session.Ref) fix {
	return fix{
		text: fmt.Sprintf("The blank text is removed, and a synthetic text %q is inserted after the thinking.", c.texts.placeholder),
		edit: func(d *draft) error {
			m, err := d.message(ref)
			if err != nil {
				return err
			}
			step := stepOf(m, ref)
			if at := slices.IndexFunc(step, func(p record.Part) bool { return p.IsTool() }); at >= 0 {
				step = step[:at] // the provider accepts no text after a call
			}
			last := lastOf(step, (*record.Part).IsThinking)
			if last == nil {
				return fmt.Errorf("%s: no thinking in its step before a call", ref)
			}
			id := last.ID
			m.Remove(ref)
			return d.injectAfter(m, id)
		},
	}
}
