package live

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"mend/session"
)

// A Message is a message as the agent reports it.
type Message struct {
	Info  Info   `json:"info"`
	Parts []Part `json:"parts"`
}

// An Info is a message without its parts, with the agent's field names.
type Info struct {
	ID        string          `json:"id"` // "" if unknown
	SessionID string          `json:"sessionID"`
	ParentID  string          `json:"parentID,omitempty"`
	Role      string          `json:"role"`
	Error     json.RawMessage `json:"error,omitempty"` // null or empty if the message did not fail
	Finish    any             `json:"finish,omitempty"`
	Time      struct {
		Created   float64 `json:"created,omitempty"` // milliseconds since 1970
		Completed any     `json:"completed,omitempty"`
	} `json:"time"`

	Agent   string          `json:"agent,omitempty"`
	Model   *Model          `json:"model,omitempty"` // of a user message
	Variant string          `json:"variant,omitempty"`
	Tools   map[string]bool `json:"tools,omitempty"`

	Directory string `json:"-"` // of the session; "" if unknown
}

// A Model names a model of a provider.
type Model struct {
	ProviderID string `json:"providerID"`
	ModelID    string `json:"modelID"`
	Variant    string `json:"variant,omitempty"`
}

// A Part holds the fields of a part that are used here.
type Part struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Text      string `json:"text,omitempty"`
	Synthetic bool   `json:"synthetic,omitempty"`
	CallID    string `json:"callID,omitempty"`
	Tool      string `json:"tool,omitempty"`
	State     struct {
		Status string `json:"status,omitempty"`
	} `json:"state,omitzero"`
}

// created returns the time at which the message was created.
func (i *Info) created() time.Time { return time.UnixMilli(int64(i.Time.Created)) }

// hasError reports whether the message holds an error.
func (i *Info) hasError() bool {
	return len(i.Error) > 0 && string(i.Error) != "null"
}

// errorName returns the name of the error, or "".
func errorName(e json.RawMessage) string {
	var v struct{ Name string }
	_ = json.Unmarshal(e, &v)
	return v.Name
}

// finished reports whether the agent has finished the message, as
// [session.Message.Finished] does for a stored one. Finish is a reason to stop, or
// only true.
func (i *Info) finished() bool {
	if i.hasError() {
		return true
	}
	switch f := i.Finish.(type) {
	case string:
		if f != "" {
			return f != "tool-calls"
		}
	case bool:
		if f {
			return true
		}
	}
	switch at := i.Time.Completed.(type) {
	case float64:
		return true
	case string:
		return at != ""
	}
	return false
}

// unfinishedCalls returns the tool calls of the message that have no result.
func (m *Message) unfinishedCalls() []Part {
	return slices.DeleteFunc(slices.Clone(m.Parts), func(p Part) bool {
		call := p.Type == session.TypeTool || p.Type == session.TypeToolUse
		return !call || p.State.Status != session.StatusPending && p.State.Status != session.StatusRunning
	})
}

// initiatorMark marks the prompts that upstream sends as the user.
const initiatorMark = "<!-- OMO_INTERNAL_INITIATOR -->"

// userWritten reports whether the user wrote the message: one of its texts is neither
// synthetic nor marked, or it has no text, only a file for example.
func (m *Message) userWritten() bool {
	texts := 0
	for _, p := range m.Parts {
		if p.Type != session.TypeText {
			continue
		}
		if texts++; !p.Synthetic && !strings.Contains(p.Text, initiatorMark) {
			return true
		}
	}
	return texts == 0
}

// lastMessage returns the last message, or nil.
func lastMessage(ms []Message) *Message {
	if len(ms) == 0 {
		return nil
	}
	return &ms[len(ms)-1]
}

// finalAssistant returns the last assistant message, or nil if there is none or if a
// user message follows it. Messages of other roles are skipped.
func finalAssistant(ms []Message) *Message {
	for i := len(ms) - 1; i >= 0; i-- {
		switch ms[i].Info.Role {
		case session.RoleUser:
			return nil
		case session.RoleAssistant:
			return &ms[i]
		}
	}
	return nil
}

// lastUserPrompt returns the newest message that the user wrote, or nil.
func lastUserPrompt(ms []Message) *Message {
	for i := len(ms) - 1; i >= 0; i-- {
		if ms[i].Info.Role == session.RoleUser && ms[i].userWritten() {
			return &ms[i]
		}
	}
	return nil
}

// loadMessages reads the messages of a session from the store.
func loadMessages(ctx context.Context, r Repairer, id string) ([]Message, error) {
	s, err := r.Load(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("reading session %s: %w", id, err)
	}
	return toMessages(s), nil
}

// toMessages converts stored messages to the form in which the agent reports them.
func toMessages(s *session.Session) []Message {
	ms := make([]Message, len(s.Messages))
	for i := range s.Messages {
		m := &s.Messages[i]
		_ = json.Unmarshal(m.Data, &ms[i].Info) // unreadable fields stay empty
		ms[i].Info.ID, ms[i].Info.SessionID, ms[i].Info.Role = m.ID, s.ID, m.Role
		for _, p := range m.Parts {
			part := Part{ID: p.ID, Type: p.Type, Text: p.Text, Synthetic: p.Synthetic, CallID: p.CallID, Tool: p.Tool}
			part.State.Status = p.Status
			ms[i].Parts = append(ms[i].Parts, part)
		}
	}
	return ms
}
