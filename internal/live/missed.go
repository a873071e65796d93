package live

import (
	"context"
	"slices"
	"time"

	"mend/change"
)

// RecoverMissed repairs sessions updated since then whose last assistant message
// failed and was created no later than listening, including recoveries that a crash
// interrupted. It only writes the store: no abort, toast or prompt. The agent reports
// errors of newer messages itself. If directory is not "", only its sessions are
// considered. The error is that of listing the sessions, or the context's.
func (h *Hook) RecoverMissed(ctx context.Context, since, listening time.Time, directory string) error {
	heads, err := h.storedSessions(ctx)
	if err != nil {
		return err
	}
	heads = slices.DeleteFunc(heads, func(s change.Head) bool {
		return time.UnixMilli(s.Updated).Before(since) || directory != "" && s.Directory != directory
	})
	return h.recoverStored(ctx, heads, func(created time.Time) bool { return !created.After(listening) })
}

// RecoverUnreported repairs, like [Hook.RecoverMissed], the sessions that had events
// and whose last assistant message failed and was created at or after since, unless
// the agent reported the error and it was handled. An agent that ends right after an
// error may not send its last events. Call it after the last event, when Run has
// returned. The error is the context's.
func (w *Watch) RecoverUnreported(ctx context.Context, since time.Time) error {
	var heads []change.Head
	w.mu.Lock()
	for _, id := range w.sessions.Keys() {
		heads = append(heads, change.Head{ID: id})
	}
	w.mu.Unlock()
	return w.recoverStored(ctx, heads, func(created time.Time) bool { return !created.Before(since) })
}

// recoverStored repairs the sessions whose last assistant message failed and was
// created at a time for which inRange returns true.
func (h *Hook) recoverStored(ctx context.Context, heads []change.Head, inRange func(created time.Time) bool) error {
	for _, head := range heads {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := h.recoverSession(ctx, head, inRange); err != nil {
			h.opt.Log.Warn("looking at a session", "session", head.ID, "error", err)
		}
	}
	return nil
}

func (h *Hook) storedSessions(ctx context.Context) ([]change.Head, error) {
	release, err := h.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return h.store.Sessions(ctx)
}

func (h *Hook) recoverSession(ctx context.Context, head change.Head, inRange func(created time.Time) bool) (err error) {
	a := h.newAttempt(failedTurn, SessionRef{head.ID, head.Directory})
	a.late = true
	a.detect = func(ctx context.Context, a *attempt) bool {
		var found bool
		found, err = a.findStored(ctx, inRange)
		return found
	}
	_, _ = a.run(ctx)
	return err
}

// findStored finds an error in the store that no repair has answered yet.
func (a *attempt) findStored(ctx context.Context, inRange func(created time.Time) bool) (bool, error) {
	ms, err := loadMessages(ctx, a.store, a.ref.ID)
	if err != nil {
		return false, err
	}
	last := lastMessage(ms)
	if last == nil || last.Info.Role != change.RoleAssistant || !last.Info.HasError() || !inRange(last.Info.Created()) {
		return false, nil
	}
	a.info, a.err = last.Info, a.store.ParseAPIError(last.Info.Error)
	if !a.handles(a.err.Class) || isExplainOnly(a.err.Class) {
		return false, nil
	}
	entry, err := a.store.LastChange(ctx, a.ref.ID, last.Info.Created())
	return entry == "" && err == nil, err
}
