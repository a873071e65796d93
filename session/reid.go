package session

import (
	"fmt"

	"mend/jsonedit"
)

// Rename gives messages and parts other ids, which ids has by those under which
// they are stored and by which others refer to them, and follows wherever a
// record of the session refers to one: from a part to its message, from an
// answer to its prompt, from a compaction to what it kept, from an attachment to
// where it was attached, from a revert to where it leads back. Every other byte
// stays. Afterwards messages and parts are in the order of their new ids.
//
// The error names a record that has to change and is no JSON object, or an id
// that is none; the session is then as it was.
func (s *Session) Rename(ids map[string]string) error {
	messages := make([]Message, len(s.Messages))
	for i := range s.Messages {
		m, err := s.Messages[i].renamed(ids)
		if err != nil {
			return fmt.Errorf("renaming %s: %w", s.Messages[i].Ref, err)
		}
		messages[i] = m
	}
	s.Messages = messages
	s.Info = s.Info.led(ids)
	s.Sort()
	return nil
}

func (m *Message) renamed(ids map[string]string) (Message, error) {
	r, err := m.under(ids, func(data []byte) []byte { return refer(data, ids, "parentID") })
	if err != nil {
		return Message{}, err
	}
	to := NewMessage(r)
	for i := range m.Parts {
		p := &m.Parts[i]
		r, err := p.under(ids, func(data []byte) []byte { return p.refer(data, ids) })
		if err != nil {
			return Message{}, err
		}
		to.Parts = append(to.Parts, NewPart(r))
	}
	return to, nil
}

// under is the record with the ids that it and the message above it get, and
// with what else it refers to. One that is no JSON object can stay as it is, and
// do nothing else.
func (r *Record) under(ids map[string]string, refer func([]byte) []byte) (Record, error) {
	ref := r.Ref
	ref.Message, ref.Part = now(ids, ref.Message), now(ids, ref.Part)
	if r.Malformed() {
		if ref != r.Ref {
			return Record{}, fmt.Errorf("%s: %s", r.Ref, r.Defect.Why)
		}
		return *r, nil
	}
	to := *r
	if ref != r.Ref {
		if err := ref.Validate(); err != nil {
			return Record{}, err
		}
		var err error
		if to, err = r.Move(ref); err != nil {
			return Record{}, err
		}
	}
	to.Data = refer(to.Data)
	return to, nil
}

func now(ids map[string]string, id string) string {
	if to, ok := ids[id]; ok {
		return to
	}
	return id
}

// refer writes the new ids that the part's data refers to.
func (p *Part) refer(data []byte, ids map[string]string) []byte {
	switch p.Type {
	case "compaction":
		return refer(data, ids, "tail_start_id")
	case TypeTool:
		path := []string{"state", "attachments"}
		list, ok := jsonedit.Get(data, path...)
		if !ok {
			return data
		}
		with := jsonedit.EditElements(list, func(file []byte) []byte {
			return refer(refer(file, ids, "id"), ids, "messageID")
		})
		if changed, err := jsonedit.Set(data, with, path...); err == nil {
			return changed
		}
	}
	return data
}

// led is the session's own record with its revert, a column or a field, leading
// to the new ids.
func (r *Record) led(ids map[string]string) Record {
	led := *r
	if c, ok := r.Col("revert"); ok {
		c.Bytes = refer(refer(c.Bytes, ids, "messageID"), ids, "partID")
		led.setCol(c)
		return led
	}
	led.Data = refer(refer(r.Data, ids, "revert", "messageID"), ids, "revert", "partID")
	return led
}

// refer is data with the new id in the string at path, if an old one stands
// there.
func refer(data []byte, ids map[string]string, path ...string) []byte {
	raw, _ := jsonedit.Get(data, path...)
	to, ok := ids[jsonedit.Unquote(raw)]
	if !ok {
		return data
	}
	if changed, err := jsonedit.Set(data, jsonedit.Quote(to), path...); err == nil {
		return changed
	}
	return data
}
