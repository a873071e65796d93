package session

import (
	"iter"
	"slices"
	"strings"
)

// What is asked here are the questions of spec/session-recovery.md section 10,
// on values instead of folders. Messages come back in the session's order and
// point into it.

// HasContent reports whether any part of the message has content: a message
// without parts is empty.
func (m *Message) HasContent() bool {
	return slices.ContainsFunc(m.Parts, func(p Part) bool { return p.HasContent() })
}

// HasEmptyText reports whether a text part of the message is blank.
func (m *Message) HasEmptyText() bool {
	return slices.ContainsFunc(m.Parts, func(p Part) bool { return p.IsBlankText() })
}

// HasThinking reports whether any part of the message is thinking.
func (m *Message) HasThinking() bool {
	return slices.ContainsFunc(m.Parts, func(p Part) bool { return p.IsThinking() })
}

// ThinkingOnly reports whether the model thought and did nothing else.
func (m *Message) ThinkingOnly() bool {
	return m.Role == RoleAssistant && m.HasThinking() && !m.HasContent()
}

// NeedsThinking reports whether an answer starts with anything but thinking. It
// is upstream's test, and looks at the very first part: a step-start counts.
func (m *Message) NeedsThinking() bool {
	return m.Role == RoleAssistant && len(m.Parts) > 0 && !m.Parts[0].IsThinking()
}

// Finished reports whether the agent is done with the message: it failed, or
// the model gave a reason to stop other than "tool-calls", or without a reason
// the time of completion is there (spec/session-recovery.md section 7).
func (m *Message) Finished() bool {
	switch {
	case m.Failed:
		return true
	case m.Finish != "":
		return m.Finish != "tool-calls"
	}
	return m.Completed != 0
}

// Steps yields the steps of the model that the message is made of: each begins
// with a step-start part, but for what stands before the first of them.
func (m *Message) Steps() iter.Seq[[]Part] {
	return func(yield func([]Part) bool) {
		from := 0
		for i := 1; i <= len(m.Parts); i++ {
			if i < len(m.Parts) && m.Parts[i].Type != TypeStepStart {
				continue
			}
			if !yield(m.Parts[from:i]) {
				return
			}
			from = i
		}
	}
}

// Call is the id by which the result of a tool call is found: its callID, else
// the part's own id, whichever is the first that is no part id; "" if neither
// is. Part ids were sent as call ids once, and the provider refused them
// (spec/session-recovery.md section 5.1).
func (p *Part) Call() string {
	for _, id := range []string{p.CallID, p.ID} {
		if isCallID(id) || id != p.Ref.Part && id != "" && !strings.HasPrefix(id, partPrefix) {
			return id
		}
	}
	return ""
}

func isCallID(id string) bool {
	return strings.HasPrefix(id, "toolu_") || strings.HasPrefix(id, "call_")
}

// EmptyMessages lists the messages without content, of any role.
func (s *Session) EmptyMessages() []*Message {
	return s.where(func(m *Message) bool { return !m.HasContent() })
}

// FirstEmptyMessage is the first message without content, nil if there is none.
func (s *Session) FirstEmptyMessage() *Message {
	return s.at(slices.IndexFunc(s.Messages, func(m Message) bool { return !m.HasContent() }))
}

// EmptyMessageNear is the message without content that is most likely meant by
// messages.t of an API error, as [Session.Near] finds it; nil if there is none.
func (s *Session) EmptyMessageNear(t int) *Message {
	return s.at(s.Near(t, func(i int) bool { return !s.Messages[i].HasContent() }))
}

// MessagesWithEmptyText lists the messages with a blank text part, of any role.
func (s *Session) MessagesWithEmptyText() []*Message {
	return s.where((*Message).HasEmptyText)
}

// MessagesWithThinking lists the answers that hold thinking.
func (s *Session) MessagesWithThinking() []*Message {
	return s.where(func(m *Message) bool { return m.Role == RoleAssistant && m.HasThinking() })
}

// MessagesWithThinkingOnly lists the answers that hold thinking and no content.
func (s *Session) MessagesWithThinkingOnly() []*Message {
	return s.where((*Message).ThinkingOnly)
}

// MessagesWithOrphanThinking lists the answers whose first part is not thinking.
// The name is upstream's; no thinking need be there.
func (s *Session) MessagesWithOrphanThinking() []*Message {
	return s.where((*Message).NeedsThinking)
}

// MessageNeedingThinking is message t of the session if it is an answer whose
// first part is not thinking, else nil. No neighbour is looked at.
func (s *Session) MessageNeedingThinking(t int) *Message {
	if m := s.at(t); m != nil && m.NeedsThinking() {
		return m
	}
	return nil
}

// LatestAssistant is the newest answer, nil if there is none.
func (s *Session) LatestAssistant() *Message {
	for i := len(s.Messages) - 1; i >= 0; i-- {
		if s.Messages[i].Role == RoleAssistant {
			return &s.Messages[i]
		}
	}
	return nil
}

// IsLatestAssistant reports whether the newest answer has that id.
func (s *Session) IsLatestAssistant(id string) bool {
	m := s.LatestAssistant()
	return m != nil && m.ID == id
}

// Near is the index of the message that is most likely meant by messages.t of
// an API error, among those that ok accepts; -1 if there is none. The numbers of
// a request are not those of the store, since the agent leaves out, splits and
// joins messages: the neighbours are tried in upstream's order
// (spec/session-recovery.md section 5.6).
func (s *Session) Near(t int, ok func(i int) bool) int {
	for _, d := range [...]int{0, -1, 1, -2, 2, -3, -4, -5} {
		if i := t + d; t >= 0 && i >= 0 && i < len(s.Messages) && ok(i) {
			return i
		}
	}
	return -1
}

func (s *Session) at(i int) *Message {
	if i < 0 || i >= len(s.Messages) {
		return nil
	}
	return &s.Messages[i]
}

func (s *Session) where(ok func(*Message) bool) []*Message {
	var found []*Message
	for i := range s.Messages {
		if m := &s.Messages[i]; ok(m) {
			found = append(found, m)
		}
	}
	return found
}
