package session

import (
	"cmp"
	"slices"
)

// A Session is a stored conversation.
type Session struct {
	ID   string
	Info Record // the session's own record; its Ref is the zero Ref where there is none

	Project   string // the id of the project it belongs to, where known
	Directory string // where the user worked
	Title     string
	Version   string // of the agent that created it, such as "1.1.53"
	Created   int64  // milliseconds since 1970; 0 where unknown
	Updated   int64

	// Messages are in the order in which the agent reads them: by time of
	// creation, then by id, bytewise.
	Messages []Message

	// Stray lists what stands among the session's records and is none: a link,
	// a pipe, a file or folder that may not be read, a name that is no id.
	Stray []Stray
}

// A Stray is a thing that was found where a record should be.
type Stray struct {
	Path    string // below the root of the store
	Message string // the message among whose parts it stands, "" if none
	Why     string
}

// A Message is one turn of the user or one answer of the model: its metadata,
// and the parts that hold the content.
type Message struct {
	Record
	ID        string // the id inside the record, else the one it is stored under
	Role      string // RoleUser, RoleAssistant, or whatever the record says
	Created   int64  // milliseconds since 1970; 0 where missing
	Completed int64  // 0 while unfinished
	Finish    string // why the model stopped: "stop", "tool-calls", …
	ErrorName string // the name of the stored error; "" without one
	Failed    bool   // an error is stored

	ProviderID, ModelID string // of the model that wrote it, or that was asked

	Parts []Part // in the order of their ids, bytewise: an id is a position
}

// The roles of messages.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// A Part is one piece of a message's content.
type Part struct {
	Record
	ID        string // the id inside the record, else the one it is stored under
	Type      string // TypeText, TypeTool, …; "" where the record does not say
	Text      string // of text and thinking parts
	Synthetic bool   // not typed by the user
	Ignored   bool   // not sent to the model
	Signature string // of thinking parts: what the provider signed it with

	CallID, Tool, Status string // of tool parts
	Start, End           int64  // milliseconds since 1970; 0 where missing
}

// NewMessage decodes the record of a message. It never fails: what cannot be
// read is told in the message's Defect.
func NewMessage(r Record) Message {
	m := Message{Record: r, ID: r.Ref.Message}
	obj, ok := m.decode()
	if !ok {
		return m
	}
	m.ID = m.name(obj, m.ID)
	m.Role = m.want(obj, "role")
	m.Finish, _ = obj.str("finish")
	m.ProviderID, _ = obj.str("providerID")
	m.ModelID, _ = obj.str("modelID")
	if model, ok := obj.sub("model"); ok { // user messages
		m.ProviderID, _ = model.str("providerID")
		m.ModelID, _ = model.str("modelID")
	}
	if e, ok := obj.sub("error"); ok {
		m.Failed = true
		m.ErrorName, _ = e.str("name")
	}
	times, _ := obj.sub("time")
	if m.Created, ok = times.int("created"); !ok {
		m.wrong("time.created is missing or no number")
	}
	m.Completed, _ = times.int("completed")
	if c, ok := r.Col("time_created"); ok { // the column is what the agent sorts by
		m.Created, _ = c.Int()
	}
	return m
}

// NewPart decodes the record of a part. It never fails: what cannot be read is
// told in the part's Defect.
func NewPart(r Record) Part {
	p := Part{Record: r, ID: r.Ref.Part}
	obj, ok := p.decode()
	if !ok {
		return p
	}
	p.ID = p.name(obj, p.ID)
	p.Type = p.want(obj, "type")
	p.Synthetic, p.Ignored = obj.isTrue("synthetic"), obj.isTrue("ignored")
	times, _ := obj.sub("time")
	switch p.Type {
	case TypeText, TypeReasoning:
		p.Text = p.want(obj, "text")
		meta, _ := obj.sub("metadata")
		anthropic, _ := meta.sub("anthropic")
		p.Signature, _ = anthropic.str("signature")
	case TypeThinking, TypeRedactedThinking:
		if p.Text, ok = obj.str("thinking"); !ok {
			p.Text, _ = obj.str("text")
		}
		p.Signature, _ = obj.str("signature")
	case TypeTool:
		p.CallID, p.Tool = p.want(obj, "callID"), p.want(obj, "tool")
		times = p.decodeState(obj)
	case TypeToolUse:
		p.CallID, _ = obj.str("id")
		p.Tool, _ = obj.str("name")
	case TypeToolResult:
		p.CallID, _ = obj.str("tool_use_id")
	}
	p.Start, _ = times.int("start")
	p.End, _ = times.int("end")
	return p
}

// decodeState reads what a tool part says of its call, and returns its times.
func (p *Part) decodeState(obj object) (times object) {
	state, ok := obj.sub("state")
	if !ok {
		p.wrong("state is missing or no object")
		return nil
	}
	p.Status = p.want(state, "status")
	if _, ok := state.sub("input"); !ok {
		p.wrong("state.input is missing or no object")
	}
	switch p.Status {
	case StatusCompleted:
		p.want(state, "output")
	case StatusError:
		p.want(state, "error")
	}
	times, _ = state.sub("time")
	return times
}

// decode takes apart the record's data; where that cannot be done the record
// gets its Defect.
func (r *Record) decode() (object, bool) {
	if r.Malformed() {
		return nil, false
	}
	obj, err := parseObject(r.Data)
	if err == nil {
		return obj, true
	}
	why := err.Error()
	switch {
	case len(r.Data) == 0:
		why = "empty, zero bytes"
	case zeros(r.Data):
		why = "nothing but NUL bytes"
	}
	r.Defect = &Defect{Malformed, why}
	return nil, false
}

func zeros(data []byte) bool {
	return !slices.ContainsFunc(data, func(b byte) bool { return b != 0 })
}

// want is a string member that the agent needs.
func (r *Record) want(obj object, name string) string {
	s, ok := obj.str(name)
	if !ok {
		r.wrong(name + " is missing or no string")
	}
	return s
}

func (r *Record) wrong(why string) {
	if r.Defect == nil || r.Defect.Kind > WrongType {
		r.Defect = &Defect{WrongType, why}
	}
}

// name is the id that a file says it has; a row has no id in its data.
func (r *Record) name(obj object, stored string) string {
	if r.Cols != nil {
		return stored
	}
	id, ok := obj.str("id")
	switch {
	case !ok:
		r.wrong("id is missing or no string")
		return stored
	case id != stored && r.Defect == nil:
		r.Defect = &Defect{WrongName, "the id inside is " + id}
	}
	return id
}

// Sort puts messages and parts in the order in which the agent reads them.
func (s *Session) Sort() {
	slices.SortStableFunc(s.Messages, func(a, b Message) int {
		return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.ID, b.ID))
	})
	for i := range s.Messages {
		s.Messages[i].sortParts()
	}
}

func (m *Message) sortParts() {
	slices.SortStableFunc(m.Parts, func(a, b Part) int { return cmp.Compare(a.ID, b.ID) })
}

// Clone is a copy whose messages and parts can be edited freely. The bytes of
// the records are shared: an edit replaces them, it never writes into them.
func (s *Session) Clone() *Session {
	c := *s
	c.Messages = slices.Clone(s.Messages)
	for i := range c.Messages {
		c.Messages[i].Parts = slices.Clone(c.Messages[i].Parts)
	}
	return &c
}

// Records calls yield for every record that the session has: its own, then each
// message followed by its parts.
func (s *Session) Records(yield func(*Record) bool) {
	if s.Info.Ref.Kind != 0 && !yield(&s.Info) {
		return
	}
	for i := range s.Messages {
		m := &s.Messages[i]
		if !yield(&m.Record) {
			return
		}
		for j := range m.Parts {
			if !yield(&m.Parts[j].Record) {
				return
			}
		}
	}
}

// Message is the message with that id, nil if there is none.
func (s *Session) Message(id string) *Message {
	for i := range s.Messages {
		if s.Messages[i].ID == id {
			return &s.Messages[i]
		}
	}
	return nil
}
