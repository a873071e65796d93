package diagnose

import (
	"cmp"
	"slices"

	"mend/agent/opencode/record"
	"mend/agent/opencode/schema"
	"mend/change"
	"mend/internal/jsonedit"
)

// facts has the data in all records of a session, including damaged ones. It supplies the values that a record lacks.
type facts struct {
	s      *record.Session
	folder func(path string) string // see [Environment]
	cached []*record.Message        // see [facts.messages]
	places *index
}

// contextOf returns the context of a message or a part. ok is false if the record does not exist or its bytes are
// unknown.
func (k *facts) contextOf(ref change.Ref) (recordContext, bool) {
	g := recordContext{known: k}
	if k.places == nil {
		k.places = newIndex(k.s)
	}
	if g.m = k.places.message(ref); g.m == nil {
		return g, false
	}
	if ref.Kind == change.KindMessage {
		return g, !g.m.Unreadable()
	}
	j := k.places.part(g.m, ref)
	if j < 0 {
		return g, false
	}
	g.p = &g.m.Parts[j]
	return g, !g.p.Unreadable()
}

// messages returns the messages of the session with their readable data and with a role, in the order of their
// creation. A message without a time follows the one with the preceding id.
func (k *facts) messages() []*record.Message {
	if k.cached != nil {
		return k.cached
	}
	parents := map[string]bool{}
	for i := range k.s.Messages {
		m := k.s.Messages[i]
		if m.IsMalformed() && !m.Unreadable() {
			r, v := record.Salvage(m.Record)
			data, _ := withoutCutValue(r.Data, v)
			m = record.NewMessage(withData(r, data))
			m.Created, m.Parts = cmp.Or(m.Created, k.s.Messages[i].Created), k.s.Messages[i].Parts
		}
		k.cached = append(k.cached, &m)
		parents[m.Parent] = true
	}
	slices.SortStableFunc(k.cached, func(a, b *record.Message) int { return cmp.Compare(a.ID, b.ID) })
	for i, m := range k.cached[min(1, len(k.cached)):] {
		m.Created = cmp.Or(max(m.Created, 0), k.cached[i].Created)
	}
	slices.SortStableFunc(k.cached, func(a, b *record.Message) int { return cmp.Compare(a.Created, b.Created) })
	role := ""
	for _, m := range k.cached {
		if m.Role != change.RoleUser && m.Role != change.RoleAssistant {
			m.Role = roleOf(m, parents[m.ID], role)
		}
		role = m.Role
	}
	return k.cached
}

// workFolder returns the folder of the first answer that records where the agent worked, or "".
func (k *facts) workFolder() string {
	for _, m := range k.messages() {
		if folder := textAt(m.Data, "path", "cwd"); folder != "" {
			return folder
		}
	}
	return ""
}

// roleOf returns the role of a message that lacks it. answered means that the message is the prompt
// of an answer, and before is the role of the previous message.
func roleOf(m *record.Message, answered bool, before string) string {
	for _, name := range []string{"parentID", "modelID", "providerID", "mode", "path", "cost", "tokens"} {
		if _, ok := jsonedit.Get(m.Data, name); ok {
			return change.RoleAssistant
		}
	}
	if _, ok := jsonedit.Get(m.Data, "model"); ok || answered {
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
func (k *facts) messageContext(m *record.Message) schema.Context {
	all := k.messages()
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
	folder := k.s.Directory
	if folder == "" { // workFolder reads all messages, so it is the last resort
		folder = k.workFolder()
	}
	return schema.Context{
		Ref: m.Ref, Role: own.Role, Time: cmp.Or(own.Created, k.s.Created, near(1,
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
