package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mend/change"
	"mend/repair"
)

// HandleSessionRecovery recovers the session of an assistant message that failed, and
// reports whether the store was repaired. It ignores errors that are not recoverable,
// and messages that were handled before. If i.ID is "", the newest message of the
// session is meant.
func (h *Hook) HandleSessionRecovery(ctx context.Context, i Info) bool {
	e := h.store.ParseAPIError(i.Error)
	if i.Role != change.RoleAssistant || i.SessionID == "" || !i.HasError() || !h.handles(e.Class) {
		return false
	}
	h.noteRefusal(i.SessionID, e)
	a := h.newAttempt(failedTurn, SessionRef{i.SessionID, i.Directory})
	a.info, a.err = i, e
	entry, _ := a.run(ctx)
	return entry != ""
}

// findFailure finds the message that failed.
func findFailure(ctx context.Context, a *attempt) bool {
	if a.err.Class == repair.ThinkingBlockModified && a.info.ID != "" {
		return true
	}
	last, err := a.findFailed(ctx)
	if errors.Is(err, errAgentEnded) {
		last, err = a.findFailedInStore(ctx)
	}
	switch {
	case err == nil:
	case errors.Is(err, errNotStored) && !a.late: // with messages that are dated in the future the newest one is another
		a.row, a.info, a.err = unanswered, Info{}, repair.APIError{}
		return a.detect(ctx, a)
	case errors.Is(err, errSuperseded): // expected
		a.log.Debug("finding the answer that failed", "error", err)
		return false
	default:
		a.log.Warn("finding the answer that failed", "error", err)
		return false
	}
	a.info.ID, a.info.Time = last.ID, last.Time
	if last.Time.Created != 0 {
		a.since = last.Created()
	}
	a.log = a.log.With("message", a.info.ID)
	return true
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
func (a *attempt) findFailed(ctx context.Context) (Info, error) {
	for n := 0; ; n++ {
		ms, err := a.agent.Messages(ctx, a.ref, 2)
		if err != nil {
			return Info{}, err
		}
		last := lastMessage(ms)
		switch {
		case last == nil || last.Info.Role == change.RoleAssistant && !last.Info.HasError():
		case last.Info.Role == change.RoleAssistant && a.info.ID == "":
			if a.store.ParseAPIError(last.Info.Error).Class == a.err.Class {
				return last.Info, nil
			}
		case last.Info.ID == a.info.ID:
			return last.Info, nil
		case a.info.ID != "":
			return Info{}, errSuperseded
		}
		if n == len(findDelays) {
			return Info{}, errNotStored
		}
		if err := a.wait(ctx, findDelays[n]); err != nil {
			return Info{}, err
		}
	}
}

// findFailedInStore returns the failed message of an agent that has ended. The agent
// may not have stored the error.
func (a *attempt) findFailedInStore(ctx context.Context) (Info, error) {
	a.late, a.ended = true, true
	ms, err := loadMessages(ctx, a.store, a.ref.ID)
	if err != nil {
		return Info{}, err
	}
	last := lastMessage(ms)
	if last == nil || last.Info.Role != change.RoleAssistant || !last.Info.HasError() && last.Info.Finished() {
		return Info{}, errNotStored
	}
	return last.Info, nil
}

// unavailableToolText is the result of a call to a tool that does not exist.
const unavailableToolText = "Tool not available. Please continue without this tool."

// failureRequest is the request to fix the error and all other faults of the session,
// because an error names only one place. Disabled classes are excluded.
func failureRequest(a *attempt) repair.Request {
	req := repair.Request{Error: &a.err, Except: a.opt.Disabled, Force: a.ended}
	if a.err.Class == repair.UnavailableTool { // fixed like a call without a result
		req.Cancelled = unavailableToolText
	}
	return req
}

// repairFailure reads the messages, says what will be done, and does it.
func repairFailure(ctx context.Context, a *attempt) (entry string, err error) {
	a.messages, err = a.allMessages(ctx)
	if err == nil && !hasMessage(a.messages, a.info.ID) {
		err = fmt.Errorf("session %s has no message %s", a.ref.ID, a.info.ID)
	}
	if err != nil {
		return "", err
	}
	if n := notices[a.err.Class]; !a.late && !isExplainOnly(a.err.Class) {
		a.Toast(ctx, a.ref.Directory, Toast{n.title, n.message, VariantWarning, announceTime})
	}
	return a.apply(ctx)
}

// allMessages reads the messages from the agent, or from the store if the agent does
// not answer or sends no parts.
func (a *attempt) allMessages(ctx context.Context) ([]Message, error) {
	if !a.late {
		ms, err := a.agent.Messages(ctx, a.ref, 0)
		if err == nil && slices.ContainsFunc(ms, func(m Message) bool { return len(m.Parts) > 0 }) {
			return ms, nil
		}
		a.log.Debug("reading the messages from the store", "error", err)
	}
	return loadMessages(ctx, a.store, a.ref.ID)
}

func hasMessage(ms []Message, id string) bool {
	return slices.ContainsFunc(ms, func(m Message) bool { return m.Info.ID == id })
}

// ResumeText is the prompt that resumes a turn.
const ResumeText = "[session recovered - continuing previous task]"

// resumesThinking reports whether a repair is followed by the prompt that continues the turn.
func resumesThinking(a *attempt) bool {
	thinking := a.err.Class == repair.ThinkingBlockOrder || a.err.Class == repair.ThinkingDisabledViolation
	return thinking && a.opt.AutoResume && !a.late
}

// resume sends the prompt that continues the turn. It does not retry.
func (a *attempt) resume(ctx context.Context) {
	err := error(nil)
	if a.messages == nil {
		a.messages, err = a.agent.Messages(ctx, a.ref, 0)
	}
	if err == nil {
		err = a.agent.Prompt(ctx, a.ref, resumePrompt(lastUserPrompt(a.messages)))
	}
	if err != nil {
		a.log.Error("resuming the turn", "error", err)
		return
	}
	a.log.Info("resumed")
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
