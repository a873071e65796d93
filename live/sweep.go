package live

import (
	"context"
	"slices"
	"time"

	"mend/repair"
	"mend/session"
)

// Sweep recovers the sessions, changed since then, that ended with an error while
// nobody listened: a recovery that a crash cut off among them. It repairs what is
// stored and does not trouble the agent: nothing is aborted, shown or prompted.
// Answers that were begun after listening are left alone: their errors are told.
// directory, if it is not "", names the only one whose sessions are looked at.
// The error is that of listing the sessions, or the context's.
func (h *Hook) Sweep(ctx context.Context, since, listening time.Time, directory string) error {
	heads, err := h.sessions(ctx)
	if err != nil {
		return err
	}
	heads = slices.DeleteFunc(heads, func(s session.Session) bool {
		return time.UnixMilli(s.Updated).Before(since) || directory != "" && s.Directory != directory
	})
	return h.sweepAll(ctx, heads, func(begun time.Time) bool { return !begun.After(listening) })
}

// Untold recovers, like [Hook.Sweep], the sessions that the events were about and
// that ended with an error of an answer begun since then, unless it was told and
// dealt with: an agent that ends right behind an error takes with it what it has
// not written yet. It is called when no event comes any more and Run has ended.
// The error is the context's.
func (w *Watch) Untold(ctx context.Context, since time.Time) error {
	var heads []session.Session
	w.mu.Lock()
	for _, id := range w.heard.order {
		heads = append(heads, session.Session{ID: id})
	}
	w.mu.Unlock()
	return w.hook.sweepAll(ctx, heads, func(begun time.Time) bool { return !begun.Before(since) })
}

// sweepAll recovers those of the sessions whose last answer failed and was begun at a
// time that is wanted.
func (h *Hook) sweepAll(ctx context.Context, heads []session.Session, begun func(time.Time) bool) error {
	for _, head := range heads {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := h.sweep(ctx, head, begun); err != nil {
			h.opt.Log.Warn("looking at a session", "session", head.ID, "error", err)
		}
	}
	return nil
}

func (h *Hook) sessions(ctx context.Context) ([]session.Session, error) {
	release, err := h.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return h.store.Sessions(ctx)
}

// sweep looks at one session.
func (h *Hook) sweep(ctx context.Context, head session.Session, begun func(time.Time) bool) error {
	release, err := h.begin(ctx)
	if err != nil {
		return err
	}
	defer release()
	ms, err := stored(ctx, h.store, head.ID)
	if err != nil {
		return err
	}
	last := newest(ms)
	if last == nil || last.Info.Role != session.RoleAssistant || !last.Info.failed() || !begun(last.Info.begun()) {
		return nil
	}
	e := repair.ParseAPIError(last.Info.Error)
	if !h.takes(e.Class) || explained(e.Class) {
		return nil
	}
	// See [recovery.lastChange].
	if entry, err := h.store.LastChange(ctx, head.ID, last.Info.begun()); entry != "" || err != nil {
		return err
	}
	last.Info.Directory = head.Directory
	r := &recovery{Hook: h, info: last.Info, err: e, late: true, log: h.opt.Log.With("session", head.ID, "class", e.Class, "late", true)}
	r.run(ctx)
	return nil
}

// explained reports whether errors of the class are explained and left alone.
func explained(c repair.Class) bool {
	return c == repair.ThinkingBlockModified || c == repair.AssistantPrefillUnsupported
}
