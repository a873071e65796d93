package record

import (
	"slices"

	"mend/change"
	"mend/internal/jsonedit"
)

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
