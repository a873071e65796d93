package live

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"mend/change"
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
	Summary   any             `json:"summary,omitempty"` // true for the summary of a compaction
	Error     json.RawMessage `json:"error,omitempty"`   // null or empty if the message did not fail
	Finish    any             `json:"finish,omitempty"`
	Time      struct {
		CreationTime float64 `json:"created,omitempty"` // milliseconds since 1970
		Completed    any     `json:"completed,omitempty"`
	} `json:"time"`

	Agent   string          `json:"agent,omitempty"`
	Model   *Model          `json:"model,omitempty"` // of a user message
	Variant string          `json:"variant,omitempty"`
	Tools   map[string]bool `json:"tools,omitempty"`
	System  string          `json:"system,omitempty"`
	Format  json.RawMessage `json:"format,omitempty"`
}

// A Model names a model of a provider.
type Model struct {
	ProviderID string `json:"providerID"`
	ModelID    string `json:"modelID"`
	Variant    string `json:"variant,omitempty"`
}

// Key returns the model without its variant, in a normalized form.
func (m Model) Key() string {
	return strings.ReplaceAll(strings.ToLower(m.ProviderID+"/"+m.ModelID), ".", "-")
}

// String returns the model as the settings name it.
func (m Model) String() string {
	text := m.ProviderID + "/" + m.ModelID
	if m.Variant != "" {
		text += "(" + m.Variant + ")"
	}
	return text
}

// A Part holds the fields of a part that are used here.
type Part struct {
	ID        string `json:"id"`
	MessageID string `json:"messageID,omitempty"`
	Type      string `json:"type"`
	Text      string `json:"text,omitempty"`
	Synthetic bool   `json:"synthetic,omitempty"`
	CallID    string `json:"callID,omitempty"`
	Tool      string `json:"tool,omitempty"`
	State     struct {
		Status string `json:"status,omitempty"`
	} `json:"state,omitzero"`
}

// The types of parts and the states of tool calls that are used here.
const (
	typeText    = "text"
	typeTool    = "tool"
	typeToolUse = "tool_use" // of older tools

	statusPending = "pending"
	statusRunning = "running"
)

// CreationTime returns the time at which the message was created.
func (i *Info) CreationTime() time.Time { return time.UnixMilli(int64(i.Time.CreationTime)) }

// HasError reports whether the message holds an error.
func (i *Info) HasError() bool {
	return len(i.Error) > 0 && string(i.Error) != "null"
}

// errorName returns the name of the error, or "".
func errorName(e json.RawMessage) string {
	var v struct{ Name string }
	_ = json.Unmarshal(e, &v)
	return v.Name
}

// IsFinished reports whether the agent has finished the message. Finish is the reason why the model stopped, or only
// true.
func (i *Info) IsFinished() bool {
	if i.HasError() {
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

// unfinishedCalls returns the number of tool calls of the message that have no result.
func (m *Message) unfinishedCalls() (n int) {
	for _, p := range m.Parts {
		call, status := p.Type == typeTool || p.Type == typeToolUse, p.State.Status
		if call && (status == statusPending || status == statusRunning) {
			n++
		}
	}
	return n
}

// initiatorMark is in the prompts that oh-my-opencode sends in the user's name.
const initiatorMark = "<!-- OMO_INTERNAL_INITIATOR -->"

// isUserWritten reports whether the user wrote the message: one of its texts is neither synthetic nor marked, or it has
// no text but, for example, a file.
func (m *Message) isUserWritten() bool {
	texts := 0
	for _, p := range m.Parts {
		if p.Type != typeText {
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

// FinalAssistant returns the last assistant message, or nil if there is none or if a
// user message follows it. Messages of other roles are skipped.
func FinalAssistant(ms []Message) *Message {
	for i := len(ms) - 1; i >= 0; i-- {
		switch ms[i].Info.Role {
		case change.RoleUser:
			return nil
		case change.RoleAssistant:
			return &ms[i]
		}
	}
	return nil
}

// lastUserPrompt returns the newest message that the user wrote, or nil.
func lastUserPrompt(ms []Message) *Message {
	for i := len(ms) - 1; i >= 0; i-- {
		if ms[i].Info.Role == change.RoleUser && ms[i].isUserWritten() {
			return &ms[i]
		}
	}
	return nil
}

// sortMessages sorts messages into the order that the agent reads them in.
func sortMessages(ms []Message) {
	slices.SortStableFunc(ms, func(a, b Message) int {
		return cmp.Or(cmp.Compare(a.Info.Time.CreationTime, b.Info.Time.CreationTime), cmp.Compare(a.Info.ID, b.Info.ID))
	})
}
