package live

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"mend/change"
)

// An Event is an event of the agent.
type Event struct {
	Type       string          `json:"type"`
	Directory  string          `json:"directory,omitempty"` // of the event
	Properties json.RawMessage `json:"properties"`
}

// The types of events that matter.
const (
	EventError   = "session.error"
	EventIdle    = "session.idle"
	EventStatus  = "session.status"
	EventDeleted = "session.deleted"
	EventMessage = "message.updated"
)

// relevant reports whether events of this type are handled.
func relevant(kind string) bool {
	return slices.Contains([]string{EventError, EventIdle, EventStatus, EventDeleted, EventMessage}, kind)
}

// An update is the content of an event.
type update struct {
	session   string
	failure   *Info // an assistant message that failed
	idle      bool
	prompted  bool   // the user sent a prompt
	prompt    string // its id
	succeeded bool   // a turn succeeded
	answered  bool   // the model ended the turn; otherwise the agent may have given up
	deleted   bool

	recoverable bool // the failure is one that the Hook recovers
	tooLong     bool // the request was too long, and sessions are trimmed
}

// Properties are the relevant members of events of all types.
type Properties struct {
	SessionID string          `json:"sessionID"`
	ParentID  string          `json:"parentID"`
	Title     string          `json:"title"`
	Time      int64           `json:"time"` // in milliseconds since 1970
	Error     json.RawMessage `json:"error"`
	Status    struct {
		Type    string  `json:"type"` // idle, retry, …
		Message string  `json:"message"`
		Next    float64 `json:"next"` // in milliseconds since 1970
	} `json:"status"`
	Info Info `json:"info"` // a message, or a session
	Part struct {
		Part
		SessionID string `json:"sessionID"`
		Status    string `json:"status"`
	} `json:"part"`
}

// Decode returns the properties of an event. The session has a valid id, or "" if the event has no session. A
// member of an unexpected type stays empty.
func (e *Event) Decode() (p Properties, err error) {
	var other *json.UnmarshalTypeError
	if err = json.Unmarshal(e.Properties, &p); err != nil && (!errors.As(err, &other) || other.Field == "") {
		return p, fmt.Errorf("reading %.100s event: %w", e.Type, err)
	}
	switch e.Type {
	case EventDeleted:
		p.SessionID = p.Info.ID
	case EventMessage:
		p.SessionID = p.Info.SessionID
	default:
		p.SessionID = cmp.Or(p.SessionID, p.Part.SessionID)
	}
	if p.SessionID == "" {
		return p, nil
	}
	return p, change.ValidateID(p.SessionID)
}

// Idle reports whether the event means that the agent no longer works in the session.
func (e *Event) Idle(p Properties) bool {
	return e.Type == EventIdle || e.Type == EventStatus && p.Status.Type == "idle"
}

// decode returns the content of a relevant event. An update without a session can be
// ignored.
func (e *Event) decode() (update, error) {
	p, err := e.Decode()
	u := update{session: p.SessionID, idle: e.Idle(p), deleted: e.Type == EventDeleted}
	switch i := &p.Info; {
	case e.Type == EventError:
		u.failure = &Info{SessionID: p.SessionID, Role: change.RoleAssistant, Error: p.Error}
	case e.Type != EventMessage:
	case i.Role == change.RoleUser:
		u.prompted, u.prompt = true, i.ID
	case i.Role == change.RoleAssistant && i.HasError():
		u.failure = i
	case i.Role == change.RoleAssistant:
		u.succeeded = i.IsFinished() && i.Summary != true
		u.answered = u.succeeded && i.Finish != nil
	}
	return u, err
}

// IsAbort reports whether an error means that the user aborted the turn.
func IsAbort(e json.RawMessage) bool {
	name := errorName(e)
	return name == "MessageAbortedError" || name == "AbortError"
}
