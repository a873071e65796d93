package live

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"mend/repair"
	"mend/session"
)

// A Question is what an agent asks before it makes a request, and waits for.
type Question struct {
	Session SessionRef
	Version string // of the agent; "" if unknown

	// Deadline is how long the agent waits. No change of the store begins after it.
	Deadline time.Duration
	// Begin reports whether the agent still waits. If it does, it waits until the
	// question is answered, however long that takes.
	Begin func(ctx context.Context) (bool, error)
}

// Reasons why a session is left as it is before a request. If the provider refuses the
// request, the session is recovered then.
var (
	ErrUnverified = errors.New("mend was not verified with this version of the agent")
	ErrTooLate    = errors.New("the agent no longer waits")
	errLossy      = errors.New("the repair would remove content that can be read")
	errStill      = errors.New("the session would be broken all the same")
	errUndone     = errors.New("the last repair of this session was undone")
	errWorking    = errors.New("the agent is working in the session")
)

// Preflight repairs a session before the agent makes a request for it, if the request
// would be refused, or if the agent could not make it. It returns the id of the journal
// entry, "" if the store was not changed.
//
// The user is not asked, so it repairs only if the agent's version is one that mend was
// verified with, the agent is idle in the session, the repair leaves nothing broken and
// loses nothing that can be read, and the last repair of the session was not undone.
// Otherwise the error says why not.
func (h *Hook) Preflight(ctx context.Context, q Question) (entry string, err error) {
	idle := func(ctx context.Context) error {
		if h.busy(ctx, q.Session) {
			return errWorking
		}
		return nil
	}
	return h.preflight(ctx, q, true, idle)
}

// PreflightStored is [Hook.Preflight] for the sessions of a directory that were updated
// since then, newest first, before the agent handles its first prompt. An agent that
// starts cannot say whether it is idle; a session that another process may be working in
// is left as it is.
func (h *Hook) PreflightStored(ctx context.Context, since time.Time, q Question) error {
	end := time.Now().Add(q.Deadline)
	heads, err := h.storedSessions(ctx)
	if err != nil {
		return err
	}
	for _, head := range heads {
		if head.Directory != q.Session.Directory || time.UnixMilli(head.Updated).Before(since) {
			continue
		}
		one := q
		one.Session.ID, one.Deadline = head.ID, time.Until(end)
		if _, err := h.preflight(ctx, one, false, func(context.Context) error { return nil }); errors.Is(err, ErrTooLate) || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// preflight repairs one session. idle returns an error if the agent may be working in it.
func (h *Hook) preflight(ctx context.Context, q Question, force bool, idle func(context.Context) error) (entry string, err error) {
	if !h.store.Verified(q.Version) {
		return "", fmt.Errorf("%w: %q", ErrUnverified, q.Version)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(q.Deadline, func() { cancel(ErrTooLate) })
	defer timer.Stop()
	release, err := h.acquire(ctx)
	if err != nil {
		return "", causeOr(ctx, err)
	}
	defer release()
	begun := false
	accept := func(ctx context.Context, r repair.Result) error {
		if err := harmless(r); err != nil {
			return err
		}
		if undone, err := h.store.LastUndone(ctx, q.Session.ID); undone || err != nil {
			return errors.Join(err, errUndone)
		}
		if err := idle(ctx); err != nil {
			return err
		}
		if waits, err := q.Begin(ctx); !waits || err != nil {
			return errors.Join(err, ErrTooLate)
		}
		if !begun && !timer.Stop() {
			return ErrTooLate
		}
		begun = true
		return nil
	}
	req := h.complete(repair.Request{Except: h.opt.Disabled, Force: force})
	if q.Version != "" {
		req.Version = q.Version
	}
	entry, result, err := h.store.RepairIf(ctx, q.Session.ID, req, accept)
	log := h.opt.Log.With("session", q.Session.ID, "preflight", true)
	if err != nil {
		log.Info("left alone before the request", "why", causeOr(ctx, err))
		return entry, causeOr(ctx, err)
	}
	if entry == "" {
		return "", nil
	}
	h.countRepaired(log, entry, result)
	h.notify(&h.onComplete, q.Session.ID)
	if force { // the screen is there
		h.toast(ctx, q.Session.Directory, Toast{repairedTitle, beforeRequestText(entry), VariantSuccess, toastTime})
	}
	return entry, nil
}

// countRepaired counts and logs a repair that no error asked for.
func (h *Hook) countRepaired(log *slog.Logger, entry string, r repair.Result) {
	var class repair.Class
	if len(r.Fixed) > 0 {
		class = r.Fixed[0].Class
	}
	h.count(Detected, class)
	h.count(Repaired, class)
	log.Info("repaired", "repair", entry, "class", class, "records", len(r.Plan.Ops))
}

// harmless returns an error if the repair must not be applied without asking.
func harmless(r repair.Result) error {
	for _, d := range r.Remaining {
		if d.Severity == repair.Broken {
			return fmt.Errorf("%w: %s", errStill, d.Why)
		}
	}
	for _, d := range r.Fixed {
		if d.Loses != "" && !losesOnlyUnreadable(d.Class) {
			return fmt.Errorf("%w: %s", errLossy, d.Loses)
		}
	}
	return nil
}

// losesOnlyUnreadable reports whether a fix of a finding of this class loses only what
// neither the agent nor the provider can read.
func losesOnlyUnreadable(c repair.Class) bool {
	switch c {
	case repair.UnreadableRecord, repair.IncompleteRecord, repair.InvalidFile, repair.InvalidToolCall:
		return true
	default:
		return false
	}
}

// AnswerQuestion answers a question of the agent about a session, or about all sessions
// of its directory if it names none, and shows what was repaired.
func (h *Hook) AnswerQuestion(ctx context.Context, since time.Time, q Question) (entry string, err error) {
	if q.Session.ID == "" {
		return "", h.PreflightStored(ctx, since, q)
	}
	if err := session.ValidateID(q.Session.ID); err != nil {
		return "", err
	}
	return h.Preflight(ctx, q)
}
