package live

import (
	"encoding/json"
	"fmt"

	"mend/change"
)

// An Event is an event of the agent.
type Event struct {
	Type       string          `json:"type"`
	Directory  string          `json:"directory,omitempty"` // that the event belongs to
	Properties json.RawMessage `json:"properties"`
}

// The types of events that matter.
const (
	EventError   = "session.error"
	EventIdle    = "session.idle"
	EventStatus  = "session.status"
	EventDeleted = "session.deleted"
	EventMessage = "message.updated"

	eventRequest = "mend.request" // of the plugin, for [Hook.CompareRequest]
)

// relevant reports whether events of this type are handled.
func relevant(kind string) bool {
	switch kind {
	case EventError, EventIdle, EventStatus, EventDeleted, EventMessage:
		return true
	}
	return false
}

// An update is the content of an event.
type update struct {
	session   string
	failure   *Info // an assistant message that failed
	idle      bool
	prompted  bool   // the user sent a prompt
	prompt    string // its id
	succeeded bool   // a turn succeeded
	answered  bool   // the model ended it; else the agent may have given it up
	deleted   bool
	message   *Info // that was reported
}

// decode returns the content of a relevant event. An update without a session can be
// ignored.
func (e *Event) decode() (update, error) {
	var p struct {
		SessionID string          `json:"sessionID"`
		Error     json.RawMessage `json:"error"`
		Status    struct {
			Type string `json:"type"`
		} `json:"status"`
		Info json.RawMessage `json:"info"`
	}
	if err := json.Unmarshal(e.Properties, &p); err != nil {
		return update{}, fmt.Errorf("reading %s event: %w", e.Type, err)
	}
	u := update{session: p.SessionID}
	switch e.Type {
	case EventError:
		u.failure = &Info{ID: "", SessionID: p.SessionID, Role: change.RoleAssistant, Error: p.Error, Directory: e.Directory}
	case EventIdle:
		u.idle = true
	case EventStatus:
		u.idle = p.Status.Type == "idle"
	case EventDeleted, EventMessage:
		return e.decodeInfo(p.Info)
	}
	return u, nil
}

// decodeInfo returns the content of an event that carries a message or a session.
func (e *Event) decodeInfo(raw json.RawMessage) (update, error) {
	var i Info
	if err := json.Unmarshal(raw, &i); err != nil {
		return update{}, fmt.Errorf("reading %s event: %w", e.Type, err)
	}
	if e.Type == EventDeleted {
		return update{session: i.ID, deleted: true}, nil
	}
	i.Directory = e.Directory
	u := update{session: i.SessionID, message: &i}
	switch {
	case i.Role == change.RoleUser:
		u.prompted, u.prompt = true, i.ID
	case i.Role == change.RoleAssistant && i.HasError():
		u.failure = &i
	case i.Role == change.RoleAssistant:
		u.succeeded = i.Finished() && i.Summary != true
		u.answered = u.succeeded && i.Finish != nil
	}
	return u, nil
}

// IsAbort reports whether an error says that the user aborted the turn.
func IsAbort(e json.RawMessage) bool {
	switch errorName(e) {
	case "MessageAbortedError", "AbortError":
		return true
	}
	return false
}
