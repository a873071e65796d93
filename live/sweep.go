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
	heads, err := h.sessions(ctx)
	if err != nil {
		return err
	}
	for _, head := range heads {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.UnixMilli(head.Updated).Before(since) || directory != "" && head.Directory != directory {
			continue
		}
		if err := h.sweep(ctx, head, listening); err != nil {
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
func (h *Hook) sweep(ctx context.Context, head session.Session, listening time.Time) error {
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
	if last == nil || last.Info.Role != session.RoleAssistant || !last.Info.failed() || int64(last.Info.Time.Created) > listening.UnixMilli() {
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
