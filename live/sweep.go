package live

import (
	"context"
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
	return h.sweepAll(ctx, func(head session.Session) bool {
		return !time.UnixMilli(head.Updated).Before(since) && (directory == "" || head.Directory == directory)
	}, func(begun time.Time) bool { return !begun.After(listening) })
}

// Untold recovers, like [Hook.Sweep], the sessions that the events were about and
// that ended with an error of an answer begun since then, unless it was told and
// dealt with: an agent that ends right behind an error takes with it what it has
// not written yet. It is called when no event comes any more and Run has ended.
func (w *Watch) Untold(ctx context.Context, since time.Time) error {
	return w.hook.sweepAll(ctx, func(head session.Session) bool {
		_, ok := w.heard.get(head.ID)
		return ok
	}, func(begun time.Time) bool { return !begun.Before(since) })
}

// sweepAll looks at the sessions whose head is wanted, and recovers those whose
// last answer failed and was begun at a time that is wanted.
func (h *Hook) sweepAll(ctx context.Context, head func(session.Session) bool, begun func(time.Time) bool) error {
	heads, err := h.sessions(ctx)
	if err != nil {
		return err
	}
	for _, s := range heads {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !head(s) {
			continue
		}
		if err := h.sweep(ctx, s, begun); err != nil {
			h.opt.Log.Warn("looking at a session", "session", s.ID, "error", err)
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
	// See [recovery.treated].
	if entry, err := h.store.Treated(ctx, head.ID, last.Info.begun()); entry != "" || err != nil {
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
