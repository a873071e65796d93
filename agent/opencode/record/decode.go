package record

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"mend/agent/opencode/js"
	"mend/change"
	"mend/internal/jsonedit"
)

// NewSession decodes a session's own record: a row, or a file, which may begin with a byte order mark. It never fails:
// the Defect of a file names what cannot be read.
func NewSession(r change.Record) Session {
	if r.IsRow() {
		return rowSession(r)
	}
	s := Session{Head: change.Head{ID: r.Ref.Session, Ref: r.Ref, Project: r.Ref.Project}, Info: r}
	obj := decode(&s.Info)
	if obj.Kind() != '{' {
		return s
	}
	s.Info.Defect = nil
	switch id := obj.TextAt("id"); id { // the agent answers prompts even without an id
	case s.ID:
	case "":
		s.Info.Defect = &change.Defect{Kind: change.WrongName, Why: "it contains no id"}
	default:
		s.Info.Defect = &change.Defect{Kind: change.WrongName, Why: "it contains the id " + id}
	}
	s.Directory = obj.TextAt("directory")
	s.Title = obj.TextAt("title")
	s.Parent = obj.TextAt("parentID")
	s.Version = obj.TextAt("version")
	if project := obj.TextAt("projectID"); project != "" {
		s.Project = project
	}
	s.Created, s.Updated = storedTime(obj, "created"), storedTime(obj, "updated")
	return s
}

// rowSession is NewSession for a row. The session's ref has the id in the row.
func rowSession(r change.Record) Session {
	r.Ref = change.Ref{Kind: change.KindSession, Session: r.Text("id")}
	timeIn := func(column string) int64 {
		if ms := r.Int(column); ms <= 1<<53 { // otherwise the agent cannot have written that time
			return max(0, ms)
		}
		return 0
	}
	return Session{Info: r, Head: change.Head{
		ID: r.Ref.Session, Ref: r.Ref, Project: r.Text("project_id"), Directory: r.Text("directory"),
		Title: r.Text("title"), Parent: r.Text("parent_id"), Version: r.Text("version"),
		Created: timeIn("time_created"), Updated: timeIn("time_updated"),
	}}
}

// SetInfo replaces the session's own record, and decodes it again.
func (s *Session) SetInfo(r change.Record) {
	n := NewSession(r)
	n.Others, n.Stray = s.Others, s.Stray
	s.Head, s.Info = n.Head, n.Info
}

// storedTime returns the time in a member, or 0 if the agent cannot have written it.
func storedTime(obj js.Value, name string) int64 {
	ms, _ := obj.Get("time").Get(name).Int()
	return max(0, ms)
}

// NewMessage decodes the record of a message. It never fails: the message's Defect says
// what cannot be read.
func NewMessage(r change.Record) Message {
	m := Message{Record: r, ID: r.Ref.Message}
	column, _ := r.Col("time_created") // the agent sorts rows by it
	at, isTime := column.Int()
	m.Created = at
	m.JSON = decode(&m.Record)
	obj := m.JSON
	if obj.Kind() != '{' {
		return m
	}
	m.ID = decodeID(&m.Record, obj, m.ID)
	m.Role = obj.TextAt("role")
	m.Finish = obj.TextAt("finish")
	m.Parent = obj.TextAt("parentID")
	m.ProviderID = obj.TextAt("providerID")
	m.ModelID = obj.TextAt("modelID")
	if model := obj.Get("model"); model.Kind() == '{' { // user messages
		m.ProviderID = model.TextAt("providerID")
		m.ModelID = model.TextAt("modelID")
	}
	m.Failed = obj.Get("error").Truthy()
	times := obj.Get("time")
	if !isTime {
		m.Created, _ = times.Get("created").Int()
	}
	m.Completed, _ = times.Get("completed").Int()
	return m
}

// NewPart decodes the record of a part. It never fails: the part's Defect names what
// cannot be read.
func NewPart(r change.Record) Part {
	p := Part{Record: r, ID: r.Ref.Part}
	p.JSON = decode(&p.Record)
	obj := p.JSON
	if obj.Kind() != '{' {
		return p
	}
	p.ID = decodeID(&p.Record, obj, p.ID)
	p.Type = obj.TextAt("type")
	p.Synthetic, p.Ignored = obj.Get("synthetic").Kind() == 't', obj.Get("ignored").Kind() == 't'
	times := obj.Get("time")
	switch p.Type {
	case TypeText, TypeReasoning:
		if text := obj.Get("text"); !text.Nullish() {
			p.Text = text.String()
		}
		p.Signature = either(obj.Get("metadata").Get("anthropic"), "signature", "redactedData")
	case TypeThinking, TypeRedactedThinking:
		p.Text = either(obj, "thinking", "text")
		p.Signature = either(obj, "signature", "data")
	case TypeTool:
		state := obj.Get("state")
		p.CallID, p.Tool, p.Status = obj.TextAt("callID"), obj.TextAt("tool"), state.TextAt("status")
		times = state.Get("time")
	case TypeToolUse:
		p.CallID, p.Tool = either(obj, "callID", "id"), either(obj, "name", "tool")
	case TypeToolResult:
		p.CallID = either(obj, "tool_use_id", "toolUseId")
	}
	p.Start, _ = times.Get("start").Int()
	p.End, _ = times.Get("end").Int()
	return p
}

// decode parses the record's data, and sets its Defect if the data is not one JSON object. Like the agent, it also
// returns values that are not objects.
func decode(r *change.Record) (v js.Value) {
	if r.Unreadable() {
		return js.Value{}
	}
	why := "not a JSON object"
	if r.Class != 0 {
		why = "the data column has " + r.Class.String() + ", not text"
	} else if v = js.Parse(r.Data); v.Kind() == '{' {
		return v
	} else if jsonedit.TooDeep(r.Data) {
		r.Defect = &change.Defect{Kind: change.TooDeep, Why: tooDeep(r.Ref).Error()}
		return js.Value{}
	} else if err := jsonedit.CheckObject(r.Data); len(r.Data) == 0 {
		why = "empty, zero bytes"
	} else if len(bytes.Trim(r.Data, "\x00")) == 0 {
		why = "nothing but NUL bytes"
	} else if err != nil {
		why = err.Error()
	}
	if r.Class == 0 && !v.Exists() && !r.IsRow() { // a file may begin with a byte order mark
		v = js.Parse(bytes.TrimPrefix(r.Data, []byte("\ufeff")))
	}
	if !r.IsMalformed() {
		r.Defect = &change.Defect{Kind: change.Malformed, Why: why}
	}
	return v
}

// IsWritten reports whether OpenCode can have written data: one JSON object, in UTF-8.
func IsWritten(data []byte) bool { return jsonedit.IsObject(data) && utf8.Valid(data) }

// NoID is the defect of a file without an id in it.
const NoID = "id is missing or not a string"

// decodeID returns the id in the data of a file. A row has no id in its data.
func decodeID(r *change.Record, obj js.Value, stored string) string {
	if r.IsRow() {
		return stored
	}
	id, ok := obj.Get("id").Text()
	switch {
	case !ok:
		if r.Defect == nil {
			r.Defect = &change.Defect{Kind: change.WrongType, Why: NoID}
		}
		return stored
	case id != stored && r.Defect == nil:
		r.Defect = &change.Defect{Kind: change.WrongName, Why: "it contains the id " + id}
	}
	return id
}

// either returns the first of two members that is a nonempty string, or "".
func either(obj js.Value, name, other string) string {
	if s, _ := obj.Get(name).Text(); s != "" {
		return s
	}
	s, _ := obj.Get(other).Text()
	return s
}

// tooDeep explains that a record nests deeper than [jsonedit.MaxDepth], so that its session cannot be examined.
func tooDeep(ref change.Ref) error {
	return fmt.Errorf("the %v %s nests objects and lists deeper than %d levels, so mend leaves it alone; mend restore "+
		"brings back an earlier state if it was kept", ref.Kind, ref, jsonedit.MaxDepth)
}

// CheckDepth returns an error about the first record that nests too deep.
func (s *Session) CheckDepth() error {
	for r := range s.Records {
		if r.Defect != nil && r.Defect.Kind == change.TooDeep {
			return tooDeep(r.Ref)
		}
	}
	info := &s.Info
	deep := jsonedit.TooDeep(info.Data)
	for c := range info.Cols.All {
		deep = deep || jsonedit.TooDeep(c.Bytes)
	}
	if deep {
		return tooDeep(info.Ref)
	}
	return nil
}
