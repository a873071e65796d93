package live

import (
	"context"
	"fmt"

	"mend/change"
	"mend/repair"
)

// handleUnanswered handles a session whose turn ended without an answer, or with an error
// that is not known. An agent that cannot read a stored record ends the turn like that. All
// that is broken in the store is repaired.
func (h *Hook) handleUnanswered(ctx context.Context, s SessionRef) {
	release, err := h.Acquire(ctx)
	if err != nil {
		return
	}
	defer release()
	h.repairBroken(ctx, s)
}

// repairBroken repairs all that is broken in the store of a session whose turn failed, for
// a reason that no message holds.
func (h *Hook) repairBroken(ctx context.Context, s SessionRef) bool {
	log := h.opt.Log.With("session", s.ID, "unanswered", true)
	if h.busy(ctx, s) {
		return false
	}
	end := func() {}
	defer func() { end() }()
	begun := false
	idle := func(context.Context, repair.Result) error {
		if h.busy(ctx, s) {
			return errWorking
		}
		if !h.dedupe.attempt(s.ID) {
			return fmt.Errorf("it failed after %d recoveries", h.opt.MaxAttempts)
		}
		if !begun {
			begun, end = true, h.begin(ctx, s, true)
		}
		return nil
	}
	entry, result, err := h.store.RepairIf(ctx, change.Head{ID: s.ID}, h.complete(repair.Request{Except: h.opt.Disabled, Force: true}), idle)
	switch {
	case err != nil:
		log.Warn("left alone", "why", err)
		return false
	case entry == "": // the store has no fault
		return false
	}
	h.dedupe.progress(s.ID)
	h.countRepaired(log, entry, result)
	h.Toast(ctx, s.Directory, Toast{repairedTitle, sendAgainText(entry), VariantSuccess, resultTime})
	return true
}
