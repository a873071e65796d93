package live

import (
	"context"
)

// interruptedText is the result of a call that has none when its session is idle.
const interruptedText = "Tool execution was interrupted before producing a result."

// findInterrupted looks at a session that the agent reported as idle: whether tool calls of its
// last answer have no result. If its last turn succeeded, the number of attempts is reset.
func findInterrupted(ctx context.Context, a *attempt) bool {
	ms, err := a.agent.Messages(ctx, a.ref, 4)
	if err != nil {
		a.log.Debug("looking at an idle session", "error", err)
		return false
	}
	m := FinalAssistant(ms)
	switch {
	case m == nil:
		return false
	case m.Info.Finished():
		if !m.Info.HasError() && m.Info.Finish != nil { // see update.answered
			a.dedupe.reset(a.ref.ID)
		}
		return false
	case a.opt.KeepInterrupted:
		return false
	}
	if len(m.Parts) == 0 {
		m = a.storedMessage(ctx, m.Info.ID)
	}
	if m == nil {
		return false
	}
	a.info, a.changed = m.Info, len(m.unfinishedCalls())
	return a.changed > 0 && !a.Busy(ctx, a.ref)
}

// storedMessage returns the message from the store, or nil.
func (a *attempt) storedMessage(ctx context.Context, id string) *Message {
	ms, err := loadMessages(ctx, a.store, a.ref.ID)
	if err != nil {
		a.log.Warn("reading an idle session", "error", err)
	}
	for i := range ms {
		if ms[i].Info.ID == id {
			return &ms[i]
		}
	}
	return nil
}

// Busy reports whether the agent may be working in the session.
func (h *Hook) Busy(ctx context.Context, s SessionRef) bool {
	busy, err := h.agent.Busy(ctx, s)
	return busy || err != nil
}
