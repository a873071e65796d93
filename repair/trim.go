package repair

import (
	"errors"
	"fmt"

	"mend/change"
	"mend/session"
)

// A TrimRequest says how small the next request of a session shall be. Sizes are in
// tokens, estimated as [request.Request.Tokens] does.
type TrimRequest struct {
	Options
	Goal      int      // the largest size of the request; 0: Percent decides
	Percent   int      // of the context window of the model; with 0 the request gets as small as can be
	Actual    int      // the size of the request as the provider measured it, to correct the estimate; 0 if unknown
	Window    int      // the context window of the model; 0: as the agent knows it
	TooLong   bool     // the provider refused the request as too long, so the estimate is at least the window
	KeepTurns int      // the newest prompts and their answers that stay whole
	Protected []string // names of tools whose outputs stay
	Hard      bool     // if the outputs are not enough, also take out large files and texts
	Force     bool     // although the agent is working in the session
}

// A Trimmed is the plan of a trim and what it does.
type Trimmed struct {
	Plan          change.Plan     // without ops if nothing can be trimmed
	Outputs       []TrimmedOutput // in the order in which they were chosen
	Removed       []RemovedContent
	Before, After int // the estimated size of the next request
	Goal          int // the largest size that was asked for
	Window        int // the context window of the model in tokens; 0 if unknown
}

// A TrimmedOutput is an output of a tool that the agent will no longer send.
type TrimmedOutput struct {
	Ref    session.Ref
	Tool   string
	Tokens int
	Copy   bool // a later call had the same tool and the same input
}

// A RemovedContent is a file, or the middle of a text, that a line of text replaces in the
// store. Its bytes stay in the journal.
type RemovedContent struct {
	Ref    session.Ref
	File   bool   // else a text
	Name   string // of the file, or the beginning of the text
	Tokens int    // that the request gets smaller
}

// Defaults of trims.
const (
	DefaultPercent   = 60      // of the context window, see [TrimRequest]
	DefaultKeepTurns = 2       // see [TrimRequest]
	DefaultWindow    = 200_000 // tokens of the context window of a model of which it is not known

	// MaxPercent is how much of the context window a request may take after a change that
	// makes it larger. The rest is for the system prompt, the tools and the answer.
	MaxPercent = 80
)

// ProtectedTools returns the names of tools whose outputs a model needs for the whole
// session, see [TrimRequest].
func ProtectedTools() []string {
	return []string{"lsp_rename", "session_read", "session_search", "session_write", "skill", "task", "todoread", "todowrite"}
}

// An UncompactRequest says how a compaction is removed.
type UncompactRequest struct {
	Options
	Trim      bool     // trim outputs of tools, so that the request fits
	Protected []string // see [TrimRequest]
	Force     bool     // although the agent is working in the session
}

// An Uncompacted is the plan that removes a compaction, and what it does.
type Uncompacted struct {
	Plan          change.Plan
	Messages      int             // that are sent again
	Earlier       int             // compactions that are left
	Fixed         []Diagnosis     // what was broken in the messages that are sent again
	Outputs       []TrimmedOutput // that were trimmed
	Before, After int             // the estimated size of the next request in tokens
	Window        int             // the context window of the model in tokens; 0 if unknown
}

// ErrNotCompacted says that a session has no finished compaction.
var ErrNotCompacted = errors.New("the session has no finished compaction")

// A TooLargeError says that the next request would not fit into the context window of the
// model. Sizes are in tokens.
type TooLargeError struct {
	Tokens int // of the request
	Limit  int // that it may have, see [MaxPercent]
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the next request would have about %d tokens, and the model takes %d with room for the answer", e.Tokens, e.Limit)
}

// ErrHarmful says that a plan would break something that was not broken before.
var ErrHarmful = errors.New("the change would break the session")

// CheckHarm returns an error that wraps [ErrHarmful] if a case has a finding, other than a
// note, that the case before it did not have.
func CheckHarm(before, after Case) error {
	for _, f := range after.Findings().All() {
		if f.Severity != Note && !before.Findings().Has(f) {
			return fmt.Errorf("%w: %s", ErrHarmful, f.Text)
		}
	}
	return nil
}
