package diagnose

import (
	"bytes"
	"math"
	"strconv"

	"mend/agent/opencode/record"
	"mend/jsonedit"
	"mend/session"
)

// sibling returns the text at path in the nearest message of that role that has one,
// nil if none has.
func (g recordContext) sibling(role string, path ...string) []byte {
	if m := g.nearest(textOf(role, path...)); m != nil {
		return textIn(m, path...)
	}
	return nil
}

// textIn returns the text at path in a message, nil if it is missing or empty.
func textIn(m *record.Message, path ...string) []byte {
	if raw, ok := jsonedit.Get(m.Data, path...); ok && raw[0] == '"' && len(raw) > 2 {
		return raw
	}
	return nil
}

// firstPresent returns the first value that is not empty.
func firstPresent(values ...[]byte) []byte {
	for _, v := range values {
		if len(v) > 0 {
			return v
		}
	}
	return nil
}

// otherRole returns the user's role for the assistant, and the assistant's for any
// other.
func otherRole(role string) string {
	if role == session.RoleUser {
		return session.RoleAssistant
	}
	return session.RoleUser
}

func (g recordContext) agent() []byte {
	return firstPresent(g.sibling(g.m.Role, "agent"), g.sibling(otherRole(g.m.Role), "agent"), g.known.sessionText("agent"))
}

func (g recordContext) mode() []byte {
	return firstPresent(textIn(g.m, "agent"), g.sibling(session.RoleAssistant, "mode"), g.agent())
}

// model returns the name of the provider or of the model. It takes it from the prompt
// of an answer, or from an answer to a prompt; else from the nearest message; else from
// the session; nil if none names a model. If the message has the other name, only a
// source with the same one counts: provider and model must belong together.
func (g recordContext) model(name string) []byte {
	own, _ := modelOf(g.m)
	fits := func(n modelNames) bool {
		return (own.provider == nil || bytes.Equal(own.provider, n.provider)) && (own.model == nil || bytes.Equal(own.model, n.model))
	}
	among := func(m *record.Message) []byte {
		if m == nil {
			return nil
		}
		if n, ok := modelOf(m); ok && fits(n) {
			return n.of(name)
		}
		return nil
	}
	relative := g.nearest(fact{what: "model", parent: g.m.ID})
	if g.m.Role == session.RoleAssistant {
		relative = g.known.timeline().byID[textAt(g.m.Data, "parentID")]
	}
	found := firstPresent(
		among(relative),
		among(g.nearest(fact{"model", g.m.Role, "", string(own.provider), string(own.model)})),
		among(g.nearest(fact{"model", "", "", string(own.provider), string(own.model)})),
	)
	if n, ok := g.known.sessionModel(); found == nil && ok && fits(n) {
		return n.of(name)
	}
	return found
}

// folder returns where the agent worked, nil if that is unknown.
func (g recordContext) folder(name string) []byte {
	if known := g.sibling(session.RoleAssistant, "path", name); known != nil {
		return known
	}
	if g.s.Directory == "" {
		return nil
	}
	return jsonedit.Quote(g.s.Directory)
}

// parent returns the id of the prompt of an answer, nil if there is none.
func (g recordContext) parent() []byte {
	prompt := fact{what: "role", role: session.RoleUser}
	m := g.before(prompt)
	if m == nil {
		m = g.behind(prompt)
	}
	if m == nil {
		return nil
	}
	return jsonedit.Quote(m.ID)
}

// created returns when a message was created: when its first part was, if that is
// between its neighbours; else when the message before it ended.
func (g recordContext) created() []byte {
	if g.m.Created > 0 {
		return strconv.AppendInt(nil, g.m.Created, 10)
	}
	low, high := g.s.Created, int64(math.MaxInt64)
	if m := g.before(timed); m != nil {
		low = max(m.Created, m.Completed)
	}
	if m := g.behind(timed); m != nil {
		high = m.Created
	}
	begun := int64(math.MaxInt64)
	for i := range g.m.Parts {
		if t := partTime(&g.m.Parts[i]); t > 0 {
			begun = min(begun, t)
		}
	}
	if begun < low || begun > high || begun == math.MaxInt64 {
		begun = min(low, high)
	}
	return strconv.AppendInt(nil, begun, 10)
}

// partTime returns when a part was created, 0 if that is unknown.
func partTime(p *record.Part) int64 {
	if p.Start > 0 {
		return p.Start
	}
	created, _ := p.Col("time_created")
	t, _ := created.Int()
	return t
}

// role returns the role of a message that names none.
func (g recordContext) role() []byte {
	return jsonedit.Quote(g.roleOf())
}

func (g recordContext) roleOf() string {
	for _, name := range []string{"parentID", "modelID", "providerID", "mode", "path", "cost", "tokens"} {
		if _, ok := jsonedit.Get(g.m.Data, name); ok {
			return session.RoleAssistant
		}
	}
	if _, ok := jsonedit.Get(g.m.Data, "model"); ok {
		return session.RoleUser
	}
	if g.nearest(fact{what: "answer", parent: g.m.ID}) != nil {
		return session.RoleUser
	}
	for i := range g.m.Parts {
		switch g.m.Parts[i].Type {
		case record.TypeReasoning, record.TypeTool, record.TypeStepStart, record.TypeStepFinish:
			return session.RoleAssistant
		}
	}
	if m := g.before(fact{what: "role"}); m != nil {
		return otherRole(m.Role)
	}
	return session.RoleUser
}

// textAt returns the string at a path, "" if there is none.
func textAt(data []byte, path ...string) string {
	raw, _ := jsonedit.Get(data, path...)
	s, _ := jsonedit.Text(raw)
	return s
}
