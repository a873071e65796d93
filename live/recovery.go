package live

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"mend/repair"
)

// A recovery is one run of a [Hook] for one failed answer.
type recovery struct {
	*Hook
	info Info
	err  repair.APIError
	log  *slog.Logger
	told []Message // the newest messages, as the agent reported them

	// late says that nobody waits for it: the error is not of now. The session is
	// repaired; the agent is left alone.
	late bool

	// orphan says that the agent told of the error and ended: what it stored is
	// all there will be, finished or not.
	orphan bool
}

// swept reports whether nobody told of the error: it was found in the store.
func (r *recovery) swept() bool { return r.late && !r.orphan }

func (r *recovery) place() Place { return Place{r.info.SessionID, r.info.Directory} }

// run is the course of a recovery: the order in the package's documentation.
func (r *recovery) run(ctx context.Context) (cured bool) {
	modified := r.err.Class == repair.ThinkingBlockModified // nothing of it is touched, not even by an abort
	if !r.late && (!modified || r.info.ID == "" || r.opt.Prove) {
		last, err := r.find(ctx)
		if errors.Is(err, ErrGone) {
			last, err = r.findStored(ctx)
		}
		if err != nil {
			level := slog.LevelWarn
			if errors.Is(err, errMovedOn) {
				level = slog.LevelDebug // as it should
			}
			r.log.Log(ctx, level, "finding the answer that failed", "error", err)
			return false
		}
		r.info.ID, r.info.Time = last.ID, last.Time
	}
	r.log = r.log.With("message", r.info.ID)
	if err := r.prove(ctx); err != nil {
		if r.taken.claim(r.info.ID, r.swept()) {
			r.log.Warn("only reported, not repaired", "why", err, "explanation", r.err.Explanation, "error", r.err.Text)
		}
		return false
	}
	if !r.taken.claim(r.info.ID, r.swept()) {
		r.log.Debug("taken already")
		return false
	}
	keep := true
	defer func() {
		if !keep {
			r.taken.release(r.info.ID)
		}
	}()
	if modified {
		r.end(Refused)
		r.explain(ctx)
		r.tell(&r.onComplete, r.info.SessionID)
		return false
	}
	if !r.late && !r.taken.try(r.info.SessionID) {
		r.end(Refused)
		r.giveUp(ctx)
		return false
	}
	defer r.tell(&r.onComplete, r.info.SessionID)
	r.tell(&r.onAbort, r.info.SessionID)
	cured, keep = r.treat(ctx)
	return cured
}

// end counts what became of the error.
func (r *recovery) end(o Outcome) {
	r.count(Detected, r.err.Class)
	r.count(o, r.err.Class)
}

// treat does the work between the callbacks. keep says that the answer is never
// to be repaired again.
func (r *recovery) treat(ctx context.Context) (cured, keep bool) {
	if !r.late {
		r.abort(ctx)
	}
	ms, err := r.fetch(ctx)
	if err == nil && !has(ms, r.info.ID) {
		err = fmt.Errorf("session %s has no message %s", r.info.SessionID, r.info.ID)
	}
	if err != nil {
		return r.fail(ctx, err)
	}
	if explained(r.err.Class) {
		r.end(Refused)
		r.explain(ctx)
		return false, true
	}
	entry, err := r.lastChange(ctx)
	if err != nil {
		return r.fail(ctx, err)
	}
	if entry != "" {
		r.log.Info("treated already", "repair", entry)
		r.note(ctx, Toast{notices[r.err.Class].title, treatedText(entry), VariantSuccess, toastTime})
		return false, true
	}
	return r.cure(ctx, ms)
}

// cure repairs the store, tells what became of it, and lets the turn go on.
func (r *recovery) cure(ctx context.Context, ms []Message) (cured, keep bool) {
	r.announce(ctx)
	entry, result, err := r.repair(ctx, r.info.SessionID, r.request())
	switch {
	case err != nil:
		return r.fail(ctx, err)
	case entry == "" && r.late: // recovered before
		return false, true
	case entry == "": // a second look would see the same store
		r.end(Refused)
		r.explain(ctx)
		return false, true
	}
	r.end(Cured)
	r.log.Info("repaired", "repair", entry, "records", len(result.Plan.Ops), "error", r.err.Text)
	text := curedText(entry)
	if result.All {
		text = "The error came again: all of its kind is removed. " + text
	}
	r.note(ctx, Toast{notices[r.err.Class].title, text, VariantSuccess, toastTime})
	r.resume(ctx, ms)
	return true, true
}

// lastChange returns the id of the newest change of the session since the answer was
// begun, by a sweep or by a hook that ended before it could report it. To repair such
// a session again would remove more than the error is about, or undo an undo.
func (r *recovery) lastChange(ctx context.Context) (entry string, err error) {
	if r.swept() || r.info.Time.Created == 0 { // a sweep has asked; or nobody can tell
		return "", nil
	}
	return r.store.LastChange(ctx, r.info.SessionID, r.info.begun())
}

func (r *recovery) abort(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.opt.Timeout)
	defer cancel()
	if err := r.agent.Abort(ctx, r.place()); err != nil {
		r.log.Warn("aborting the session", "error", err)
	}
}

// fetch reads the messages: from the agent, or from the store where the agent
// does not answer or tells no part of any of them.
func (r *recovery) fetch(ctx context.Context) ([]Message, error) {
	if !r.late {
		ms, err := r.messages(ctx, r.place(), 0)
		if err == nil && hasParts(ms) {
			return ms, nil
		}
		r.log.Debug("reading the messages from the store", "error", err)
	}
	return stored(ctx, r.store, r.info.SessionID)
}

func has(ms []Message, id string) bool {
	return slices.ContainsFunc(ms, func(m Message) bool { return m.Info.ID == id })
}

func hasParts(ms []Message) bool {
	return slices.ContainsFunc(ms, func(m Message) bool { return len(m.Parts) > 0 })
}

// unavailable is the result of a call to a tool that there is not.
const unavailable = "Tool not available. Please continue without this tool."

// request is what shall be cured: what the error is about, and what is broken
// besides, since an error names one place. With a class switched off that one stays.
func (r *recovery) request() repair.Request {
	req := repair.Request{Error: &r.err, Except: r.opt.Off, Force: r.orphan}
	if r.err.Class == repair.UnavailableTool { // cured where it is stored, as a call that never got a result
		req.Cancelled = unavailable
	}
	return req
}

// fail tells of a recovery that could not be done; it may be tried again.
func (r *recovery) fail(ctx context.Context, err error) (cured, keep bool) {
	r.end(Failed)
	r.log.Error("recovering the session", "error", err)
	if ctx.Err() == nil {
		r.note(ctx, Toast{notices[r.err.Class].title, failedText(err), VariantError, toastTime})
	}
	return false, false
}
