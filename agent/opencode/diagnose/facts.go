package diagnose

import (
	"cmp"
	"slices"

	"mend/agent/opencode/record"
	"mend/agent/opencode/schema"
	"mend/change"
)

// The values that an incomplete record lacks, from the other records of its session.

// contextOf returns the context of a message or a part. ok is false if the record does not exist or its bytes are
// unknown.
func (c *simulation) contextOf(ref change.Ref) (g recordContext, ok bool) {
	m, p := c.part(ref)
	if m == nil || p == nil && ref.Kind != change.KindMessage {
		return g, false
	}
	return recordContext{m: m, p: p, session: c}, !c.unreadable(ref)
}

// readableMessages returns the messages of the session with their readable data and with a role, in the order of their
// creation. A message without a time follows the one with the preceding id.
func (c *simulation) readableMessages() []*record.Message {
	if c.readable != nil {
		return c.readable
	}
	parents := map[string]bool{}
	for i := range c.s.Messages {
		m := c.s.Messages[i]
		if m.IsMalformed() && !m.Unreadable() {
			r, v := record.Salvage(m.Record)
			data, _ := withoutCutValue(r.Data, v)
			m = record.NewMessage(withData(r, data))
			m.Created, m.Parts = cmp.Or(m.Created, c.s.Messages[i].Created), c.s.Messages[i].Parts
		}
		c.readable = append(c.readable, &m)
		parents[m.Parent] = true
	}
	slices.SortStableFunc(c.readable, func(a, b *record.Message) int { return cmp.Compare(a.ID, b.ID) })
	for i, m := range c.readable[min(1, len(c.readable)):] {
		m.Created = cmp.Or(max(m.Created, 0), c.readable[i].Created)
	}
	slices.SortStableFunc(c.readable, func(a, b *record.Message) int { return cmp.Compare(a.Created, b.Created) })
	role := ""
	for _, m := range c.readable {
		if m.Role != change.RoleUser && m.Role != change.RoleAssistant {
			m.Role = roleOf(m, parents[m.ID], role)
		}
		role = m.Role
	}
	return c.readable
}

// workFolder returns the folder of the first answer that records where the agent worked, or "".
func (c *simulation) workFolder() string {
	for _, m := range c.readableMessages() {
		if folder := textAt(m.Data, "path", "cwd"); folder != "" {
			return folder
		}
	}
	return ""
}

// roleOf returns the role of a message that lacks it. answered means that the message is the prompt
// of an answer, and before is the role of the previous message.
func roleOf(m *record.Message, answered bool, before string) string {
	switch {
	case m.Parent != "":
		return change.RoleAssistant
	case answered:
		return change.RoleUser
	}
	for i := range m.Parts {
		switch m.Parts[i].Type {
		case record.TypeReasoning, record.TypeTool, record.TypeStepStart, record.TypeStepFinish:
			return change.RoleAssistant
		}
	}
	if before == change.RoleUser {
		return change.RoleAssistant
	}
	return change.RoleUser
}

// messageContext returns values for the missing fields of a message, taken from the nearest messages. A prompt and its
// answer have the same agent and model.
func (c *simulation) messageContext(m *record.Message) schema.Context {
	all := c.readableMessages()
	at := slices.IndexFunc(all, func(x *record.Message) bool { return x.Ref == m.Ref })
	own := all[at]
	near := func(step int, match func(*record.Message) bool) *record.Message {
		for range 2 {
			for i := at + step; i >= 0 && i < len(all); i += step {
				if match(all[i]) {
					return all[i]
				}
			}
			step = -step
		}
		return &record.Message{}
	}
	step := -1
	if own.Role == change.RoleUser {
		step = 1
	}
	model := near(step, func(x *record.Message) bool {
		return x.ProviderID != "" && x.ModelID != "" && (own.ProviderID == "" || own.ProviderID == x.ProviderID) &&
			(own.ModelID == "" || own.ModelID == x.ModelID)
	})
	folder := c.s.Directory
	if folder == "" { // workFolder reads all messages, so it is the last resort
		folder = c.workFolder()
	}
	return schema.Context{
		Ref: m.Ref, Role: own.Role, Time: cmp.Or(own.Created, c.s.Created, near(1,
			func(x *record.Message) bool { return x.Created > 0 }).Created),
		Agent:    cmp.Or(agentOf(own), agentOf(near(step, func(x *record.Message) bool { return agentOf(x) != "" }))),
		Provider: cmp.Or(own.ProviderID, model.ProviderID), Model: cmp.Or(own.ModelID, model.ModelID),
		Parent: near(-1, func(x *record.Message) bool { return x.Role == change.RoleUser }).ID,
		Folder: folder,
	}
}

func agentOf(m *record.Message) string {
	return cmp.Or(textAt(m.Data, "agent"), textAt(m.Data, "mode"))
}
