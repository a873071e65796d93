package live

import (
	"context"
	"time"

	"mend/repair"
	"mend/session"
)

// An Agent is a running OpenCode. Every method may fail at any time: the agent
// may have ended.
type Agent interface {
	// Messages returns the newest messages of a session, at most limit, all for
	// 0, the oldest first.
	Messages(ctx context.Context, s Place, limit int) ([]Message, error)
	// Busy reports whether the agent is at work in the session.
	Busy(ctx context.Context, s Place) (bool, error)
	// Abort ends what the agent does in the session; a session at rest stays so.
	Abort(ctx context.Context, s Place) error
	// Toast shows a note to the user, if one looks at the directory.
	Toast(ctx context.Context, directory string, t Toast) error
	// Prompt sends a prompt in the session and does not wait for the answer.
	Prompt(ctx context.Context, s Place, p Prompt) error
}

// A Place is a session, and the directory whose agent has it; "" for the one
// that the agent was started in.
type Place struct {
	Session   string
	Directory string
}

// A Toast is a note on the user's screen. Duration is in milliseconds.
type Toast struct {
	Title    string `json:"title"`
	Message  string `json:"message"`
	Variant  string `json:"variant"` // VariantInfo, …
	Duration int    `json:"duration"`
}

// The variants of toasts that are used.
const (
	VariantSuccess = "success"
	VariantWarning = "warning"
	VariantError   = "error"
)

// A Prompt is a text in the user's name, with what the user had chosen before.
type Prompt struct {
	Parts   []PromptPart    `json:"parts"`
	Agent   string          `json:"agent,omitempty"`
	Model   *Model          `json:"model,omitempty"`
	Variant string          `json:"variant,omitempty"`
	Tools   map[string]bool `json:"tools,omitempty"`
}

// A PromptPart is a text of a [Prompt].
type PromptPart struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	Synthetic bool   `json:"synthetic"` // not typed by the user
}

// A Repairer repairs stored sessions; a mend.Client is one. The store must be
// that of the agent.
type Repairer interface {
	// Sessions lists the sessions without their messages, the newest first.
	Sessions(ctx context.Context) ([]session.Session, error)
	// Load reads one session with its messages.
	Load(ctx context.Context, id string) (*session.Session, error)
	// LastChange returns the id of the newest change of the session that was begun at or
	// after since, a repair or an undo, "" for none.
	LastChange(ctx context.Context, id string, since time.Time) (entry string, err error)
	// Repair plans the repair of a session and applies it. It returns the id of the
	// journal entry, "" if there was nothing to repair. Options.Now and Options.Held
	// are ignored. The error wraps [repair.ErrBusy] if the session is busy and Force
	// is not set.
	Repair(ctx context.Context, id string, r repair.Request) (entry string, result repair.Result, err error)
}
