package wire

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"mend/session"
)

// A message is a stored message as the agent has it in memory.
type message struct {
	prompt  bool // the one that the user types next: it has no record
	ref     session.Ref
	id      string // the id inside the record
	created int64
	raw     value
	info    object
	parts   []part
	broken  []Fatal // why reading it ends the agent
	faulty  []Fatal // why looking at it does
}

// A part is a stored part as the agent has it in memory.
type part struct {
	ref  session.Ref
	id   string
	kind string
	raw  value
	obj  object
}

func (m *message) role() string {
	role, _ := m.info["role"].str()
	return role
}

// has reports whether a part of the message is of that kind.
func (m *message) has(kind string) bool {
	return slices.ContainsFunc(m.parts, func(p part) bool { return p.kind == kind })
}

// read takes the records apart, in the order in which the profile's version
// reads them.
func read(s *session.Session, p Profile) []message {
	all := make([]message, 0, len(s.Messages)+1)
	for i := range s.Messages {
		all = append(all, readMessage(&s.Messages[i]))
	}
	slices.SortStableFunc(all, p.compare)
	return all
}

func readMessage(src *session.Message) message {
	m := message{ref: src.Ref, id: src.ID, created: src.Created}
	v, fault := readRecord(&src.Record)
	if fault != "" {
		m.broken = append(m.broken, Fatal{FatalUnreadable, fault, src.Ref})
	}
	m.raw, m.info = v, v.object()
	for i := range src.Parts {
		r := &src.Parts[i].Record
		v, fault := readRecord(r)
		if fault == "" && nullFile(r, v) {
			fault = "null"
		}
		if fault != "" {
			m.broken = append(m.broken, Fatal{FatalUnreadable, fault, r.Ref})
			continue
		}
		p := part{ref: r.Ref, id: src.Parts[i].ID, raw: v, obj: v.object()}
		p.kind, _ = p.obj["type"].str()
		m.parts = append(m.parts, p)
	}
	if nullFile(&src.Record, v) {
		m.faulty = append(m.faulty, Fatal{FatalUnreadable, "null", src.Ref})
	}
	return m
}

// readRecord is the record's JSON, or why the agent cannot read it. JSON that is
// no object can be read: it says neither role nor type, and so it is left out.
func readRecord(r *session.Record) (v value, fault string) {
	if r.Unreadable() || r.Class != 0 {
		return nil, r.Defect.Why
	}
	data := r.Data
	if r.Cols == nil { // a file may begin with a byte order mark
		data = bytes.TrimPrefix(data, []byte("\ufeff"))
	}
	v, ok := parse(data)
	switch {
	case ok:
		return v, ""
	case r.Defect != nil:
		return nil, r.Defect.Why
	}
	return nil, "no JSON"
}

// nullFile reports whether the record is a file with null, of which nothing can
// be asked. A row gets its ids put in, which makes an object of it.
func nullFile(r *session.Record, v value) bool { return v.kind() == 'n' && r.Cols == nil }

// compare orders messages, the oldest first.
func (p Profile) compare(a, b message) int {
	if p.ByTime {
		return cmp.Or(cmp.Compare(a.created, b.created), cmp.Compare(a.id, b.id))
	}
	return cmp.Compare(a.file(), b.file())
}

// file is the id that the message is stored under.
func (m *message) file() string { return cmp.Or(m.ref.Message, m.id) }

// column is the JSON in a field of the session's own record: a column of a row,
// or a member of a file.
func column(s *session.Session, name string) value {
	if c, ok := s.Info.Col(name); ok {
		v, _ := parse(c.Bytes)
		return v
	}
	v, _ := parse(s.Info.Data)
	return v.object()[name]
}

// revert is what is left of the messages once a revert is final, as it is with
// the next prompt; reverted tells whether there was one.
func revert(s *session.Session, all []message, rule RevertRule) (left []message, reverted bool) {
	v := column(s, "revert")
	if !v.truthy() {
		return all, false
	}
	id, _ := v.object()["messageID"].str()
	at, keep := v.object()["partID"].str()
	keep = keep && at != "" && rule != RevertWhole
	if rule == RevertByID {
		for _, m := range all {
			switch c := cmp.Compare(m.id, id); {
			case c < 0:
				left = append(left, m)
			case c == 0 && keep:
				left = append(left, m.until(at))
			}
		}
		return left, true
	}
	i := slices.IndexFunc(all, func(m message) bool { return m.id == id })
	if i < 0 {
		return all, true
	}
	left = all[:i:i]
	if keep {
		left = append(left, all[i].until(at))
	}
	return left, true
}

// until is the message with the parts before the one of that id, with all of
// them if there is no such part.
func (m message) until(id string) message {
	if i := slices.IndexFunc(m.parts, func(p part) bool { return p.id == id }); i >= 0 {
		m.parts = m.parts[:i]
	}
	return m
}

// field is the fatal fault of a record that lacks what the agent needs of it.
func field(ref session.Ref, format string, args ...any) Fatal {
	return Fatal{FatalField, fmt.Sprintf(format, args...), ref}
}
