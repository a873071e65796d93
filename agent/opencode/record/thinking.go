package record

import (
	"fmt"
	"slices"
	"strings"

	"mend/change"
)

// MessagePrefix is the beginning of the ids of messages.
const MessagePrefix = "msg"

const (
	partPrefix    = "prt_"
	messagePrefix = "msg_"

	// frontPrefix sorts before every id that the agent makes, except in the first moment after a
	// wrap of its clock.
	frontPrefix = partPrefix + "0000000000_"
)

// MoveThinkingFirst moves the thinking part with the ref to the front of its step, after the
// step-start and earlier thinking. The part gets a new id, made of the previous part's id and its
// own; every other byte stays. If no content precedes the part, it stays in place.
//
// The error means that the part does not exist, that it is not signed and would be refused at any
// position, or that no valid id sorts at the front.
func (m *Message) MoveThinkingFirst(ref change.Ref) error {
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
	r, err := Move(&p.Record, to)
	if err != nil {
		return err
	}
	m.Remove(ref)
	m.Insert(NewPart(r))
	return nil
}

// stepOf returns the index of the first part in the step of part i, and the lead of the step: its parts up to the
// last step-start or thinking before any content.
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

// idAfter returns an id that ends in tail and sorts between the lead of a step and the part after
// it, and whether such an id exists.
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

// FirstPartID returns an id for the first part of a message without parts.
func (m *Message) FirstPartID() string {
	return partPrefix + idTail(m.Ref.Message)
}

// idTail returns the id of a message or a part without its prefix.
func idTail(id string) string {
	return strings.TrimPrefix(strings.TrimPrefix(id, partPrefix), messagePrefix)
}
