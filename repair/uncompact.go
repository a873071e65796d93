package repair

import (
	"cmp"
	"errors"
	"fmt"

	"mend/change"
	"mend/internal/fail"
	"mend/internal/request"
)

// An UncompactRequest describes how to remove a compaction.
type UncompactRequest struct {
	Options
	Trim      bool     // trim outputs of tools, so that the request fits
	Protected []string // see [TrimRequest]
	Force     bool     // even if the agent is working in the session
}

// An Uncompacted is the plan that removes a compaction, and its effects.
type Uncompacted struct {
	Plan          change.Plan
	Messages      int             // number of messages that are sent again
	Earlier       int             // number of compactions left
	Fixed         []Diagnosis     // problems of the messages that are sent again
	Outputs       []TrimmedOutput // trimmed outputs
	Before, After int             // estimated size of the next request in tokens
	Window        int             // the context window of the model in tokens; 0 if unknown
}

// ErrNotCompacted means that a session has no finished compaction.
var ErrNotCompacted error = fail.New(fail.Refused, "nothing is missing from its requests",
	"the session has no finished compaction")

// A TooLargeError means that the next request would exceed the context window of the model. Sizes are
// in tokens.
type TooLargeError struct {
	Tokens int // size of the request
	Limit  int // the greatest size allowed, see [MaxPercent]
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the next request would have about %d tokens, and the model takes %d with room for the answer",
		e.Tokens, e.Limit)
}

// Failure gives the error its exit code and its hint, see [fail.Classify].
func (e *TooLargeError) Failure() (fail.Code, string) {
	return fail.Refused, "use --trim to make room, or a model with a larger context window"
}

// Uncompact plans to remove the newest finished compaction of a session. The agent then sends the earlier messages
// again. Problems in these messages are fixed in the same plan, and with [UncompactRequest.Trim] the request is trimmed
// to fit into the context window.
//
// The error wraps [ErrBusy] if the agent is working in the session and Force is not set, or [ErrNotCompacted], or is
// a [*TooLargeError]. Other errors mean that no message would be sent again, or that problems of these messages
// cannot be fixed.
func Uncompact(id string, c *Case, r UncompactRequest) (Uncompacted, error) {
	u, err := uncompact(id, c, r)
	if err != nil {
		return Uncompacted{}, fmt.Errorf("removing the compaction of %s: %w", id, err)
	}
	return u, nil
}

func uncompact(id string, c *Case, r UncompactRequest) (u Uncompacted, err error) {
	if why := c.Busy; why != "" && !r.Force {
		return u, fmt.Errorf("%w: %s", ErrBusy, why)
	}
	before := wholeRequest(c)
	u.Before, u.Window = before.Tokens(), c.Window()
	d := c.Draft()
	err = d.Apply(Fix{Whole: true, Edit: func(d Editor) (err error) {
		u.Earlier, err = d.RemoveCompaction()
		return err
	}})
	switch {
	case errors.Is(err, ErrNotCompacted):
		return u, err
	case err != nil:
		return u, fail.New(fail.Refused, "", "%s: %w", harmful, err)
	}
	fixed, err := Plan(id, d.Case(), Request{Options: r.Options, Force: true})
	if err != nil {
		return u, err
	}
	u.Fixed = fixed.Fixed
	after, limit := fixed.After, cmp.Or(u.Window, DefaultWindow)*MaxPercent/100
	if u.After = sizeOf(after); u.After > limit && r.Trim {
		var t Trimmed
		after, t = trim(after, TrimRequest{Goal: limit, KeepTurns: DefaultKeepTurns, Protected: r.Protected})
		u.After, u.Outputs = t.After, t.Outputs
	}
	after, bound, err := removeSpoiled(c, after, false)
	if err != nil {
		return u, err
	}
	if u.After > limit {
		return u, &TooLargeError{Tokens: u.After, Limit: limit}
	}
	if err := checkHarm(c, after); err != nil {
		return u, err
	}
	if u.Messages = countNew(before, after); u.Messages == 0 {
		return u, fail.New(fail.Refused, "", "%s: no message would be sent again", harmful)
	}
	u.Plan = change.Plan{
		Session: id, Cause: change.Cause{Kind: change.CauseUncompact, Bound: bound},
		Ops: change.Diff(c.Records, after.Records), Force: r.Force,
	}
	return u, nil
}

// countNew returns how many stored messages are in the next request but not in the one before.
func countNew(before request.Request, after *Case) (n int) {
	seen := map[change.Ref]bool{}
	for _, t := range before.Turns {
		for _, ref := range t.Messages {
			seen[ref] = true
		}
	}
	for _, t := range wholeRequest(after).Turns {
		for _, ref := range t.Messages {
			if !seen[ref] { // a message of several steps is in several turns
				seen[ref] = true
				n++
			}
		}
	}
	return n
}
