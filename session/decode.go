package session

import (
	"cmp"
	"slices"
)

// NewMessage decodes the record of a message. It never fails: what cannot be
// read is told in the message's Defect.
func NewMessage(r Record) Message {
	m := Message{Record: r, ID: r.Ref.Message}
	column, _ := r.Col("time_created") // what the agent sorts rows by
	at, isTime := column.Float()
	m.Created, _ = column.Int()
	if column.Class == ClassReal {
		m.Created = int64(min(max(at, -1<<53), 1<<53))
	}
	obj, ok := m.decode()
	if !ok {
		return m
	}
	m.outline = obj.of
	m.ID = m.name(obj, m.ID)
	m.Role = m.want(obj, "role")
	m.Finish, _ = obj.str("finish")
	m.Parent, _ = obj.str("parentID")
	m.ProviderID, _ = obj.str("providerID")
	m.ModelID, _ = obj.str("modelID")
	if model := obj.Get("model"); model.Kind() == '{' { // user messages
		m.ProviderID, _ = model.str("providerID")
		m.ModelID, _ = model.str("modelID")
	}
	m.Failed = obj.isSet("error")
	m.ErrorName, _ = obj.Get("error").str("name")
	times := obj.Get("time")
	created, ok := times.int("created")
	if !ok {
		m.wrong("time.created is missing or no number")
	}
	if !isTime {
		m.Created = created
	}
	m.Completed, _ = times.int("completed")
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
	p.outline = obj.of
	p.ID = p.name(obj, p.ID)
	p.Type = p.want(obj, "type")
	p.Synthetic, p.Ignored = obj.isTrue("synthetic"), obj.isTrue("ignored")
	times := obj.Get("time")
	switch p.Type {
	case TypeText, TypeReasoning:
		p.Text = p.want(obj, "text")
		p.Signature = obj.Get("metadata").Get("anthropic").either("signature", "redactedData")
	case TypeThinking, TypeRedactedThinking:
		p.Text = obj.either("thinking", "text")
		p.Signature = obj.either("signature", "data")
	case TypeTool:
		p.CallID, p.Tool = p.want(obj, "callID"), p.want(obj, "tool")
		times = p.decodeState(obj)
	case TypeToolUse:
		p.CallID, p.Tool = obj.either("callID", "id"), obj.either("name", "tool")
	case TypeToolResult:
		p.CallID = obj.either("tool_use_id", "toolUseId")
	}
	p.Start, _ = times.int("start")
	p.End, _ = times.int("end")
	return p
}

// decodeState reads what a tool part says of its call, and returns its times.
func (p *Part) decodeState(obj Value) (times Value) {
	state := obj.Get("state")
	if state.Kind() != '{' {
		p.wrong("state is missing or no object")
		return Value{}
	}
	p.Status = p.want(state, "status")
	if !state.is("input", '{') {
		p.wrong("state.input is missing or no object")
	}
	switch p.Status {
	case StatusCompleted:
		p.need(state, "output")
	case StatusError:
		p.need(state, "error")
	}
	return state.Get("time")
}

// decode takes apart the record's data; where that cannot be done the record
// gets its Defect.
func (r *Record) decode() (obj Value, ok bool) {
	if r.Malformed() {
		return Value{}, false
	}
	if r.Class != 0 {
		r.Defect = &Defect{Malformed, "the data column holds " + r.Class.String() + ", not text"}
		return Value{}, false
	}
	if o := NewOutline(r.Data); o != nil && o.Root().Kind() == '{' {
		return o.Root(), true
	}
	if NestsTooDeep(r.Data) {
		r.Defect = &Defect{TooDeep, (&DepthError{r.Ref}).Error()}
		return Value{}, false
	}
	_, err := parseObject(r.Data)
	why := cmp.Or(err, errNotObject).Error()
	switch {
	case len(r.Data) == 0:
		why = "empty, zero bytes"
	case zeros(r.Data):
		why = "nothing but NUL bytes"
	}
	r.Defect = &Defect{Malformed, why}
	return Value{}, false
}

func zeros(data []byte) bool {
	return !slices.ContainsFunc(data, func(b byte) bool { return b != 0 })
}

// want is a string member that the agent needs.
func (r *Record) want(obj Value, name string) string {
	s, ok := obj.str(name)
	if !ok {
		r.wrong(name + " is missing or no string")
	}
	return s
}

// need is want without the text, which may be large.
func (r *Record) need(obj Value, name string) {
	if !obj.is(name, '"') {
		r.wrong(name + " is missing or no string")
	}
}

func (r *Record) wrong(why string) {
	if r.Defect == nil || r.Defect.Kind > WrongType {
		r.Defect = &Defect{WrongType, why}
	}
}

// name is the id that a file says it has; a row has no id in its data.
func (r *Record) name(obj Value, stored string) string {
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
