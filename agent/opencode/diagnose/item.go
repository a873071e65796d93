package diagnose

import (
	"mend/agent/opencode/record"
	"mend/jsonedit"
	"mend/session"
)

// The ids that OpenAI gave to the items of its responses (docs/providers.md, O3, O4, O10,
// O11). Without them the same content is sent in full.

// itemPaths returns the places of such ids in the metadata of the part.
func itemPaths(p *record.Part) (paths [][]string) {
	for _, name := range jsonedit.Names(p.Data, "metadata") {
		if _, ok := jsonedit.Get(p.Data, "metadata", name, "itemId"); ok {
			paths = append(paths, []string{"metadata", name, "itemId"})
		}
	}
	return paths
}

// unsetAll removes fields of the part.
func unsetAll(p *record.Part, paths [][]string) error {
	for _, path := range paths {
		if err := p.Unset(path...); err != nil {
			return err
		}
	}
	return nil
}

// findItems finds the assistant messages with ids of items.
func findItems(c *simulation) (fs []fault) {
	for i := range c.s.Messages {
		m := &c.s.Messages[i]
		if m.Role == session.RoleAssistant && anyOf(m.Parts, func(p *record.Part) bool { return len(itemPaths(p)) > 0 }) {
			fs = append(fs, fault{Ref: m.Ref})
		}
	}
	return fs
}

// fixItemIDs removes the ids of all items of the message: those of one response belong
// together.
func fixItemIDs(c *simulation, f fault) []fix {
	loses := ""
	if m := c.message(f.Ref); m != nil && anyOf(m.Parts, isStoredReasoning) {
		loses = "The model's hidden reasoning in this message, which only the provider has. The readable text stays."
	}
	return []fix{{
		text:  "The ids of the provider's items are removed from the message, so its content is sent in full.",
		loses: loses,
		alike: true,
		edit: func(d *draft) error {
			m, err := d.message(f.Ref)
			if err != nil {
				return err
			}
			for i := range m.Parts {
				if err := unsetAll(&m.Parts[i], itemPaths(&m.Parts[i])); err != nil {
					return err
				}
			}
			return nil
		},
	}}
}

// isStoredReasoning reports whether the part is reasoning that is sent by its id alone.
func isStoredReasoning(p *record.Part) bool {
	return p.IsThinking() && len(itemPaths(p)) > 0 && len(hiddenPaths(p)) == 0
}

// fixBareReasoning removes what OpenAI stored with reasoning that older versions send
// because of it.
func fixBareReasoning(_ *simulation, f fault) []fix {
	return []fix{{
		text: "What the provider stored with the reasoning is removed, so no version sends it. Its text stays.",
		edit: func(d *draft) error {
			_, p, err := d.part(f.Ref)
			if err != nil {
				return err
			}
			return p.Unset("metadata")
		},
	}}
}

// fixLongID gives a call an id of its own. An id of an item that is too long goes.
func fixLongID(c *simulation, f fault) []fix {
	if _, p := c.part(f.Ref); p != nil && !p.IsTool() {
		return fixItemIDs(c, f)
	}
	return fixCallID(c, f)
}
