package repair

import (
	"fmt"
	"slices"

	"mend/session"
)

// A draft is the copy of a session that fixes edit. The list of messages is its
// own, and so are the parts of every message that was asked for by [draft.message];
// the bytes of records are shared, an edit replaces them.
type draft struct {
	s      *session.Session
	texts  texts
	places map[string]int // of messages before a fix moved any; see [placesOf]
}

// draft is a copy of the chart's session.
func (c *chart) draft() *draft {
	s := *c.s
	s.Messages = slices.Clone(s.Messages)
	return &draft{s: &s, texts: c.texts}
}

// A fix is one way to cure a fault.
type fix struct {
	cure, loses string // sentences for a person; loses is "" for nothing
	// whole says that the edit changes more than the message at fault.
	whole bool
	// alike says that faults of its kind elsewhere in the message are cured in the
	// same way, whatever becomes of this one: they may be tried together.
	alike bool
	// edit changes the draft. An error says that this way is closed: the next fix
	// is tried.
	edit func(*draft) error
}

// message is the message that is stored under the ref of it or of one of its
// parts, ready to be edited.
func (d *draft) message(ref session.Ref) (*session.Message, error) {
	i := d.index(ref)
	if i < 0 {
		return nil, fmt.Errorf("%s: no such message", ref)
	}
	m := &d.s.Messages[i]
	m.Parts = slices.Clone(m.Parts)
	return m, nil
}

// index is the place of the message that ref is, or is in; -1 if there is none.
func (d *draft) index(ref session.Ref) int {
	if d.places == nil {
		d.places = placesOf(d.s)
	}
	if i, ok := d.places[ref.Message]; ok && i < len(d.s.Messages) && d.s.Messages[i].Ref.Message == ref.Message {
		return i
	}
	return slices.IndexFunc(d.s.Messages, func(m session.Message) bool { return m.Ref.Message == ref.Message })
}

// part is the part that is stored under ref, with its message, ready to be edited.
func (d *draft) part(ref session.Ref) (*session.Message, *session.Part, error) {
	m, err := d.message(ref)
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(m.Parts, func(p session.Part) bool { return p.Ref == ref })
	if i < 0 {
		return nil, nil, fmt.Errorf("%s: no such part", ref)
	}
	return m, &m.Parts[i], nil
}
