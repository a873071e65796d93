package live

import (
	"context"
	"errors"
	"time"

	"mend/change"
	"mend/repair"
)

// noAgent is an [Agent] that is not reached: there is only the store.
type noAgent struct{}

var errNoAgent = errors.New("no agent is reached")

func (noAgent) Messages(context.Context, SessionRef, int) ([]Message, error) { return nil, errNoAgent }
func (noAgent) Busy(context.Context, SessionRef) (bool, error)               { return false, nil }
func (noAgent) Abort(context.Context, SessionRef) error                      { return nil }
func (noAgent) Toast(context.Context, string, Toast) error                   { return nil }
func (noAgent) Publish(context.Context, string, string) error                { return nil }
func (noAgent) Prompt(context.Context, SessionRef, Prompt) error             { return errNoAgent }

// A StoredFailure is an error that the agent has stored as the end of a turn.
type StoredFailure struct {
	Message string // the id of the answer
	Error   []byte
	Time    time.Time
}

// RepairStored repairs a session that no agent is working in: what its stored failure is about, which
// may be nil, as a recovery does; and else what is broken, under the conditions of a repair before a
// request. It returns the id of the journal entry, "" for none; the error then says why the session is
// left as it is. It wraps [repair.ErrBusy] if a process uses the session.
func (h *Hook) RepairStored(ctx context.Context, head change.Head, failure *StoredFailure, broken bool) (entry string, err error) {
	if failure == nil && !broken {
		h.dedupe.reset(head.ID)
		return "", nil
	}
	ref := SessionRef{head.ID, head.Directory}
	if failure != nil {
		a := h.newAttempt(storedTurn, ref)
		a.head, a.info.ID, a.since, a.err = head, failure.Message, failure.Time, h.store.ParseAPIError(failure.Error)
		if h.handles(a.err.Class) && !isExplainOnly(a.err.Class) {
			entry, err = a.run(ctx)
		}
		if entry != "" || errors.Is(err, repair.ErrBusy) || !broken {
			return entry, err
		}
	}
	a := h.newAttempt(beforeRequest, ref)
	a.head, a.question.Deadline, a.text = head, time.Minute, foundText
	return a.preflight(ctx)
}
