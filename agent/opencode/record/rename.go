package record

import (
	"fmt"

	"mend/change"
	"mend/internal/jsonedit"
)

// Rename changes the ids of messages and parts. ids maps the stored ids to the new ones. Rename
// also changes every reference in the session: from a part to its message, from an assistant
// message to its prompt, from a compaction to the first message that it kept, from an attachment to
// its message, and from a revert. Every other byte stays. It then sorts messages and parts by their
// new ids.
//
// The error names an invalid id, or a record that must change but is not a JSON object; the session
// is then unchanged.
func (s *Session) Rename(ids map[string]string) error {
	messages := make([]Message, len(s.Messages))
	for i := range s.Messages {
		m, err := s.Messages[i].rename(ids)
		if err != nil {
			return fmt.Errorf("renaming %s: %w", s.Messages[i].Ref, err)
		}
		messages[i] = m
	}
	s.Messages = messages
	s.Info = withRevert(&s.Info, ids)
	s.Sort()
	return nil
}

func (m *Message) rename(ids map[string]string) (Message, error) {
	r, err := withIDs(&m.Record, ids, func(data []byte) []byte { return replaceID(data, ids, "parentID") })
	if err != nil {
		return Message{}, err
	}
	to := NewMessage(r)
	for i := range m.Parts {
		p := &m.Parts[i]
		r, err := withIDs(&p.Record, ids, func(data []byte) []byte { return p.replaceRefs(data, ids) })
		if err != nil {
			return Message{}, err
		}
		to.Parts = append(to.Parts, NewPart(r))
	}
	return to, nil
}

// withIDs returns the record with its new ids, and with the data that refs returns. A record that is not a JSON
// object stays unchanged. It returns an error if such a record needs new ids, or an id is invalid.
func withIDs(r *change.Record, ids map[string]string, refs func([]byte) []byte) (change.Record, error) {
	ref := r.Ref
	ref.Message, ref.Part = newID(ids, ref.Message), newID(ids, ref.Part)
	if r.IsMalformed() {
		if ref != r.Ref {
			return change.Record{}, fmt.Errorf("%s: %s", r.Ref, r.Defect.Why)
		}
		return *r, nil
	}
	to := *r
	if ref != r.Ref {
		if err := ref.Validate(); err != nil {
			return change.Record{}, err
		}
		var err error
		if to, err = Move(r, ref); err != nil {
			return change.Record{}, err
		}
	}
	to.Data = refs(to.Data)
	return to, nil
}

func newID(ids map[string]string, id string) string {
	if to, ok := ids[id]; ok {
		return to
	}
	return id
}

// replaceRefs returns the data of the part with the new ids in its references.
func (p *Part) replaceRefs(data []byte, ids map[string]string) []byte {
	switch p.Type {
	case "compaction":
		return replaceID(data, ids, "tail_start_id")
	case TypeTool:
		path := []string{"state", "attachments"}
		list, ok := jsonedit.Get(data, path...)
		if !ok {
			return data
		}
		renamed := jsonedit.EditElements(list, func(file []byte) []byte {
			return replaceID(replaceID(file, ids, "id"), ids, "messageID")
		})
		if changed, err := jsonedit.Set(data, renamed, path...); err == nil {
			return changed
		}
	}
	return data
}

// withRevert returns the session's own record with the new ids in its revert, which is a column or
// a field.
func withRevert(r *change.Record, ids map[string]string) change.Record {
	to := *r
	if c, ok := r.Col("revert"); ok {
		c.Bytes = replaceID(replaceID(c.Bytes, ids, "messageID"), ids, "partID")
		return to.WithCol(c)
	}
	to.Data = replaceID(replaceID(r.Data, ids, "revert", "messageID"), ids, "revert", "partID")
	return to
}

// replaceID returns data with the new id in the string at path, if the string is an old id.
func replaceID(data []byte, ids map[string]string, path ...string) []byte {
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
