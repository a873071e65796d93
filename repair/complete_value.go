package repair

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"

	"mend/session"
)

// around are the messages that can be read, before and behind the one at the
// gap, in their order. One whose time is unknown has its place behind the
// message with the id before its own.
func (g gap) around() (before, behind []*session.Message) {
	var others []*session.Message
	for _, m := range g.known.legible() {
		if m.Ref != g.m.Ref && m.Created > 0 {
			others = append(others, m)
		}
	}
	at := 0
	if g.m.Created > 0 {
		at = slices.IndexFunc(others, func(m *session.Message) bool {
			return cmp.Or(cmp.Compare(m.Created, g.m.Created), cmp.Compare(m.ID, g.m.ID)) > 0
		})
		if at < 0 {
			at = len(others)
		}
		return others[:at], others[at:]
	}
	last := ""
	for i, m := range others {
		if m.ID < g.m.ID && m.ID > last {
			at, last = i+1, m.ID
		}
	}
	return others[:at], others[at:]
}

// nearest is the first thing that find makes of a message around the gap,
// nearest first, those before it first; nil if it makes none.
func (g gap) nearest(find func(*session.Message) []byte) []byte {
	before, behind := g.around()
	for d := range max(len(before), len(behind)) {
		if d < len(before) {
			if v := find(before[len(before)-1-d]); v != nil {
				return v
			}
		}
		if d < len(behind) {
			if v := find(behind[d]); v != nil {
				return v
			}
		}
	}
	for _, m := range g.known.legible() { // those of which nothing tells when they were
		if m.Ref != g.m.Ref && m.Created <= 0 {
			if v := find(m); v != nil {
				return v
			}
		}
	}
	return nil
}

// sibling is the text at path of the nearest message of that role, nil if none
// has one.
func (g gap) sibling(role string, path ...string) []byte {
	return g.nearest(func(m *session.Message) []byte {
		if m.Role == role {
			return given(m, path...)
		}
		return nil
	})
}

// given is the text at path of a message; nil where there is none, or nothing in it.
func given(m *session.Message, path ...string) []byte {
	if raw, ok := session.Field(m.Data, path...); ok && raw[0] == '"' && len(raw) > 2 {
		return raw
	}
	return nil
}

// first is the first value that is there.
func first(values ...[]byte) []byte {
	for _, v := range values {
		if len(v) > 0 {
			return v
		}
	}
	return nil
}

// other is the role of those that a message of this role talks to.
func other(role string) string {
	if role == session.RoleUser {
		return session.RoleAssistant
	}
	return session.RoleUser
}

func (g gap) agent() []byte {
	return first(g.sibling(g.m.Role, "agent"), g.sibling(other(g.m.Role), "agent"), g.known.sessionText("agent"))
}

func (g gap) mode() []byte {
	return first(given(g.m, "agent"), g.sibling(session.RoleAssistant, "mode"), g.agent())
}

func (g gap) providerID() []byte { return g.model("providerID") }
func (g gap) modelID() []byte    { return g.model("modelID") }

// model is one of the names of a model: of that of the prompt of an answer, or of
// an answer to a prompt; else of that of the nearest message, or of the session. If
// the other name is known it is of a model with that name: two models do not make
// one. It is nil if nothing tells.
func (g gap) model(name string) []byte {
	own, _ := modelOf(g.m)
	fits := func(n modelNames) bool {
		return (own.provider == nil || bytes.Equal(own.provider, n.provider)) && (own.model == nil || bytes.Equal(own.model, n.model))
	}
	among := func(want func(*session.Message) bool) []byte {
		return g.nearest(func(m *session.Message) []byte {
			if n, ok := modelOf(m); ok && want(m) && fits(n) {
				return n.of(name)
			}
			return nil
		})
	}
	found := first(
		among(func(m *session.Message) bool {
			return g.m.Role == session.RoleAssistant && textAt(g.m.Data, "parentID") == m.ID || g.m.Role == session.RoleUser && textAt(m.Data, "parentID") == g.m.ID
		}),
		among(func(m *session.Message) bool { return m.Role == g.m.Role }),
		among(func(*session.Message) bool { return true }),
	)
	if n, ok := g.known.sessionModel(); found == nil && ok && fits(n) {
		return n.of(name)
	}
	return found
}

func (g gap) cwd() []byte  { return g.folder("cwd") }
func (g gap) root() []byte { return g.folder("root") }

// folder is where the agent worked, nil if nothing tells.
func (g gap) folder(name string) []byte {
	if known := g.sibling(session.RoleAssistant, "path", name); known != nil {
		return known
	}
	if g.s.Directory == "" {
		return nil
	}
	return session.Quote(g.s.Directory)
}

// parent is the id of the prompt that an answer is to, nil if there is none.
func (g gap) parent() []byte {
	before, behind := g.around()
	isPrompt := func(m *session.Message) bool { return m.Role == session.RoleUser }
	for _, m := range slices.Backward(before) {
		if isPrompt(m) {
			return session.Quote(m.ID)
		}
	}
	if i := slices.IndexFunc(behind, isPrompt); i >= 0 {
		return session.Quote(behind[i].ID)
	}
	return nil
}

// created is when a message began: when its first part did, if that is between
// its neighbours, else as soon as the one before it was done.
func (g gap) created() []byte {
	if g.m.Created > 0 {
		return strconv.AppendInt(nil, g.m.Created, 10)
	}
	before, behind := g.around()
	low, high := g.s.Created, int64(math.MaxInt64)
	if n := len(before); n > 0 {
		low = max(before[n-1].Created, before[n-1].Completed)
	}
	if len(behind) > 0 {
		high = behind[0].Created
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

// partTime is when a part began, 0 if it does not tell.
func partTime(p *session.Part) int64 {
	if p.Start > 0 {
		return p.Start
	}
	created, _ := p.Col("time_created")
	t, _ := created.Int()
	return t
}

// role is who a message is of, where it does not say itself.
func (g gap) role() []byte {
	return session.Quote(g.roleOf())
}

func (g gap) roleOf() string {
	for _, name := range []string{"parentID", "modelID", "providerID", "mode", "path", "cost", "tokens"} {
		if _, ok := session.Field(g.m.Data, name); ok {
			return session.RoleAssistant
		}
	}
	if _, ok := session.Field(g.m.Data, "model"); ok {
		return session.RoleUser
	}
	for i := range g.s.Messages {
		if m := &g.s.Messages[i]; !m.Malformed() && textAt(m.Data, "parentID") == g.m.ID {
			return session.RoleUser
		}
	}
	for i := range g.m.Parts {
		switch g.m.Parts[i].Type {
		case session.TypeReasoning, session.TypeTool, session.TypeStepStart, session.TypeStepFinish:
			return session.RoleAssistant
		}
	}
	before, _ := g.around()
	for _, m := range slices.Backward(before) {
		if m.Role == session.RoleUser || m.Role == session.RoleAssistant {
			return other(m.Role)
		}
	}
	return session.RoleUser
}
