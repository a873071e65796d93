package session

import (
	"bytes"
	"fmt"
	"slices"
)

// Set puts a JSON value into one field of the part, as [SetField] does, and
// decodes the part anew.
func (p *Part) Set(raw []byte, path ...string) error {
	data, err := SetField(p.Data, raw, path...)
	if err != nil {
		return fmt.Errorf("part %s: %w", p.ID, err)
	}
	r := p.Record
	r.Data, r.Defect = data, nil
	*p = NewPart(r)
	return nil
}

// Move is the same record under another ref: the ids change wherever they
// stand, in the data, in the columns and in the ref, and nothing else does.
// The error says that the data is no JSON object.
func (r *Record) Move(to Ref) (Record, error) {
	moved := *r
	moved.Ref, moved.Defect = to, nil
	for _, id := range idFields(to) {
		if _, ok := r.Col(id.col); ok {
			moved.setCol(TextCol(id.col, id.value))
		}
		if r.Data == nil {
			continue
		}
		obj, err := parseObject(moved.Data)
		if err != nil {
			return Record{}, fmt.Errorf("moving %s: %w", r.Ref, err)
		}
		if had, ok := obj.str(id.field); !ok || had == id.value {
			continue // a row has no ids in its data
		}
		if moved.Data, err = SetField(moved.Data, Quote(id.value), id.field); err != nil {
			return Record{}, fmt.Errorf("moving %s: %w", r.Ref, err)
		}
	}
	return moved, nil
}

type idField struct{ field, col, value string }

// idFields lists where the ids of a ref stand: the record's own, then those of
// the records above it.
func idFields(r Ref) []idField {
	ids := []idField{{"id", "id", r.ID()}}
	if r.Kind == KindPart {
		ids = append(ids, idField{"messageID", "message_id", r.Message})
	}
	if r.Kind != KindSession {
		ids = append(ids, idField{"sessionID", "session_id", r.Session})
	}
	return ids
}

// Part is the message's part with that id, nil if there is none.
func (m *Message) Part(id string) *Part {
	for i := range m.Parts {
		if m.Parts[i].ID == id {
			return &m.Parts[i]
		}
	}
	return nil
}

// Insert adds a part at the place that its id gives it.
func (m *Message) Insert(p Part) {
	m.Parts = append(m.Parts, p)
	m.sortParts()
}

// Remove takes out the part that is stored under ref.
func (m *Message) Remove(ref Ref) {
	m.Parts = slices.DeleteFunc(m.Parts, func(p Part) bool { return p.Ref == ref })
}

// NewTextPart makes a text part of the message that the user did not type,
// marked synthetic. The id decides its place. Mode, white space and columns are
// those of the neighbour it derives from: a part of the message, else a part of
// the session, else the message; the times are the message's. Nothing in it
// depends on the clock or on chance.
func (s *Session) NewTextPart(m *Message, id, text string) Part {
	ref := Ref{Kind: KindPart, Project: m.Ref.Project, Session: s.ID, Message: m.Ref.Message, Part: id}
	r := s.neighbour(m)
	if ref.Project != r.Ref.Project && r.Ref.Kind == KindPart {
		ref.Project = r.Ref.Project
	}
	rec := Record{Ref: ref, Mode: r.Mode}
	members := [][2]string{{"id", id}, {"sessionID", s.ID}, {"messageID", m.Ref.Message}, {"type", TypeText}, {"text", text}}
	if r.Cols == nil {
		rec.Data = objectText(members, "\n  ", " ", "\n")
		return NewPart(rec)
	}
	rec.Data = objectText(members[3:], "", "", "")
	rec.Cols = partCols(r, m, ref)
	return NewPart(rec)
}

// objectText writes the members and "synthetic": true with the given white
// space: before each name, behind each colon, before the closing brace.
func objectText(members [][2]string, indent, space, end string) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for _, m := range members {
		fmt.Fprintf(&b, `%s"%s":%s%s,`, indent, m[0], space, Quote(m[1]))
	}
	fmt.Fprintf(&b, `%s"synthetic":%strue%s}`, indent, space, end)
	return b.Bytes()
}

// neighbour is the record that a new part of the message takes after.
func (s *Session) neighbour(m *Message) *Record {
	if len(m.Parts) > 0 {
		return &m.Parts[0].Record
	}
	for i := range s.Messages {
		if len(s.Messages[i].Parts) > 0 {
			return &s.Messages[i].Parts[0].Record
		}
	}
	return &m.Record
}

// partCols makes a new part's columns: those of a neighbouring part, else the
// five that every known schema has.
func partCols(neighbour *Record, m *Message, ref Ref) []Col {
	created, _ := m.Col("time_created")
	updated, _ := m.Col("time_updated")
	r := Record{Cols: []Col{{Name: "id"}, {Name: "message_id"}, {Name: "session_id"}, {Name: "time_created"}, {Name: "time_updated"}}}
	if neighbour.Ref.Kind == KindPart {
		r.Cols = neighbour.Cols
	}
	for _, id := range idFields(ref) {
		r.setCol(TextCol(id.col, id.value))
	}
	if neighbour.Ref.Message != ref.Message || neighbour.Ref.Kind != KindPart {
		r.setCol(created)
		r.setCol(updated)
	}
	return r.Cols
}
