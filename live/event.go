package live

import (
	"encoding/json"
	"fmt"

	"mend/session"
)

// An Event is one thing that an agent tells.
type Event struct {
	Type       string          `json:"type"`
	Directory  string          `json:"directory,omitempty"` // whose agent tells it
	Properties json.RawMessage `json:"properties"`
}

// The events that are listened to.
const (
	eventError   = "session.error"
	eventIdle    = "session.idle"
	eventStatus  = "session.status"
	eventDeleted = "session.deleted"
	eventMessage = "message.updated"
)

// Wanted reports whether events of the type are listened to.
func Wanted(kind string) bool {
	switch kind {
	case eventError, eventIdle, eventStatus, eventDeleted, eventMessage:
		return true
	}
	return false
}

// A report is what an event says, as far as it matters.
type report struct {
	session string
	failed  *Info // an answer that failed
	idle    bool
	typed   bool // the user sent a prompt
	well    bool // a turn ended well
	deleted bool
}

// report reads an event that is [Wanted]. A report without a session says
// nothing of interest.
func (e *Event) report() (report, error) {
	var p struct {
		SessionID string          `json:"sessionID"`
		Error     json.RawMessage `json:"error"`
		Status    struct {
			Type string `json:"type"`
		} `json:"status"`
		Info json.RawMessage `json:"info"`
	}
	if err := json.Unmarshal(e.Properties, &p); err != nil {
		return report{}, fmt.Errorf("reading %s event: %w", e.Type, err)
	}
	r := report{session: p.SessionID}
	switch e.Type {
	case eventError:
		r.failed = &Info{ID: "", SessionID: p.SessionID, Role: session.RoleAssistant, Error: p.Error, Directory: e.Directory}
	case eventIdle:
		r.idle = true
	case eventStatus:
		r.idle = p.Status.Type == "idle"
	case eventDeleted, eventMessage:
		return e.reportInfo(p.Info)
	}
	return r, nil
}

// reportInfo reads an event that carries a message, or the session.
func (e *Event) reportInfo(raw json.RawMessage) (report, error) {
	var i Info
	if err := json.Unmarshal(raw, &i); err != nil {
		return report{}, fmt.Errorf("reading %s event: %w", e.Type, err)
	}
	if e.Type == eventDeleted {
		return report{session: i.ID, deleted: true}, nil
	}
	i.Directory = e.Directory
	r := report{session: i.SessionID}
	switch {
	case i.Role == session.RoleUser:
		r.typed = true
	case i.Role == session.RoleAssistant && i.failed():
		r.failed = &i
	case i.Role == session.RoleAssistant:
		r.well = i.finished()
	}
	return r, nil
}

// aborted reports whether the user ended the turn.
func aborted(i *Info) bool {
	switch errorName(i.Error) {
	case "MessageAbortedError", "AbortError":
		return true
	}
	return false
}
