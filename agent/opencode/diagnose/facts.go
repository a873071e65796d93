package diagnose

import (
	"cmp"
	"iter"
	"slices"

	"mend/agent/opencode/record"
	"mend/agent/opencode/schema"
	"mend/change"
	"mend/internal/request"
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
	if c.contexts == nil {
		c.contexts = c.messageContexts()
	}
	return c.contexts[m.Ref]
}

// messageContexts returns the results of messageContext for all messages.
func (c *simulation) messageContexts() map[change.Ref]schema.Context {
	all := c.readableMessages()
	before, after := nearest(slices.All(all)), nearest(slices.Backward(all))
	folder := c.s.Directory
	if folder == "" { // workFolder reads all messages, so it is the last resort
		folder = c.workFolder()
	}
	contexts := make(map[change.Ref]schema.Context, len(all))
	for _, m := range all {
		previous, next := before[m], after[m]
		near, far := previous, next
		if m.Role == change.RoleUser {
			near, far = next, previous
		}
		model := cmp.Or(near.model, far.model)
		contexts[m.Ref] = schema.Context{
			Ref: m.Ref, Role: m.Role, Time: cmp.Or(m.Created, c.s.Created, next.created, previous.created),
			Agent:    cmp.Or(agentOf(m), near.agent, far.agent),
			Provider: cmp.Or(m.ProviderID, model.ProviderID), Model: cmp.Or(m.ModelID, model.ModelID),
			Parent: cmp.Or(previous.prompt, next.prompt), Folder: folder,
		}
	}
	return contexts
}

// A neighbour has the nearest value of each field on one side of a message; "" or 0 if no message there has it.
type neighbour struct {
	agent, prompt string // prompt is the id of a prompt
	created       int64
	model         request.Model // one with the provider and the id that the message names
}

// nearest returns, for each message, its neighbour among the messages that precede it in all.
func nearest(all iter.Seq2[int, *record.Message]) map[*record.Message]neighbour {
	found, n, models := map[*record.Message]neighbour{}, neighbour{}, map[request.Model]request.Model{}
	for _, m := range all {
		own := request.Model{ProviderID: m.ProviderID, ModelID: m.ModelID}
		n.model = models[own]
		found[m] = n
		n.agent = cmp.Or(agentOf(m), n.agent)
		if m.Role == change.RoleUser {
			n.prompt = m.ID
		}
		if m.Created > 0 {
			n.created = m.Created
		}
		if m.ProviderID != "" && m.ModelID != "" { // a message may name both, one of them, or neither
			models[own], models[request.Model{ProviderID: m.ProviderID}] = own, own
			models[request.Model{ModelID: m.ModelID}], models[request.Model{}] = own, own
		}
	}
	return found
}

func agentOf(m *record.Message) string {
	return cmp.Or(textAt(m.Data, "agent"), textAt(m.Data, "mode"))
}
