package diagnose

import (
	"slices"

	"mend/agent/opencode/record"
	"mend/change"
)

// An index finds the records of a session. It searches for records that have moved.
type index struct {
	s        *record.Session
	messages map[string]int
	parts    map[string]map[string]int // by message, of messages that were searched
}

func newIndex(s *record.Session) *index {
	return &index{s, messageIndexes(s), map[string]map[string]int{}}
}

// indexOf returns the index of the message with the ref, or of the message of the part with the ref; or -1.
func (x *index) indexOf(ref change.Ref) int {
	all := x.s.Messages
	i, ok := x.messages[ref.Message]
	switch {
	case ref.Message == "":
		return -1
	case ok && i < len(all) && all[i].Ref.Message == ref.Message:
		return i
	}
	return slices.IndexFunc(all, func(m record.Message) bool { return m.Ref.Message == ref.Message })
}

// message returns the message with the ref, or the message of the part with the ref; or nil.
func (x *index) message(ref change.Ref) *record.Message {
	if i := x.indexOf(ref); i >= 0 {
		return &x.s.Messages[i]
	}
	return nil
}

// part returns the index of a part in its message, the first if several have the ref; or -1.
func (x *index) part(m *record.Message, ref change.Ref) int {
	places, ok := x.parts[m.Ref.Message]
	if !ok {
		places = firstIndexes(m.Parts, func(p *record.Part) string { return p.Ref.Part })
		x.parts[m.Ref.Message] = places
	}
	if at, ok := places[ref.Part]; ok && at < len(m.Parts) && m.Parts[at].Ref == ref {
		return at
	}
	return searchPart(m.Parts, ref)
}

// searchPart returns the index of a part, or -1.
func searchPart(parts []record.Part, ref change.Ref) int {
	return slices.IndexFunc(parts, func(p record.Part) bool { return p.Ref == ref })
}

// messageIndexes returns the indexes of the session's messages by the ids in their refs.
func messageIndexes(s *record.Session) map[string]int {
	return firstIndexes(s.Messages, func(m *record.Message) string { return m.Ref.Message })
}

// firstIndexes returns the indexes of items by their ids: of two with one id, the index of the first.
func firstIndexes[T any](items []T, id func(*T) string) map[string]int {
	at := make(map[string]int, len(items))
	for i := range slices.Backward(items) {
		at[id(&items[i])] = i
	}
	return at
}
