package live

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"mend/change"
	"mend/repair"
)

// A recovery handles one failed message.
type recovery struct {
	*Hook
	info Info
	err  repair.APIError
	log  *slog.Logger

	// storeOnly is set if the error is not current: the store is repaired, without
	// abort, toast or prompt.
	storeOnly bool

	// agentEnded is set if the agent reported the error and ended: it will write
	// nothing more, even if the message is not finished.
	agentEnded bool
}

// unreported reports whether the error was found in the store, not reported by the agent.
func (r *recovery) unreported() bool { return r.storeOnly && !r.agentEnded }

func (r *recovery) ref() SessionRef { return SessionRef{r.info.SessionID, r.info.Directory} }

// run does the steps of a recovery in the order of the package documentation, and
// reports whether the store was repaired.
func (r *recovery) run(ctx context.Context) (repaired bool) {
	modified := r.err.Class == repair.ThinkingBlockModified // nothing is changed, and the session is not aborted
	if !r.storeOnly && (!modified || r.info.ID == "") {
		last, err := r.findFailed(ctx)
		if errors.Is(err, ErrAgentEnded) {
			last, err = r.findFailedInStore(ctx)
		}
		if err != nil {
			level := slog.LevelWarn
			if errors.Is(err, errSuperseded) {
				level = slog.LevelDebug // expected
			}
			r.log.Log(ctx, level, "finding the answer that failed", "error", err)
			// With messages that are dated in the future the newest one is another.
			return !r.storeOnly && errors.Is(err, errNotStored) && r.repairBroken(ctx, r.ref())
		}
		r.info.ID, r.info.Time = last.ID, last.Time
	}
	r.log = r.log.With("message", r.info.ID)
	if !r.dedupe.claim(r.info.ID, r.unreported()) {
		r.log.Debug("handled already")
		return false
	}
	final := true
	defer func() {
		if !final {
			r.dedupe.release(r.info.ID)
		}
	}()
	if !r.storeOnly { // else nothing is shown or aborted
		release, ok := r.opt.Claim(r.info.ID)
		if !ok {
			r.log.Debug("handled by another process")
			return false
		}
		defer func() { release(final) }()
	}
	if modified {
		r.countOutcome(Refused)
		r.explain(ctx)
		r.notify(&r.onComplete, r.info.SessionID)
		return false
	}
	if !r.storeOnly && !r.dedupe.attempt(r.info.SessionID) {
		r.countOutcome(Refused)
		r.giveUp(ctx)
		return false
	}
	defer r.begin(ctx, r.ref(), !r.storeOnly)()
	repaired, final = r.perform(ctx)
	return repaired
}

// countOutcome counts the error and its outcome.
func (r *recovery) countOutcome(o Outcome) {
	r.count(Detected, r.err.Class)
	r.count(o, r.err.Class)
}

// perform does the steps between the callbacks. It reports whether the store was
// repaired, and whether the result is final: the message is never handled again.
func (r *recovery) perform(ctx context.Context) (repaired, final bool) {
	entry, err := r.lastChange(ctx)
	if err != nil {
		return r.fail(ctx, err)
	}
	if entry != "" { // the next prompt may be running: nothing is aborted
		r.log.Info("repaired already", "repair", entry)
		r.showToast(ctx, Toast{notices[r.err.Class].title, alreadyRepairedText(entry), VariantSuccess, resultTime})
		return false, true
	}
	if !r.storeOnly {
		r.abort(ctx)
	}
	ms, err := r.allMessages(ctx)
	if err == nil && !hasMessage(ms, r.info.ID) {
		err = fmt.Errorf("session %s has no message %s", r.info.SessionID, r.info.ID)
	}
	if err != nil {
		return r.fail(ctx, err)
	}
	return r.repairStore(ctx, ms)
}

// repairStore repairs the store, shows the result and resumes the turn.
func (r *recovery) repairStore(ctx context.Context, ms []Message) (repaired, final bool) {
	if !isExplainOnly(r.err.Class) {
		r.announce(ctx)
	}
	entry, result, err := r.repair(ctx, r.info.SessionID, r.request())
	switch {
	case err != nil:
		return r.fail(ctx, err)
	case entry == "" && r.storeOnly: // it was recovered before
		return false, true
	case entry == "": // a second try would find the same store
		r.countOutcome(Refused)
		r.explain(ctx)
		return false, true
	}
	r.countOutcome(Repaired)
	r.log.Info("repaired", "repair", entry, "records", len(result.Plan.Ops), "error", r.err.Text)
	text := repairedText(entry, result.All, r.resumes())
	r.showToast(ctx, Toast{notices[r.err.Class].title, text, VariantSuccess, resultTime})
	if !r.resume(ctx, ms) { // a prompt that mend sends counts, so that it cannot loop
		r.dedupe.progress(r.info.SessionID)
	}
	return true, true
}

// lastChange returns the id of the newest change of the session since the message was
// created, by [Hook.RecoverMissed] or by a hook that ended before it could report the
// change. Another repair would remove more than the error requires, or revert an undo.
func (r *recovery) lastChange(ctx context.Context) (entry string, err error) {
	if r.unreported() || r.info.Time.Created == 0 { // it was checked before, or the time is unknown
		return "", nil
	}
	return r.store.LastChange(ctx, r.info.SessionID, r.info.Created())
}

func (r *recovery) abort(ctx context.Context) {
	if err := r.agent.Abort(ctx, r.ref()); err != nil {
		r.log.Warn("aborting the session", "error", err)
	}
}

// allMessages reads the messages from the agent, or from the store if the agent does
// not answer or sends no parts.
func (r *recovery) allMessages(ctx context.Context) ([]Message, error) {
	if !r.storeOnly {
		ms, err := r.agent.Messages(ctx, r.ref(), 0)
		if err == nil && hasParts(ms) {
			return ms, nil
		}
		r.log.Debug("reading the messages from the store", "error", err)
	}
	return loadMessages(ctx, r.store, r.info.SessionID)
}

func hasMessage(ms []Message, id string) bool {
	return slices.ContainsFunc(ms, func(m Message) bool { return m.Info.ID == id })
}

func hasParts(ms []Message) bool {
	return slices.ContainsFunc(ms, func(m Message) bool { return len(m.Parts) > 0 })
}

// unavailableToolText is the result of a call to a tool that does not exist.
const unavailableToolText = "Tool not available. Please continue without this tool."

// request returns the request to fix the error and all other faults of the session,
// because an error names only one place. Disabled classes are excluded.
func (r *recovery) request() repair.Request {
	req := repair.Request{Error: &r.err, Except: r.opt.Disabled, Force: r.agentEnded}
	if r.err.Class == repair.UnavailableTool { // fixed like a call without a result
		req.Cancelled = unavailableToolText
	}
	return req
}

// fail reports a recovery that failed. It may be tried again.
func (r *recovery) fail(ctx context.Context, err error) (repaired, final bool) {
	r.countOutcome(Failed)
	r.log.Error("recovering the session", "error", err)
	if ctx.Err() == nil {
		r.showToast(ctx, Toast{notices[r.err.Class].title, failedText(err), VariantError, resultTime})
	}
	return false, false
}

// findDelays are the delays between tries to find the failed message, because the
// agent reports an error before it stores it.
var findDelays = [...]time.Duration{50 * time.Millisecond, 150 * time.Millisecond, 400 * time.Millisecond, time.Second}

var (
	errSuperseded = errors.New("the session has continued meanwhile")
	errNotStored  = errors.New("no message has this error yet")
)

// findFailed returns the failed message. It must be the last of the session: an older
// one no longer matters, and an abort would end another turn.
func (r *recovery) findFailed(ctx context.Context) (Info, error) {
	for n := 0; ; n++ {
		ms, err := r.agent.Messages(ctx, r.ref(), 2)
		if err != nil {
			return Info{}, err
		}
		last := lastMessage(ms)
		switch {
		case last == nil || last.Info.Role == change.RoleAssistant && !last.Info.HasError():
		case last.Info.Role == change.RoleAssistant && r.info.ID == "":
			if r.store.ParseAPIError(last.Info.Error).Class == r.err.Class {
				return last.Info, nil
			}
		case last.Info.ID == r.info.ID:
			return last.Info, nil
		case r.info.ID != "":
			return Info{}, errSuperseded
		}
		if n == len(findDelays) {
			return Info{}, errNotStored
		}
		if err := r.wait(ctx, findDelays[n]); err != nil {
			return Info{}, err
		}
	}
}

// findFailedInStore returns the failed message of an agent that has ended. The agent
// may not have stored the error.
func (r *recovery) findFailedInStore(ctx context.Context) (Info, error) {
	r.storeOnly, r.agentEnded = true, true
	ms, err := loadMessages(ctx, r.store, r.info.SessionID)
	if err != nil {
		return Info{}, err
	}
	last := lastMessage(ms)
	if last == nil || last.Info.Role != change.RoleAssistant || !last.Info.HasError() && last.Info.Finished() {
		return Info{}, errNotStored
	}
	return last.Info, nil
}

// ResumeText is the prompt that resumes a turn.
const ResumeText = "[session recovered - continuing previous task]"

// resumes reports whether a repair is followed by the prompt that continues the turn.
func (r *recovery) resumes() bool {
	thinking := r.err.Class == repair.ThinkingBlockOrder || r.err.Class == repair.ThinkingDisabledViolation
	return thinking && r.opt.AutoResume && !r.storeOnly
}

// resume sends the prompt that continues the turn after a recovery of thinking, if
// that is enabled, and reports whether the agent may have got it. It does not retry.
func (r *recovery) resume(ctx context.Context, ms []Message) bool {
	if !r.resumes() || ctx.Err() != nil {
		return false
	}
	r.sendResume(ctx, ms)
	return true
}

// sendResume sends the prompt that continues the turn.
func (r *recovery) sendResume(ctx context.Context, ms []Message) {
	p := resumePrompt(lastUserPrompt(ms))
	if err := r.agent.Prompt(ctx, r.ref(), p); err != nil {
		r.log.Error("resuming the turn", "error", err)
		return
	}
	r.log.Info("resumed")
}

// resumePrompt returns the prompt that continues a turn, with the agent, model and
// tools that the user chose for last. last may be nil.
func resumePrompt(last *Message) Prompt {
	p := Prompt{Parts: []PromptPart{{Type: typeText, Text: ResumeText, Synthetic: true}}}
	if last == nil {
		return p
	}
	i := last.Info
	p.Agent, p.Tools, p.Variant = i.Agent, i.Tools, i.Variant
	if i.Model != nil {
		p.Model = &Model{ProviderID: i.Model.ProviderID, ModelID: i.Model.ModelID}
		if p.Variant == "" {
			p.Variant = i.Model.Variant
		}
	}
	return p
}
