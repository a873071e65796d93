package record

import (
	"bytes"
	"fmt"
	"slices"

	"mend/change"
	"mend/internal/jsonedit"
)

// Set sets one field of the part to a JSON value, like [jsonedit.Set], and decodes the part again.
func (p *Part) Set(raw []byte, path ...string) error {
	data, err := jsonedit.Set(p.Data, raw, path...)
	return p.setData(data, err)
}

// Unset removes one field of the part, like [jsonedit.Remove], and decodes the part again.
func (p *Part) Unset(path ...string) error {
	data, err := jsonedit.Remove(p.Data, path...)
	return p.setData(data, err)
}

// setData replaces the data of the part and decodes it if err is nil; otherwise it returns err with the part's id.
func (p *Part) setData(data []byte, err error) error {
	if err != nil {
		return fmt.Errorf("part %s: %w", p.ID, err)
	}
	r := p.Record
	r.Data, r.Class, r.Defect = data, 0, nil
	*p = NewPart(r)
	return nil
}

// DropElements removes elements of a list of the part, like [jsonedit.RemoveElements], and decodes
// the part again.
func (p *Part) DropElements(drop func(raw []byte) bool, path ...string) error {
	data, err := jsonedit.Edit(p.Data, func(list []byte) ([]byte, error) {
		return jsonedit.RemoveElements(list, drop), nil
	}, path...)
	return p.setData(data, err)
}

// Move returns the record under another ref. It changes only the ids in the data, in the columns
// and in the ref. It returns an error if the data is not a JSON object.
func Move(r *change.Record, to change.Ref) (change.Record, error) {
	moved := *r
	moved.Ref, moved.Defect = to, nil
	for _, id := range idFields(to) {
		if _, ok := r.Col(id.col); ok {
			moved = moved.WithCol(change.TextCol(id.col, id.value))
		}
		if r.Data == nil {
			continue
		}
		if err := jsonedit.CheckObject(moved.Data); err != nil {
			return change.Record{}, fmt.Errorf("moving %s: %w", r.Ref, err)
		}
		old, ok := jsonedit.Parse(moved.Data).Get(id.field).Text()
		if !ok || old == id.value {
			continue // a row has no ids in its data
		}
		var err error
		if moved.Data, err = jsonedit.Set(moved.Data, jsonedit.Quote(id.value), id.field); err != nil {
			return change.Record{}, fmt.Errorf("moving %s: %w", r.Ref, err)
		}
	}
	return moved, nil
}

type idField struct{ field, col, value string }

// idFields returns the fields and columns with the ids of a ref: the record's own id, then the ids of its parents.
func idFields(r change.Ref) []idField {
	ids := []idField{{"id", "id", r.ID()}}
	if r.Kind == change.KindPart {
		ids = append(ids, idField{"messageID", "message_id", r.Message})
	}
	if r.Kind != change.KindSession {
		ids = append(ids, idField{"sessionID", "session_id", r.Session})
	}
	return ids
}

// Part returns the message's part with the id, or nil.
func (m *Message) Part(id string) *Part {
	for i := range m.Parts {
		if m.Parts[i].ID == id {
			return &m.Parts[i]
		}
	}
	return nil
}

// Insert adds a part. Its position follows from its id.
func (m *Message) Insert(p Part) {
	m.Parts = append(m.Parts, p)
	m.sortParts()
}

// Remove removes the part with that ref.
func (m *Message) Remove(ref change.Ref) {
	m.Parts = slices.DeleteFunc(m.Parts, func(p Part) bool { return p.Ref == ref })
}

// NewTextPart returns a new text part for the message, marked synthetic. Its id determines its position. Mode and
// columns, with the times, are copied from a part of the message; without one, from another part of the session or the
// message itself, with the times of the message. Nothing depends on the clock or on random numbers.
func (s *Session) NewTextPart(m *Message, id, text string) Part {
	return s.newPart(m, id, syntheticText(text))
}

// NewReasoning returns a new reasoning part, otherwise like [Session.NewTextPart].
func (s *Session) NewReasoning(m *Message, id, text string) Part {
	return s.newPart(m, id, []jsonedit.Member{
		textMember("type", TypeReasoning), textMember("text", text),
		{Name: "time", Raw: fmt.Appendf(nil, `{"start":%d,"end":%[1]d}`, m.Created)},
	})
}

// NewStepStart returns a new step-start part, otherwise like [Session.NewTextPart].
func (s *Session) NewStepStart(m *Message, id string) Part {
	return s.newPart(m, id, []jsonedit.Member{textMember("type", TypeStepStart)})
}

func (s *Session) newPart(m *Message, id string, fields []jsonedit.Member) Part {
	ref := change.Ref{Kind: change.KindPart, Project: m.Ref.Project, Session: s.ID, Message: m.Ref.Message, Part: id}
	r := &m.Record
	for _, other := range slices.Concat([]Message{*m}, s.Messages) {
		i := slices.IndexFunc(other.Parts, func(p Part) bool { return !p.IsMalformed() })
		if i >= 0 {
			r = &other.Parts[i].Record
			ref.Project = r.Ref.Project
			break
		}
	}
	rec := change.Record{Ref: ref, Mode: r.Mode}
	if r.IsRow() {
		rec.Cols = partCols(r, m, ref)
	} else {
		fields = append(ownIDs(ref), fields...)
	}
	rec.Data = jsonedit.Object(fields...)
	return NewPart(rec)
}

func textMember(name, text string) jsonedit.Member {
	return jsonedit.Member{Name: name, Raw: jsonedit.Quote(text)}
}

// partCols returns the columns of a new part: the neighbour's if the neighbour is a part, or else the five columns that
// every known schema has.
func partCols(neighbour *change.Record, m *Message, ref change.Ref) change.Cols {
	created, _ := m.Col("time_created")
	updated, _ := m.Col("time_updated")
	r := change.Record{Cols: change.NewCols(change.Col{Name: "id"}, change.Col{Name: "message_id"},
		change.Col{Name: "session_id"}, change.Col{Name: "time_created"}, change.Col{Name: "time_updated"})}
	if neighbour.Ref.Kind == change.KindPart {
		r.Cols = neighbour.Cols
	}
	for _, id := range idFields(ref) {
		r = r.WithCol(change.TextCol(id.col, id.value))
	}
	if neighbour.Ref.Message != ref.Message || neighbour.Ref.Kind != change.KindPart {
		r = r.WithCol(created)
		r = r.WithCol(updated)
	}
	return r.Cols
}

// InjectText adds a synthetic text part with the id to the message. It reports false if the id is
// invalid or in use.
func (s *Session) InjectText(m *Message, id, text string) bool {
	if !m.Free(id) {
		return false
	}
	m.Insert(s.NewTextPart(m, id, text))
	return true
}

// ReplaceText replaces the text of the part and marks it synthetic, because neither the model nor
// the user wrote it. It returns an error if the part is not a JSON object.
func (p *Part) ReplaceText(text string) error {
	if err := p.Set(jsonedit.Quote(text), "text"); err != nil {
		return err
	}
	return p.Set([]byte("true"), "synthetic")
}

// BecomeText replaces the part with a synthetic text. Its ids, mode and columns stay.
func (p *Part) BecomeText(text string) {
	*p = NewPart(Rewrite(p.Record, syntheticText(text)...))
}

func syntheticText(text string) []jsonedit.Member {
	return []jsonedit.Member{
		textMember("type", TypeText), textMember("text", text), {Name: "synthetic", Raw: []byte("true")},
	}
}

// Free reports whether a new part of the message can have the id.
func (m *Message) Free(id string) bool {
	return change.ValidateID(id) == nil && !slices.ContainsFunc(m.Parts, func(p Part) bool {
		return p.ID == id || p.Ref.Part == id
	})
}

// Rewrite returns r with other data: an object with these members. In a file, the record's own ids come first. Ids,
// mode and columns stay.
func Rewrite(r change.Record, members ...jsonedit.Member) change.Record {
	if !r.IsRow() {
		members = append(ownIDs(r.Ref), members...)
	}
	r.Data, r.Class, r.Defect = jsonedit.Object(members...), 0, nil
	return r
}

// Salvage returns r with its own ids and the data that [jsonedit.ParsePartial] can read, and that data itself. If
// nothing can be read, or if the data column of a row is neither text nor a blob, the record has only its ids.
func Salvage(r change.Record) (change.Record, jsonedit.Partial) {
	var v jsonedit.Partial
	if r.Class == 0 || r.Class == change.ClassBlob {
		v = jsonedit.ParsePartial(r.Data)
	}
	if v.Data == nil || !hasMembers(v.Data) && !v.Complete {
		return Rewrite(r), jsonedit.Partial{}
	}
	r.Data, r.Class, r.Defect = v.Data, 0, nil
	if r.IsRow() {
		return r, v
	}
	var err error
	for _, id := range ownIDs(r.Ref) {
		if slices.Equal(v.Cut, []string{id.Name}) {
			v.Cut = []string{} // only an id was cut off, and the record's ref has it
		}
		if raw, _ := jsonedit.Get(r.Data, id.Name); bytes.Equal(raw, id.Raw) {
			continue
		}
		if r.Data, err = jsonedit.Set(r.Data, id.Raw, id.Name); err != nil {
			return Rewrite(r), jsonedit.Partial{}
		}
	}
	v.Data = r.Data
	return r, v
}

func hasMembers(data []byte) bool {
	for range jsonedit.Parse(data).Children() {
		return true
	}
	return false
}

// ownIDs returns the ids in a record's file, in the agent's order.
func ownIDs(r change.Ref) []jsonedit.Member {
	ids := []jsonedit.Member{textMember("id", r.ID())}
	if r.Kind != change.KindSession {
		ids = append(ids, textMember("sessionID", r.Session))
	}
	if r.Kind == change.KindPart {
		ids = append(ids, textMember("messageID", r.Message))
	}
	return ids
}
