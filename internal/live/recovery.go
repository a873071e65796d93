package live

import (
	"context"
	"errors"
	"time"

	"mend/change"
	"mend/repair"
)

// findFailure finds the message that failed.
func findFailure(ctx context.Context, a *attempt) bool {
	if a.err.Class == repair.ThinkingBlockModified && a.info.ID != "" {
		return true
	}
	last, err := a.findFailed(ctx)
	if errors.Is(err, errAgentEnded) {
		last, err = a.findStored(ctx)
	}
	switch {
	case err == nil:
	case errors.Is(err, errNotStored) && !a.late: // if messages are dated in the future, another one is the newest
		a.row, a.info, a.err = rowOf(AfterSilence), Info{}, repair.APIError{}
		return a.detect(ctx, a)
	default:
		a.log.Info("finding the message that failed", "error", err)
		return false
	}
	a.info.ID, a.info.Time = last.ID, last.Time
	if last.Time.CreationTime != 0 {
		a.since = last.CreationTime()
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

// findFailed returns the failed message if it is the last of the session. An older one no longer matters, and an abort
// would end another turn.
func (a *attempt) findFailed(ctx context.Context) (Info, error) {
	for n := 0; ; n++ {
		ms, err := a.agent.Messages(ctx, a.Head.ID, 2)
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

// findStored returns the failed message of an agent that has ended. The agent may not have stored the error.
func (a *attempt) findStored(ctx context.Context) (i Info, err error) {
	a.late = true
	x, err := a.store.Examine(ctx, a.Head)
	switch f := x.Failure; {
	case err != nil:
	case f != nil:
		i.ID, i.Time.CreationTime = f.Message, float64(f.Time.UnixMilli())
	case x.Unfinished:
		i.ID = a.info.ID
	default:
		err = errNotStored
	}
	return i, err
}

// unavailableToolText is the result of a call to a tool that does not exist.
const unavailableToolText = "Tool not available. Please continue without this tool."

// failureRequest is the request to fix the error and all other damage of the session, because an error names
// only one block. Disabled classes are excluded.
func failureRequest(a *attempt) repair.Request {
	req := repair.Request{Error: &a.err, Except: a.opt.Disabled, Force: a.late && a.Cause == AfterError}
	if a.err.Class == repair.UnavailableTool { // it is fixed like a call without a result
		req.Cancelled = unavailableToolText
	}
	return req
}

// ResumeText is the prompt that resumes a turn.
const ResumeText = "[session recovered - continuing previous task]"

// resumesThinking reports whether a prompt continues the turn after a repair of thinking.
func resumesThinking(a *attempt) bool {
	thinking := a.err.Class == repair.ThinkingBlockOrder || a.err.Class == repair.ThinkingDisabledViolation
	return thinking && a.opt.AutoResume && !a.late
}

// resume sends the prompt that continues the turn. It does not retry.
func (a *attempt) resume(ctx context.Context) {
	ms, err := a.agent.Messages(ctx, a.Head.ID, 0)
	if err == nil {
		err = a.agent.Prompt(ctx, a.Head.ID, resumePrompt(lastUserPrompt(ms)))
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

// interruptedText is the result that a repair gives to a call without a result in an idle session.
const interruptedText = "Tool execution was interrupted before producing a result."

// findInterrupted reports whether the last answer of an idle session has tool calls without a result. If its
// last turn succeeded, the number of attempts is reset.
func findInterrupted(ctx context.Context, a *attempt) bool {
	ms, err := a.agent.Messages(ctx, a.Head.ID, 4)
	if err != nil {
		a.log.Debug("looking at an idle session", "error", err)
		return false
	}
	m := FinalAssistant(ms)
	switch {
	case m == nil:
		return false
	case m.Info.IsFinished():
		if !m.Info.HasError() && m.Info.Finish != nil { // see update.answered
			a.resetAttempts(a.Head.ID)
		}
		return false
	case a.opt.KeepInterrupted:
		return false
	}
	a.info, a.changed = m.Info, m.unfinishedCalls()
	return a.changed > 0 && !a.Busy(ctx, a.Head.ID)
}
