package render

import (
	"slices"
	"time"

	"mend/change"
	"mend/internal/request"
)

// A Request is what OpenCode sends for a session, or why it sends nothing.
type Request struct {
	// Turns exclude the records that cause the Failures.
	request.Request
	// Failures are the reasons why the agent sends nothing.
	Failures []Failure
	// Unseen is an assistant message that the agent considers newer than its new prompt, or the
	// zero Ref. The agent then does not see the answer to this request, and sends more requests
	// that end with answers, until the provider refuses one.
	Unseen change.Ref
	// Late is a prompt that the agent considers newer than its new prompt, or the zero Ref. The
	// agent then works on that prompt, and begins again after each step that calls a tool.
	Late change.Ref
	// Next is the request after this one if this one is for a pending compaction; otherwise nil. Next has the whole
	// conversation and the new prompt: the summary names the new prompt as its prompt, and that is not a compaction, so
	// the summary replaces nothing. Next lacks the summary and the prompt to continue, with which that request ends.
	Next *Request
	// Target is where the request goes; API is the form of the request.
	Target Target
	API    API
}

// PromptText stands for the text of the new prompt.
const PromptText = "(the next prompt)"

// A Failure is a record that makes the agent fail.
type Failure struct {
	Code string // one of the constants below
	Why  string // for the user
	Ref  change.Ref
	File *request.Block // in the result of a call; nil for none
}

// The codes of failures.
const (
	FailureUnreadable = "unreadable"  // the record is not JSON, or cannot be read
	FailureField      = "field"       // a required field is missing or has the wrong type
	FailureMedia      = "media"       // a file cannot be sent to the model
	FailureClock      = "clock"       // a message sorts after every new prompt, see [Request].Unseen
	FailureScreen     = "screen"      // the screen cannot show the record
	FailureSession    = "session"     // an invalid value in the session's own record
	FailureProject    = "project"     // the session's project does not exist
	FailureProjectRow = "project row" // an invalid value in the project's record
)

// join returns the violations of a request, followed by the violations that only the next request has.
func join(first, next []request.Violation) []request.Violation {
	type violation struct {
		rule, message string
		ref           change.Ref
	}
	identity := func(v request.Violation) violation {
		k := violation{rule: v.Rule, message: v.Message}
		if len(v.Refs) > 0 {
			k.ref = v.Refs[0]
		}
		return k
	}
	known := map[violation]bool{}
	for _, v := range first {
		known[identity(v)] = true
	}
	all := slices.Clip(first)
	for _, v := range next {
		if !known[identity(v)] {
			all = append(all, v)
		}
	}
	return all
}

// Settings are the inputs of a request besides the session.
type Settings struct {
	// Profile is the version of the agent; the zero Profile means the newest.
	Profile Profile
	// Version is the version in use, which may differ from the profile's; "" means the newest.
	Version string
	// Model is the model of the request. The zero Model means the one that the agent selects: since 1.17 the model in the
	// session's record, else the model of the newest prompt, or else of the newest assistant message.
	Model request.Model
	// Now is the time of the new prompt. It decides whether that prompt is the newest message by
	// time and by id (docs/opencode.md F3). The zero time means the moment after the latest time in
	// the session, but not before 2026-11-21.
	Now time.Time
	// Missing reports whether the file at a path that a prompt links to does not exist: some
	// versions fail then. nil means that all files exist.
	Missing func(path string) bool
	// CanRead reports whether a model supports a kind of file ("image", "pdf", "audio" or "video"), and whether that is
	// known. If the model is known not to support it, the agent replaces such a file in a prompt with a line of text,
	// but not in a tool result. nil means that all models support images and PDFs, and none the others.
	CanRead func(m request.Model, kind string) (reads, known bool)
	// Target returns where the requests of a model go. nil means Anthropic's API.
	Target func(m request.Model) Target
}
