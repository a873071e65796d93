package live

import (
	"context"
	"errors"
	"fmt"
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
	if failure != nil {
		if entry, err = h.repairFailure(ctx, head, failure); entry != "" || errors.Is(err, repair.ErrBusy) || !broken {
			return entry, err
		}
	}
	if !broken {
		return "", err
	}
	ref := SessionRef{head.ID, head.Directory}
	q := Question{Session: ref, Deadline: time.Minute, Begin: func(context.Context) (bool, error) { return true, nil }}
	return h.preflight(ctx, head, q, occasion{}, h.whenIdle(ref))
}

// repairFailure repairs what a stored error is about, unless that was done. See [recovery.lastChange].
func (h *Hook) repairFailure(ctx context.Context, head change.Head, f *StoredFailure) (string, error) {
	e := h.store.ParseAPIError(f.Error)
	if !h.handles(e.Class) || isExplainOnly(e.Class) {
		return "", nil
	}
	free, err := h.Acquire(ctx)
	if err != nil {
		return "", err
	}
	defer free()
	handled := false
	release, ok := h.opt.Claim(f.Message)
	if !ok {
		return "", nil
	}
	defer func() { release(handled) }()
	if done, err := h.store.LastChange(ctx, head.ID, f.Time); done != "" || err != nil {
		return "", err
	}
	if !h.dedupe.attempt(head.ID) {
		return "", fmt.Errorf("%d repairs have changed nothing", h.opt.MaxAttempts)
	}
	entry, result, err := h.store.Repair(ctx, head.ID, h.complete(repair.Request{Error: &e, Except: h.opt.Disabled}))
	if errors.Is(err, repair.ErrBusy) {
		h.dedupe.progress(head.ID) // it is no attempt
		return "", err
	}
	h.count(Detected, e.Class)
	log := h.opt.Log.With("session", head.ID, "class", e.Class)
	switch {
	case err != nil:
		h.count(Failed, e.Class)
		log.Error("recovering the session", "error", err)
		return "", err
	case entry == "":
		handled = true
		h.count(Refused, e.Class)
		return "", nil
	}
	handled = true
	h.count(Repaired, e.Class)
	h.dedupe.progress(head.ID)
	log.Info("repaired", "repair", entry, "records", len(result.Plan.Ops), "error", e.Text)
	return entry, nil
}
