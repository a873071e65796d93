package live

import (
	"context"
	"encoding/json"
	"time"

	"mend/agent"
	"mend/change"
	"mend/repair"
)

// An Agent is a running OpenCode. Every method fails if the agent has ended, or does not answer in time.
type Agent interface {
	// Messages returns the newest messages of a session, oldest first. It returns
	// at most limit messages, or all if limit is 0.
	Messages(ctx context.Context, session string, limit int) ([]Message, error)
	// Busy reports whether the agent is working in the session.
	Busy(ctx context.Context, session string) (bool, error)
	// Abort ends the current turn of the session. It does nothing to an idle one.
	Abort(ctx context.Context, session string) error
	// Toast shows a toast to the user.
	Toast(ctx context.Context, t Toast) error
	// Prompt sends a prompt to the session and does not wait for the turn.
	Prompt(ctx context.Context, session string, p Prompt) error
	// Publish passes an event to the agent's other plugins.
	Publish(ctx context.Context, event string) error
}

// The events that are published, each followed by a space and the id of the session.
const (
	recoveryStarted  = "mend.recovery.started"
	recoveryFinished = "mend.recovery.finished"
)

// A Toast is a notification on the agent's screen. Duration is in milliseconds; a [Hook] replaces 0.
type Toast struct {
	Title    string `json:"title"`
	Message  string `json:"message"`
	Variant  string `json:"variant"` // VariantSuccess, …
	Duration int    `json:"duration"`
}

// The variants of toasts in use.
const (
	VariantSuccess = "success"
	VariantWarning = "warning"
	VariantError   = "error"
)

// A Prompt is a text sent in the user's name, with the choices of an earlier prompt.
type Prompt struct {
	Parts   []PromptPart    `json:"parts"`
	Agent   string          `json:"agent,omitempty"`
	Model   *Model          `json:"model,omitempty"`
	Variant string          `json:"variant,omitempty"`
	Tools   map[string]bool `json:"tools,omitempty"`
	System  string          `json:"system,omitempty"` // instructions for the model, besides the agent's
	Format  json.RawMessage `json:"format,omitempty"` // of the answer
}

// A PromptPart is one text of a [Prompt].
type PromptPart struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	Synthetic bool   `json:"synthetic"` // not typed by the user
}

// Accept returns an error if a plan must not be applied.
type Accept = func(context.Context, repair.Result) error

// A Repairer repairs stored sessions; unattended.Repairer implements it.
type Repairer interface {
	// Sessions lists the sessions without their messages, newest first.
	Sessions(ctx context.Context) ([]change.Head, error)
	// ParseAPIError recognises an error: JSON, as the agent stores or reports it, or
	// plain text.
	ParseAPIError(input []byte) repair.APIError
	// Examine diagnoses a session, as [agent.Reader.Examine] does. The head may have only an ID.
	Examine(ctx context.Context, head change.Head) (agent.Examination, error)
	// LastChange returns the journal id of the newest repair or undo of the session
	// that began at or after since, or "".
	LastChange(ctx context.Context, id string, since time.Time) (entry string, err error)
	// Repair plans the repair of a session and applies it. It returns the id of the journal entry, "" if there was
	// nothing to repair. It uses only Version and Model of Options. It calls accept, if not nil, before it applies a
	// plan, and again with a new plan if another program interferes. If accept returns an error, nothing is changed,
	// and Repair returns the error. head is one of Sessions, or has only an ID. The error wraps [repair.ErrBusy] if
	// the session is busy and Force is not set; it is a [*repair.AskError] if the user has to be asked.
	Repair(ctx context.Context, head change.Head, r repair.Request, accept Accept) (
		entry string, result repair.Result, err error,
	)
	// Trim plans to make the next request of a session smaller, and applies the plan. It
	// returns the id of the journal entry, "" if nothing can be trimmed.
	Trim(ctx context.Context, id string, r repair.TrimRequest) (entry string, t repair.Trimmed, err error)
	// CheckUnasked returns an error if a repair must wait until an error of the agent shows that it is
	// needed.
	CheckUnasked(ctx context.Context, id string, r repair.Result) error
	// Version returns the facts about a version of the agent; "" means the version for diagnoses.
	Version(name string) agent.Version
}
