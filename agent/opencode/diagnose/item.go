package diagnose

import (
	"mend/agent/opencode/record"
	"mend/agent/opencode/schema"
	"mend/jsonedit"
	"mend/session"
)

// The ids that OpenAI gave to the items of its responses (docs/providers.md, O3, O4, O10,
// O11). Without them the same content is sent in full.

// itemPaths returns the places of such ids in the metadata of the part. A call that the
// provider ran itself is sent by its own id, because of a mark.
func itemPaths(p *record.Part) (paths [][]string) {
	for _, name := range jsonedit.Names(p.Data, "metadata") {
		if _, ok := jsonedit.Get(p.Data, "metadata", name, "itemId"); ok {
			paths = append(paths, []string{"metadata", name, "itemId"})
		}
	}
	if _, ok := jsonedit.Get(p.Data, "metadata", schema.ProviderExecuted); ok && p.IsTool() {
		paths = append(paths, []string{"metadata", schema.ProviderExecuted})
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
		edit:  func(d *draft) error { return d.removeItemIDs(f.Ref) },
	}}
}

// removeItemIDs removes the ids of all items of the message.
func (d *draft) removeItemIDs(ref session.Ref) error {
	m, err := d.message(ref)
	if err != nil {
		return err
	}
	for i := range m.Parts {
		if err := unsetAll(&m.Parts[i], itemPaths(&m.Parts[i])); err != nil {
			return err
		}
	}
	return nil
}

// fixRepeatedItem removes the ids of all items of the messages that have the same id: which of
// them the provider gave it to is not known, and an item of another response would not follow
// its reasoning.
func fixRepeatedItem(c *simulation, f fault) []fix {
	_, p := c.part(f.Ref)
	if p == nil {
		return nil
	}
	var all []session.Ref
	loses := ""
	for i := range c.s.Messages {
		m := &c.s.Messages[i]
		if anyOf(m.Parts, func(q *record.Part) bool { return sharesItemID(p, q) }) {
			all = append(all, m.Ref)
			if anyOf(m.Parts, isStoredReasoning) {
				loses = "The model's hidden reasoning in these messages, which only the provider has. The readable text stays."
			}
		}
	}
	return []fix{{
		text:  "The ids of the provider's items are removed from the messages with the same id, so their content is sent in full.",
		loses: loses,
		whole: true,
		edit: func(d *draft) error {
			for _, ref := range all {
				if err := d.removeItemIDs(ref); err != nil {
					return err
				}
			}
			return nil
		},
	}}
}

// sharesItemID reports whether two parts have an id of an item in common.
func sharesItemID(p, q *record.Part) bool {
	for _, path := range itemPaths(p) {
		id := textAt(p.Data, path...)
		for _, other := range itemPaths(q) {
			if id != "" && textAt(q.Data, other...) == id {
				return true
			}
		}
	}
	return false
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
