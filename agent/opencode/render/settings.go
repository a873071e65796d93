package render

import (
	"time"

	"mend/request"
	"mend/session"
)

// Settings are what a request depends on besides the session.
type Settings struct {
	// Profile is the version of the agent; the zero Profile means the newest.
	Profile Profile
	// Model is the one that is asked. Where it is zero it is the one that the
	// agent takes: the newest prompt's, or else the newest answer's.
	Model request.Model
	// Now is when the prompt is typed. It decides one thing: whether the new
	// prompt is the newest message for the agent, by its time and by its id
	// (docs/opencode.md F3). The zero time means the moment after the
	// newest one that the session tells of, but no earlier than 2026-11-21.
	Now time.Time
	// Missing tells whether nothing is at a path that a prompt's file links to: some
	// versions end on that. nil means that every such file is there.
	Missing func(path string) bool
	// Reads tells whether a model takes files of that kind, "image" or "pdf": where it is
	// known not to, the agent sends a line of text for one in a prompt, and the file
	// where it is attached to a result. nil means that every model takes both.
	Reads func(m request.Model, kind string) (reads, known bool)
	// Standing renders the session as it stands, its tool loop open: no prompt is
	// added. It is the request that an error stored in the newest answer is about.
	NoPrompt bool
}

// A Request is what the agent will send, or why it will send nothing.
type Request struct {
	// Turns hold what the agent would send without the records that it dies on.
	request.Request
	// Fatal lists what ends the agent before it sends anything.
	Failures []Failure
	// Unseen is a message that the agent takes for newer than the answer to this
	// request, the zero Ref for none: it does not see that it was answered, and asks
	// again with the answer at the end, which the provider refuses.
	Unseen session.Ref
}

// PromptText stands for the prompt that the user will type.
const PromptText = "(the next prompt)"

// A Fatal is a record on which the agent ends, or for which it stays silent.
type Failure struct {
	Code string // one of the Fatal codes
	Why  string // for a person: what was found
	Ref  session.Ref
}

// The codes of what is fatal.
const (
	FailureUnreadable = "unreadable" // the record is no JSON, or may not be read
	FailureField      = "field"      // a field that is needed is missing or has another type
	FailureMedia      = "media"      // a file that the model cannot be sent
	FailureClock      = "clock"      // ids from another turn of the id clock: the prompt is taken for answered
)
