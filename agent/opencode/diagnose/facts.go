package diagnose

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"mend/agent/opencode/record"
	"mend/agent/opencode/schema"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/request"
)

// facts has what all records of a session show, damaged ones included: what a record
// lacks comes from there.
type facts struct {
	s         *record.Session
	folder    func(path string) string // see [Environment]
	projectOf func(folder string) string
	line      []*shownMessage // see [facts.messages]
	lineAt    map[string]int  // indexes in line, by the ids of refs
	cwd       string          // see [facts.workFolder]
	places    *index
}

// A shownMessage is what the record of a message shows; "" or 0 for what it lacks.
type shownMessage struct {
	m                      *record.Message // nil if nothing of it can be read
	ref, id                string
	role                   string // or else that which follows from the other messages
	agent, provider, model string
	parent                 string
	created, completed     int64
	place                  int64 // its time, or else that of the message with the id before its own
}

// contextOf returns the context of a message or a part. It reports false if the record
// does not exist or its bytes are unknown.
func (k *facts) contextOf(ref change.Ref) (recordContext, bool) {
	g := recordContext{s: k.s, known: k}
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
	g.p, g.at = &g.m.Parts[j], j
	return g, !g.p.Unreadable()
}

// messages returns what the messages of the session show, in the order in which they
// were made.
func (k *facts) messages() []*shownMessage {
	if k.line != nil {
		return k.line
	}
	parents := map[string]bool{}
	for i := range k.s.Messages {
		x := shownIn(k.s, &k.s.Messages[i])
		k.line = append(k.line, x)
		parents[x.parent] = true
	}
	slices.SortStableFunc(k.line, func(a, b *shownMessage) int { return cmp.Compare(a.id, b.id) })
	before := int64(0)
	for _, x := range k.line {
		if x.place = x.created; x.place == 0 {
			x.place = before
		}
		before = x.place
	}
	slices.SortStableFunc(k.line, func(a, b *shownMessage) int { return cmp.Compare(a.place, b.place) })
	k.lineAt = make(map[string]int, len(k.line))
	role := ""
	for i, x := range k.line {
		k.lineAt[x.ref] = i
		if x.m != nil && x.role == "" {
			x.role = roleOf(x.m, parents[x.id], role)
		}
		role = cmp.Or(x.role, role)
		if x.m != nil && k.cwd == "" {
			k.cwd = textAt(x.m.Data, "path", "cwd")
		}
	}
	return k.line
}

// shown returns what the message that is stored under the id shows: nothing if there is none.
func (k *facts) shown(id string) *shownMessage {
	line := k.messages()
	if at, ok := k.lineAt[id]; ok {
		return line[at]
	}
	return &shownMessage{}
}

// workFolder returns where the agent worked according to the first answer that says it,
// "" if none does.
func (k *facts) workFolder() string {
	k.messages()
	return k.cwd
}

// shownIn returns what the record of a message shows.
func shownIn(s *record.Session, m *record.Message) *shownMessage {
	x := &shownMessage{ref: m.Ref.Message, id: m.ID, created: max(m.Created, 0)}
	if m.Unreadable() {
		return x
	}
	if m.Malformed() {
		m = salvaged(s, m)
	}
	x.m, x.created, x.completed = m, max(m.Created, 0), m.Completed
	if m.Role == change.RoleUser || m.Role == change.RoleAssistant {
		x.role = m.Role
	}
	x.agent, x.parent = cmp.Or(textAt(m.Data, "agent"), textAt(m.Data, "mode")), textAt(m.Data, "parentID")
	if x.provider, x.model = modelOf(m); request.IsBlank(x.provider) || request.IsBlank(x.model) {
		x.provider, x.model = strings.TrimSpace(x.provider), strings.TrimSpace(x.model)
	}
	return x
}

// salvaged returns a damaged message with what can be read of its record.
func salvaged(s *record.Session, m *record.Message) *record.Message {
	r, v := s.Salvage(m.Record)
	data := withoutCutValue(r.Data, v)
	if jsonedit.CheckObject(data) != nil {
		data = []byte("{}")
	}
	left := record.NewMessage(with(r, data))
	if left.Created == 0 {
		left.Created = m.Created
	}
	left.Parts = m.Parts
	return &left
}

// modelOf returns the names of the provider and of the model that a prompt asks or that
// wrote an answer.
func modelOf(m *record.Message) (provider, model string) {
	inside := textAt(m.Data, "model", "providerID") + textAt(m.Data, "model", "modelID")
	if own := textAt(m.Data, "providerID") + textAt(m.Data, "modelID"); inside == "" || own != "" && m.Role != change.RoleUser {
		return textAt(m.Data, "providerID"), textAt(m.Data, "modelID")
	}
	return textAt(m.Data, "model", "providerID"), textAt(m.Data, "model", "modelID")
}

// roleOf returns the role of a message that names none. answered says that the message is
// the prompt of an answer, and before is the role of the message before it.
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

// ofMessage returns what a message gets if it lacks it.
func (k *facts) ofMessage(ref change.Ref) schema.Context {
	line := k.messages()
	at := k.lineAt[ref.Message]
	own := line[at]
	// near returns the nearest message that has something, in one direction and then in the other.
	near := func(step int, has func(*shownMessage) bool) *shownMessage {
		for range 2 {
			for i := at + step; i >= 0 && i < len(line); i += step {
				if has(line[i]) {
					return line[i]
				}
			}
			step = -step
		}
		return &shownMessage{}
	}
	const back, on = -1, 1
	x := schema.Context{Ref: ref, Role: own.role, Folder: cmp.Or(k.s.Directory, k.workFolder()), Time: own.created}
	x.Parent = near(back, func(m *shownMessage) bool { return m.role == change.RoleUser }).id
	fits := func(m *shownMessage) bool {
		return m.provider != "" && m.model != "" && (own.provider == "" || own.provider == m.provider) && (own.model == "" || own.model == m.model)
	}
	towards := back // a prompt and its answer have the same agent and model
	if own.role == change.RoleUser {
		towards = on
	}
	if x.Agent = own.agent; x.Agent == "" {
		x.Agent = cmp.Or(near(towards, func(m *shownMessage) bool { return m.agent != "" }).agent, k.sessionText("agent"))
	}
	of := own
	if !fits(own) {
		of = near(towards, fits)
	}
	if row := k.sessionModel(); of.model == "" && fits(row) {
		of = row
	}
	x.Provider, x.Model = of.provider, of.model
	if x.Time == 0 {
		x.Time = k.timeAt(at)
	}
	return x
}

// timeAt returns a time for the message at an index of the line: the end of the one
// before, or the beginning of the one after if that is earlier.
func (k *facts) timeAt(at int) int64 {
	low, high := k.s.Created, int64(math.MaxInt64)
	for _, x := range slices.Backward(k.line[:at]) {
		if x.created > 0 {
			low = max(x.created, x.completed)
			break
		}
	}
	for _, x := range k.line[at+1:] {
		if x.created > 0 {
			high = x.created
			break
		}
	}
	return min(low, high)
}

// sessionModel returns the model in the session's own record.
func (k *facts) sessionModel() *shownMessage {
	model, _ := k.s.Field("model")
	raw := model.Raw()
	if len(raw) == 0 {
		return &shownMessage{}
	}
	return &shownMessage{provider: textAt(raw, "providerID"), model: textAt(raw, "id")}
}

// sessionText returns a text in the session's own record, "" if there is none.
func (k *facts) sessionText(name string) string {
	c, ok := k.s.Info.Col(name)
	switch {
	case !ok:
		return textAt(k.s.Info.Data, name)
	case c.Class != change.ClassText:
		return ""
	}
	return string(c.Bytes)
}
