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

// A Message is a message as the agent tells it.
type Message struct {
	Info  Info   `json:"info"`
	Parts []Part `json:"parts"`
}

// An Info is a message without its parts, in the names of the agent.
type Info struct {
	ID        string          `json:"id"` // "" where it is not known
	SessionID string          `json:"sessionID"`
	ParentID  string          `json:"parentID,omitempty"`
	Role      string          `json:"role"`
	Error     json.RawMessage `json:"error,omitempty"` // null or absent for an answer that did not fail
	Finish    any             `json:"finish,omitempty"`
	Time      struct {
		Created   float64 `json:"created,omitempty"` // milliseconds since 1970
		Completed any     `json:"completed,omitempty"`
	} `json:"time"`

	Agent   string          `json:"agent,omitempty"`
	Model   *Model          `json:"model,omitempty"` // of a prompt
	Variant string          `json:"variant,omitempty"`
	Tools   map[string]bool `json:"tools,omitempty"`

	Directory string `json:"-"` // whose agent has the session; "" where it is not known
}

// A Model names a model of a provider.
type Model struct {
	ProviderID string `json:"providerID"`
	ModelID    string `json:"modelID"`
	Variant    string `json:"variant,omitempty"`
}

// A Part is what matters here of a part.
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

// begun is when the answer was begun.
func (i *Info) begun() time.Time { return time.UnixMilli(int64(i.Time.Created)) }

// failed reports whether the answer holds an error.
func (i *Info) failed() bool {
	return len(i.Error) > 0 && string(i.Error) != "null"
}

// errorName is the name of the error, "" if there is none.
func errorName(e json.RawMessage) string {
	var v struct{ Name string }
	_ = json.Unmarshal(e, &v)
	return v.Name
}

// finished reports whether the agent is done with the answer; see
// [session.Message.Finished], which says it of a stored one. What the agent
// tells may be a reason to stop, or only that there was one.
func (i *Info) finished() bool {
	if i.failed() {
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

// unfinishedCalls are the tool calls of the message that never got a result.
func (m *Message) unfinishedCalls() []Part {
	return slices.DeleteFunc(slices.Clone(m.Parts), func(p Part) bool {
		call := p.Type == session.TypeTool || p.Type == session.TypeToolUse
		return !call || p.State.Status != session.StatusPending && p.State.Status != session.StatusRunning
	})
}

// initiator marks the prompts that upstream sent in the user's name.
const initiator = "<!-- OMO_INTERNAL_INITIATOR -->"

// typed reports whether a person wrote the message: some text of it is neither
// synthetic nor marked, or it has none at all, as one that holds a file.
func (m *Message) typed() bool {
	texts := 0
	for _, p := range m.Parts {
		if p.Type != session.TypeText {
			continue
		}
		if texts++; !p.Synthetic && !strings.Contains(p.Text, initiator) {
			return true
		}
	}
	return texts == 0
}

// newest is the last message, nil if there is none.
func newest(ms []Message) *Message {
	if len(ms) == 0 {
		return nil
	}
	return &ms[len(ms)-1]
}

// candidate is the answer with which the messages end, nil if a prompt came
// behind it or there is none. Messages of neither role are passed over.
func candidate(ms []Message) *Message {
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

// lastTyped is the newest prompt that a person wrote, nil if there is none.
func lastTyped(ms []Message) *Message {
	for i := len(ms) - 1; i >= 0; i-- {
		if ms[i].Info.Role == session.RoleUser && ms[i].typed() {
			return &ms[i]
		}
	}
	return nil
}

// stored reads the messages of a session from the store.
func stored(ctx context.Context, r Repairer, id string) ([]Message, error) {
	s, err := r.Load(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("reading session %s: %w", id, err)
	}
	return fromStore(s), nil
}

// fromStore tells stored messages as the agent would.
func fromStore(s *session.Session) []Message {
	ms := make([]Message, len(s.Messages))
	for i := range s.Messages {
		m := &s.Messages[i]
		_ = json.Unmarshal(m.Data, &ms[i].Info) // what cannot be read stays empty
		ms[i].Info.ID, ms[i].Info.SessionID, ms[i].Info.Role = m.ID, s.ID, m.Role
		for _, p := range m.Parts {
			part := Part{ID: p.ID, Type: p.Type, Text: p.Text, Synthetic: p.Synthetic, CallID: p.CallID, Tool: p.Tool}
			part.State.Status = p.Status
			ms[i].Parts = append(ms[i].Parts, part)
		}
	}
	return ms
}
