package diagnose

import (
	"fmt"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/jsonedit"
	"mend/request"
	"mend/session"
)

// This file removes thinking that the model does not support, or whose signature the
// provider rejects. Nothing in the store shows either.

// findThinking finds answers with thinking.
func findThinking(c *simulation) (fs []fault) {
	for i := range c.s.Messages {
		if m := &c.s.Messages[i]; m.Role == session.RoleAssistant && isSent(m) && m.HasThinking() {
			fs = append(fs, fault{Ref: m.Ref})
		}
	}
	return fs
}

func whyThinking(c *simulation, f fault) string {
	n := len(thoughts(c.message(f.Ref)))
	if n == 1 {
		return "The message contains thinking, but the model does not support thinking."
	}
	return fmt.Sprintf("The message contains %d thinking blocks, but the model does not support thinking.", n)
}

const losesThoughts = "The thinking in this message, with its signatures."

func fixThinkingOff(c *simulation, f fault) []fix {
	ref := f.Ref
	fixes := []fix{{
		text:  "The thinking is removed; text and tool calls stay.",
		loses: losesThoughts,
		edit:  func(d *draft) error { _, err := d.strip(ref); return err },
	}}
	m := c.message(ref)
	if !anyOf(m.Parts, func(p *record.Part) bool { return hasContent(m, p) }) {
		fixes[0].text = fmt.Sprintf("The thinking is removed. Because nothing else is left, %q replaces it.", c.texts.placeholder)
		fixes[0].edit = func(d *draft) error { return d.stripAlone(ref) }
	}
	return fixes
}

// strip removes the thinking from a message and returns it.
func (d *draft) strip(ref session.Ref) (gone []record.Part, err error) {
	m, err := d.message(ref)
	if err != nil {
		return nil, err
	}
	return m.StripThinking(), nil
}

// stripAlone removes the thinking from a message without other content, and puts the
// placeholder in the place of the last of it.
func (d *draft) stripAlone(ref session.Ref) error {
	gone, err := d.strip(ref)
	if err != nil || len(gone) == 0 {
		return err
	}
	m, err := d.message(ref)
	if err != nil {
		return err
	}
	if replaced, err := m.ReplaceEmptyText(d.texts.placeholder); replaced || err != nil {
		return err
	}
	return d.injectAfter(m, gone[len(gone)-1].ID)
}

// findSent finds all thinking that is sent.
func findSent(c *simulation) (fs []fault) {
	for _, t := range c.render(c.settings[own]).Turns {
		for _, b := range t.Blocks {
			if b.Type == request.Thinking || b.Type == request.RedactedThinking {
				fs = append(fs, fault{Ref: b.Ref()})
			}
		}
	}
	return fs
}

// fixThinking returns the fix that removes one thinking part.
func fixThinking(c *simulation, f fault) []fix {
	m, p := c.part(f.Ref)
	if p == nil {
		return nil
	}
	if c.api() == render.Bedrock {
		return fixEncrypted(c, f)
	}
	fixes := []fix{removeThinking(f.Ref)}
	if len(thoughts(m)) == 1 && !anyOf(m.Parts, func(p *record.Part) bool { return hasContent(m, p) }) {
		fixes = []fix{{
			text:  fmt.Sprintf("The thinking is removed. Because nothing else is left, %q replaces it.", c.texts.placeholder),
			loses: losesThoughts,
			edit:  func(d *draft) error { return d.stripAlone(f.Ref) },
		}}
	}
	return fixes
}

// hiddenFields are where the agent keeps reasoning that only the provider can read, and what
// the provider signed, below the provider's name in a part's metadata (docs/opencode.md F14).
var hiddenFields = []string{"reasoningEncryptedContent", "thoughtSignature", "reasoningOpaque", "reasoning_details"}

// bedrockFields are the same of Bedrock. What Anthropic signed is below another name, and
// goes with its text.
var bedrockFields = []string{"signature", "redactedData", "redactedContent"}

// hiddenPaths returns the places of hidden reasoning in the metadata of the part.
func hiddenPaths(p *record.Part) (paths [][]string) {
	for _, name := range jsonedit.Names(p.Data, "metadata") {
		fields := hiddenFields
		if name == "bedrock" || name == "amazon-bedrock" {
			fields = bedrockFields
		}
		for _, field := range fields {
			if raw, ok := jsonedit.Get(p.Data, "metadata", name, field); ok && notNull(raw) && string(raw) != "[]" {
				paths = append(paths, []string{"metadata", name, field})
			}
		}
	}
	return paths
}

func findEncrypted(c *simulation) (fs []fault) {
	c.eachPart(func(_ *record.Message, p *record.Part) {
		if len(hiddenPaths(p)) > 0 {
			fs = append(fs, fault{Ref: p.Ref})
		}
	})
	return fs
}

func fixEncrypted(_ *simulation, f fault) []fix {
	return []fix{{
		text:  "The encrypted reasoning is removed. Its summary stays.",
		loses: "The encrypted reasoning, which only the provider could read.",
		edit: func(d *draft) error {
			_, p, err := d.part(f.Ref)
			if err != nil {
				return err
			}
			return unsetAll(p, hiddenPaths(p))
		},
	}}
}
