package record

import (
	"iter"
	"slices"
	"strings"

	"mend/change"
)

// HasThinking reports whether any part of the message is thinking.
func (m *Message) HasThinking() bool {
	return slices.ContainsFunc(m.Parts, func(p Part) bool { return p.IsThinking() })
}

// IsFinished reports whether the agent has finished the message: it failed, or it has a
// finish reason other than "tool-calls", or it has no reason and a time of completion
// (docs/opencode.md, "Records").
func (m *Message) IsFinished() bool {
	switch {
	case m.Failed:
		return true
	case m.Finish != "":
		return m.Finish != "tool-calls"
	}
	return m.Completed != 0
}

// Steps yields the steps of the message. Each begins with a step-start part; parts before the first one are a step,
// too.
func (m *Message) Steps() iter.Seq[[]Part] {
	return func(yield func([]Part) bool) {
		first := 0
		for i := 1; i <= len(m.Parts); i++ {
			if i < len(m.Parts) && m.Parts[i].Type != TypeStepStart {
				continue
			}
			if !yield(m.Parts[first:i]) {
				return
			}
			first = i
		}
	}
}

// Call returns the id of a tool call. This is the callID, or the part's own id if the callID is empty or has the form
// of a part's id. If the part's own id has that form, too, Call returns "". OpenCode once sent ids of parts as call
// ids, and the provider refused them (docs/opencode.md, "Stored calls and their ids").
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

// LatestAssistant returns the newest assistant message, or nil.
func (s *Session) LatestAssistant() *Message {
	for i := len(s.Messages) - 1; i >= 0; i-- {
		if s.Messages[i].Role == change.RoleAssistant {
			return &s.Messages[i]
		}
	}
	return nil
}
