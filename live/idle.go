package live

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"mend/repair"
)

// interrupted is the error of a call whose session came to rest without it.
const interrupted = "Tool execution was interrupted before producing a result."

// HandleIdle looks at a session that the agent says is at rest. Calls of its
// last answer that never got a result get one, and it reports whether they did;
// an answer that ended well lets the session be recovered anew.
func (h *Hook) HandleIdle(ctx context.Context, s Place) bool {
	release, err := h.begin(ctx)
	if err != nil {
		return false
	}
	defer release()
	log := h.opt.Log.With("session", s.Session, "class", Interrupted)
	ms, err := h.messages(ctx, s, 4)
	if err != nil {
		log.Debug("looking at an idle session", "error", err)
		return false
	}
	m := candidate(ms)
	switch {
	case m == nil:
		return false
	case m.Info.finished():
		if !m.Info.failed() {
			h.taken.well(s.Session)
		}
		return false
	case h.opt.KeepStuck:
		return false
	}
	if len(m.Parts) == 0 {
		m = h.storedAnswer(ctx, s, m.Info.ID)
	}
	if m == nil || len(m.unfinishedCalls()) == 0 || h.busy(ctx, s) {
		return false
	}
	if err := h.sameStore(ctx, s.Session, ms); err != nil {
		log.Debug("interrupted calls are left alone", "why", err)
		return false
	}
	return h.settle(ctx, s, m, log)
}

// storedAnswer is the answer as the store has it, nil if it is not there.
func (h *Hook) storedAnswer(ctx context.Context, s Place, id string) *Message {
	ms, err := stored(ctx, h.store, s.Session)
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

// busy reports whether the agent may be at work in the session.
func (h *Hook) busy(ctx context.Context, s Place) bool {
	ctx, cancel := context.WithTimeout(ctx, h.opt.Timeout)
	defer cancel()
	busy, err := h.agent.Busy(ctx, s)
	return busy || err != nil
}

// settle ends the calls of the answer. The agent itself has said that it is at
// rest, so that it is repaired although its records are young.
func (h *Hook) settle(ctx context.Context, s Place, m *Message, log *slog.Logger) bool {
	if !h.taken.claim(m.Info.ID, false) {
		return false
	}
	if !h.taken.try(s.Session) {
		return false
	}
	h.count(Detected, Interrupted)
	defer h.tell(&h.onComplete, s.Session)
	h.tell(&h.onAbort, s.Session)
	calls := m.unfinishedCalls()
	entry, _, err := h.repair(ctx, s.Session, repair.Request{
		Classes: []repair.Class{repair.ToolResultMissing}, Latent: true, Force: true, Cancelled: cmp.Or(h.opt.Cancelled, interrupted),
	})
	if err != nil {
		h.taken.release(m.Info.ID)
		h.count(Failed, Interrupted)
		log.Error("ending interrupted calls", "error", err)
		return false
	}
	if entry == "" {
		h.count(Refused, Interrupted)
		return false
	}
	h.count(Cured, Interrupted)
	log.Info("repaired", "repair", entry, "calls", len(calls))
	h.toast(ctx, s.Directory, Toast{
		notices[repair.ToolResultMissing].title, fmt.Sprintf("Ended %d interrupted tool calls. ", len(calls)) + curedText(entry), VariantSuccess, toastTime,
	})
	return true
}
