package render

import (
	"time"

	"mend/internal/request"
)

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
