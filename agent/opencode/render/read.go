package render

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mend/agent/opencode/js"
	"mend/jsonedit"
	"mend/session"
)

// A message is a stored message as the agent has it in memory.
type message struct {
	recordState
	isPrompt       bool            // the one that the user types next: it has no record
	timeKey, idKey session.SortKey // by which messages are sorted: the time, then the id
	body           js.Value
	sources        []recordState // of its parts
	parts          []part        // that can be read
	readFailures   []Failure     // why reading it ends the agent
	useFailures    []Failure     // why looking at it does

	// Members that are asked for in every setting.
	role                   string
	finish, summary, error js.Value

	validated bool
	invalid   []Failure // why it cannot be shown, once screened

	compaction *part // the first that asks for one

	rendered []*renderedMessage // what it becomes
}

// A part is a stored part as the agent has it in memory.
type part struct {
	*recordState
	kind string
	body js.Value
}

// A source is a record, as far as a reading depends on it.
type recordState struct {
	ref    session.Ref
	id     string // inside the record
	data   byteRange
	file   bool // no row
	class  session.Class
	defect *session.Defect
}

// A text is where the bytes of a record are.
type byteRange struct {
	first *byte
	size  int
}

func rangeOf(data []byte) byteRange {
	if len(data) == 0 {
		return byteRange{}
	}
	return byteRange{&data[0], len(data)}
}

func stateOf(r *session.Record, id string) recordState {
	return recordState{r.Ref, id, rangeOf(r.Data), r.Cols == nil, r.Class, r.Defect}
}

// has reports whether a part of the message is of that kind.
func (m *message) hasPart(kind string) bool {
	return slices.ContainsFunc(m.parts, func(p part) bool { return p.kind == kind })
}

func isCompaction(p part) bool { return p.kind == "compaction" }

// message takes one apart, or finds it.
func (r *Renderer) message(src *session.Message) *message {
	from := stateOf(&src.Record, src.ID)
	if m := r.messages[src.Ref]; m != nil && m.recordState == from && m.timeKey.Compare(src.SortKey()) == 0 && m.hasParts(src.Parts) {
		return m
	}
	m := readMessage(src)
	m.recordState = from
	if r.messages == nil {
		r.messages = map[session.Ref]*message{}
	}
	r.messages[src.Ref] = m
	return m
}

// holds reports whether these are the message's parts.
func (m *message) hasParts(parts []session.Part) bool {
	if len(parts) != len(m.sources) {
		return false
	}
	for i := range parts {
		if stateOf(&parts[i].Record, parts[i].ID) != m.sources[i] {
			return false
		}
	}
	return true
}

func readMessage(src *session.Message) *message {
	m := &message{timeKey: src.SortKey(), idKey: src.IDKey(), sources: make([]recordState, len(src.Parts)), parts: make([]part, 0, len(src.Parts))}
	v, fault := readRecord(&src.Record, src.Root())
	if fault != "" {
		m.readFailures = append(m.readFailures, Failure{FailureUnreadable, fault, src.Ref})
	}
	m.body = v
	m.role, _ = v.Get("role").Text()
	m.finish, m.summary, m.error = v.Get("finish"), v.Get("summary"), v.Get("error")
	for i := range src.Parts {
		rec := &src.Parts[i].Record
		m.sources[i] = stateOf(rec, src.Parts[i].ID)
		v, fault := readRecord(rec, src.Parts[i].Root())
		if fault == "" && nullFile(rec, v) {
			fault = "null"
		}
		if fault != "" {
			m.readFailures = append(m.readFailures, Failure{FailureUnreadable, fault, rec.Ref})
			continue
		}
		kind, _ := v.Get("type").Text()
		m.parts = append(m.parts, part{&m.sources[i], kind, v})
	}
	if src.Cols == nil {
		sortParts(m.parts)
	}
	if i := slices.IndexFunc(m.parts, isCompaction); i >= 0 {
		m.compaction = &m.parts[i]
	}
	if nullFile(&src.Record, v) {
		m.useFailures = append(m.useFailures, Failure{FailureUnreadable, "null", src.Ref})
	}
	return m
}

// readRecord is the record's JSON, or why the agent cannot read it. JSON that is
// no object can be read: it says neither role nor type, and so it is left out.
func readRecord(r *session.Record, root jsonedit.Value) (v js.Value, fault string) {
	if !r.Unreadable() && r.Class == 0 {
		v = js.Value{Value: root}
		if !v.Exists() && r.Cols == nil { // a file may begin with a byte order mark
			v = js.Parse(bytes.TrimPrefix(r.Data, []byte("\ufeff")))
		}
	}
	switch {
	case v.Exists():
		return v, ""
	case r.Defect != nil:
		return js.Value{}, r.Defect.Why
	}
	return js.Value{}, "no JSON"
}

// nullFile reports whether the record is a file with null, of which nothing can
// be asked. A row gets its ids put in, which makes an object of it.
func nullFile(r *session.Record, v js.Value) bool { return v.Kind() == 'n' && r.Cols == nil }

// after reports whether the message's id is above that of o in JavaScript, where none is above null.
func (m *message) idGreater(o *message) bool {
	return !m.idKey.IsNull() && !o.idKey.IsNull() && m.id > o.id
}

// compare orders messages, the oldest first.
func (p *Profile) compare(a, b *message) int {
	if p.ByTime {
		if c := a.timeKey.Compare(b.timeKey); c != 0 {
			return c
		}
		return a.idKey.Compare(b.idKey)
	}
	return cmp.Compare(a.storedID(), b.storedID())
}

// file is the id that the message is stored under.
func (m *message) storedID() string {
	if m.ref.Kind == session.KindFile { // see [AsRead]
		name, _, _ := strings.Cut(m.ref.Part[:max(0, len(m.ref.Part)-len(".json"))], "/")
		return name
	}
	return cmp.Or(m.ref.Message, m.id)
}

// column is the JSON in a field of the session's own record: a column of a row,
// or a member of a file.
func infoField(s *session.Session, name string) js.Value {
	if c, ok := s.Info.Col(name); ok {
		v, _ := js.ParseColumn(c, true)
		return v
	}
	return js.Parse(s.Info.Data).Get(name)
}

// revert is what is left of the messages once a revert is final, as it is with
// the next prompt; reverted tells whether there was one.
func applyRevert(s *session.Session, all []*message, rule RevertRule) (left []*message, reverted bool) {
	v := infoField(s, "revert")
	if !v.Truthy() {
		return all, false
	}
	id, _ := v.Get("messageID").Text()
	at, keep := v.Get("partID").Text()
	keep = keep && at != "" && rule != RevertWhole
	if rule == RevertByID {
		for _, m := range all {
			switch c := cmp.Compare(m.id, id); {
			case c < 0:
				left = append(left, m)
			case c == 0 && keep:
				left = append(left, m.partsBefore(at))
			}
		}
		return left, true
	}
	i := slices.IndexFunc(all, func(m *message) bool { return m.id == id })
	if i < 0 {
		return all, true
	}
	left = all[:i:i]
	if keep {
		left = append(left, all[i].partsBefore(at))
	}
	return left, true
}

// until is the message with the parts before the one of that id, with all of
// them if there is no such part.
func (m *message) partsBefore(id string) *message {
	left := *m
	left.rendered = nil
	if i := slices.IndexFunc(m.parts, func(p part) bool { return p.id == id }); i >= 0 {
		left.parts = m.parts[:i]
		if !slices.ContainsFunc(left.parts, isCompaction) {
			left.compaction = nil
		}
	}
	return &left
}

// field is the fatal fault of a record that lacks what the agent needs of it.
func fieldFailure(ref session.Ref, format string, args ...any) Failure {
	return Failure{FailureField, fmt.Sprintf(format, args...), ref}
}
