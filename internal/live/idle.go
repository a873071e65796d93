package live

import (
	"cmp"
	"context"
	"log/slog"

	"mend/repair"
)

// interruptedText is the result of a call that has none when its session is idle.
const interruptedText = "Tool execution was interrupted before producing a result."

// handleIdle handles a session that the agent reported as idle. It gives a result to
// each tool call of the last assistant message that has none, and reports whether it
// repaired the store. If the last turn succeeded, it resets the number of attempts.
func (h *Hook) handleIdle(ctx context.Context, s SessionRef) bool {
	release, err := h.Acquire(ctx)
	if err != nil {
		return false
	}
	defer release()
	log := h.opt.Log.With("session", s.ID, "class", Interrupted)
	ms, err := h.agent.Messages(ctx, s, 4)
	if err != nil {
		log.Debug("looking at an idle session", "error", err)
		return false
	}
	m := FinalAssistant(ms)
	switch {
	case m == nil:
		return false
	case m.Info.Finished():
		if !m.Info.HasError() && m.Info.Finish != nil { // see update.answered
			h.dedupe.reset(s.ID)
		}
		return false
	case h.opt.KeepInterrupted:
		return false
	}
	if len(m.Parts) == 0 {
		m = h.storedMessage(ctx, s, m.Info.ID)
	}
	if m == nil || len(m.unfinishedCalls()) == 0 || h.busy(ctx, s) {
		return false
	}
	return h.endCalls(ctx, s, m, log)
}

// storedMessage returns the message from the store, or nil.
func (h *Hook) storedMessage(ctx context.Context, s SessionRef, id string) *Message {
	ms, err := loadMessages(ctx, h.store, s.ID)
	if err != nil {
		h.opt.Log.Warn("reading an idle session", "error", err)
	}
	for i := range ms {
		if ms[i].Info.ID == id {
			return &ms[i]
		}
	}
	return nil
}

// busy reports whether the agent may be working in the session.
func (h *Hook) busy(ctx context.Context, s SessionRef) bool {
	busy, err := h.agent.Busy(ctx, s)
	return busy || err != nil
}

// endCalls gives a result to the unfinished calls of m. The agent has reported that it
// is idle, so the repair is forced although the records are recent.
func (h *Hook) endCalls(ctx context.Context, s SessionRef, m *Message, log *slog.Logger) bool {
	if !h.dedupe.claim(m.Info.ID, false) {
		return false
	}
	release, ok := h.opt.Claim(m.Info.ID)
	if !ok {
		return false
	}
	defer release(true)
	if !h.dedupe.attempt(s.ID) {
		return false
	}
	h.count(Detected, Interrupted)
	defer h.begin(ctx, s, true)()
	calls := m.unfinishedCalls()
	entry, _, err := h.repair(ctx, s.ID, repair.Request{
		Classes: []repair.Class{repair.ToolResultMissing}, Latent: true, Force: true, Cancelled: cmp.Or(h.opt.Cancelled, interruptedText),
	})
	if err != nil {
		h.dedupe.release(m.Info.ID)
		h.count(Failed, Interrupted)
		log.Error("ending interrupted calls", "error", err)
		return false
	}
	if entry == "" {
		h.count(Refused, Interrupted)
		return false
	}
	h.count(Repaired, Interrupted)
	log.Info("repaired", "repair", entry, "calls", len(calls))
	h.Toast(ctx, s.Directory, Toast{
		notices[repair.ToolResultMissing].title, endedText(len(calls), entry), VariantSuccess, resultTime,
	})
	return true
}
