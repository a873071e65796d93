package diagnose

import (
	"fmt"

	"mend/agent/opencode/record"
	"mend/change"
)

// suffix, appended to an id, makes an id that sorts directly after it (docs/opencode.md).
const suffix = "_mend"

// stepOf returns the step of the part with the ref, nil if the message does not have it.
func stepOf(m *record.Message, ref change.Ref) []record.Part {
	for step := range m.Steps() {
		for i := range step {
			if step[i].Ref == ref {
				return step
			}
		}
	}
	return nil
}

// lastOf returns the last part that match accepts, or nil.
func lastOf(parts []record.Part, match func(*record.Part) bool) *record.Part {
	for i := len(parts) - 1; i >= 0; i-- {
		if match(&parts[i]) {
			return &parts[i]
		}
	}
	return nil
}

// anyOf reports whether match accepts a part.
func anyOf(parts []record.Part, match func(*record.Part) bool) bool {
	return lastOf(parts, match) != nil
}

// hasContent reports whether the part has content that is sent with its message. In a prompt,
// files, subtasks and compactions count, too.
func hasContent(m *record.Message, p *record.Part) bool {
	if m.Role == change.RoleUser {
		switch p.Type {
		case record.TypeFile, "subtask", "compaction":
			return true
		}
	}
	return p.Sent()
}

// idAfter returns a free id that sorts between id and the next part of the message.
func idAfter(m *record.Message, id string) (string, error) {
	next := ""
	for i := range m.Parts {
		if p := m.Parts[i].ID; p > id && (next == "" || p < next) {
			next = p
		}
	}
	for zeros := ""; change.ValidateID(id+zeros+suffix) == nil; zeros += "0" { // each zero makes the id sort earlier
		if free := id + zeros + suffix; (next == "" || free < next) && m.Free(free) {
			return free, nil
		}
	}
	return "", fmt.Errorf("%s: no id between %s and %s", m.ID, id, next)
}

// injectAfter adds a text after the part with the id.
func (d *draft) injectAfter(m *record.Message, id, text string) error {
	id, err := idAfter(m, id)
	if err != nil {
		return err
	}
	return d.inject(m, id, text)
}

// inject adds a synthetic text part with the id.
func (d *draft) inject(m *record.Message, id, text string) error {
	if !d.s.InjectText(m, id, text) {
		return fmt.Errorf("%s: no id for the text", m.ID)
	}
	return nil
}

// unset and set remove and set a field of the part with the ref.
func (d *draft) unset(ref change.Ref, path ...string) error {
	_, p, err := d.part(ref)
	if err != nil {
		return err
	}
	return p.Unset(path...)
}

func (d *draft) set(ref change.Ref, raw []byte, path ...string) error {
	_, p, err := d.part(ref)
	if err != nil {
		return err
	}
	return p.Set(raw, path...)
}

// eachPart calls f for every readable part of the session.
func (c *simulation) eachPart(f func(m *record.Message, p *record.Part)) {
	for i := range c.s.Messages {
		m := &c.s.Messages[i]
		for j := range m.Parts {
			if !m.Parts[j].IsMalformed() {
				f(m, &m.Parts[j])
			}
		}
	}
}
