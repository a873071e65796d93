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
	for _, id := range w.seen.order {
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

func (h *Hook) recoverSession(ctx context.Context, head change.Head, inRange func(created time.Time) bool) error {
	release, err := h.Acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	ms, err := loadMessages(ctx, h.store, head.ID)
	if err != nil {
		return err
	}
	last := lastMessage(ms)
	if last == nil || last.Info.Role != change.RoleAssistant || !last.Info.HasError() || !inRange(last.Info.Created()) {
		return nil
	}
	e := h.store.ParseAPIError(last.Info.Error)
	if !h.handles(e.Class) || isExplainOnly(e.Class) {
		return nil
	}
	// See [recovery.lastChange].
	if entry, err := h.store.LastChange(ctx, head.ID, last.Info.Created()); entry != "" || err != nil {
		return err
	}
	last.Info.Directory = head.Directory
	r := &recovery{Hook: h, info: last.Info, err: e, storeOnly: true, log: h.opt.Log.With("session", head.ID, "class", e.Class, "late", true)}
	r.run(ctx)
	return nil
}
