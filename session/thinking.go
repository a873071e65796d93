package session

import (
	"fmt"
	"slices"
	"strings"
)

const (
	partPrefix    = "prt_"
	messagePrefix = "msg_"

	// frontPrefix sorts before every id that the agent makes but those of the
	// first moment after its clock's wrap.
	frontPrefix = partPrefix + "0000000000_"
)

// StripThinking takes every thinking part out of the message and returns them.
func (m *Message) StripThinking() []Part {
	var kept, gone []Part
	for _, p := range m.Parts {
		if p.IsThinking() {
			gone = append(gone, p)
		} else {
			kept = append(kept, p)
		}
	}
	if len(gone) > 0 {
		m.Parts = kept
	}
	return gone
}

// MoveThinkingFirst moves the thinking part that is stored under ref to the
// front of its step, behind the step's start and the thinking that leads it
// already. It is the same part under another id, made of the id before it and
// its own; every other byte stays. A part that nothing precedes stays where it
// is.
//
// The error says that there is no such part, that it is not signed and so would
// be refused wherever it stands, or that no id sorts where it must go.
func (m *Message) MoveThinkingFirst(ref Ref) error {
	at := slices.IndexFunc(m.Parts, func(p Part) bool { return p.Ref == ref })
	if at < 0 || !m.Parts[at].IsThinking() {
		return fmt.Errorf("moving %s: no thinking is stored there", ref)
	}
	p := &m.Parts[at]
	if p.Signature == "" {
		return fmt.Errorf("moving %s: it is not signed", ref)
	}
	first, lead := m.stepOf(at)
	if !slices.ContainsFunc(m.Parts[first:at], func(p Part) bool { return p.Sent() }) {
		return nil
	}
	id, ok := m.idAfter(lead, m.Parts[first:], idTail(p.ID))
	if !ok {
		return fmt.Errorf("moving %s: no id sorts at the front of its step", ref)
	}
	to := ref
	to.Part = id
	r, err := p.Move(to)
	if err != nil {
		return err
	}
	m.Remove(ref)
	m.Insert(NewPart(r))
	return nil
}

// stepOf is where the step of part i begins, and its lead: the parts at its
// front up to the last that is a step-start or thinking before any content.
func (m *Message) stepOf(i int) (first int, lead []Part) {
	for first = i; first > 0 && m.Parts[first].Type != TypeStepStart; first-- {
	}
	n := 0
	for j, p := range m.Parts[first:i] {
		if p.Sent() {
			break
		}
		if p.Type == TypeStepStart || p.IsThinking() {
			n = j + 1
		}
	}
	return first, m.Parts[first : first+n]
}

// idAfter makes an id that ends in tail and sorts behind the lead of a step
// and before what follows it: of the first part of the lead that allows it.
func (m *Message) idAfter(lead, step []Part, tail string) (string, bool) {
	next := step[len(lead)].ID
	if len(lead) == 0 {
		id := frontPrefix + tail
		return id, id < next && m.Free(id)
	}
	last := lead[len(lead)-1].ID
	for _, p := range lead {
		id := p.ID + "_" + tail
		if last < id && id < next && m.Free(id) {
			return id, true
		}
	}
	return "", false
}

// FirstPartID is the id of a part for a message that has none.
func (m *Message) FirstPartID() string {
	return partPrefix + idTail(m.Ref.Message)
}

// idTail is the id without the prefix that says what it is the id of.
func idTail(id string) string {
	return strings.TrimPrefix(strings.TrimPrefix(id, partPrefix), messagePrefix)
}
