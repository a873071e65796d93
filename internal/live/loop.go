package live

import (
	"context"
	"fmt"
	"time"

	"mend/change"
	"mend/repair"
)

// maxRounds is how many answers in a row may bring a turn no nearer to its end before mend
// looks for the reason in the store for the first time.
const maxRounds = 3

// A turnState is what [countRounds] knows of the turn of a session.
type turnState struct {
	prompt  string  // the id of the newest prompt; "" if it is unknown
	created float64 // when that was created
	last    string  // the id of the last answer
	parent  string  // the prompt that it answers
	ended   bool    // it should have ended the turn
	rounds  int     // answers in a row that bring the turn no nearer to its end
}

// countRounds is the policy for a turn that does not end, because a message dated in the
// future sorts after the prompt or after its answers. It takes a message that the agent
// reports, and reports whether the store should be looked at. An answer counts if it answers
// another prompt than the newest, or if the one before it should have ended the turn.
func countRounds(s turnState, m Info, now time.Time) (turnState, bool) {
	if m.Role == change.RoleUser {
		if m.ID != s.prompt && m.Time.Created >= s.created && !m.Created().After(now) {
			s = turnState{prompt: m.ID, created: m.Time.Created}
		}
		return s, false
	}
	finish, _ := m.Finish.(string)
	if m.Role != change.RoleAssistant || finish == "" || m.HasError() || m.Summary == true || m.ID == s.last {
		return s, false
	}
	if s.prompt != "" && m.ParentID != s.prompt || s.ended && m.ParentID == s.parent {
		s.rounds++
	} else {
		s.rounds = 0
	}
	s.last, s.parent, s.ended = m.ID, m.ParentID, finish != "tool-calls" && finish != "unknown"
	n := s.rounds / maxRounds
	return s, n > 0 && s.rounds%maxRounds == 0 && n&(n-1) == 0 // after 3, 6, 12, … rounds
}

// handleLoop handles a session whose turn does not end, and reports whether it repaired the
// store. If messages are dated in the future, the turn is aborted and they are put in order.
func (h *Hook) handleLoop(ctx context.Context, s SessionRef) bool {
	if !h.handles(repair.AssistantPrefillUnsupported) {
		return false
	}
	release, err := h.Acquire(ctx)
	if err != nil {
		return false
	}
	defer release()
	log := h.opt.Log.With("session", s.ID, "loop", true)
	end, aborted := func() {}, false
	defer func() { end() }()
	accept := func(ctx context.Context, _ repair.Result) error {
		if !aborted { // it is called again if the agent changes the messages when the turn ends
			if !h.dedupe.attempt(s.ID) {
				return fmt.Errorf("it failed after %d recoveries", h.opt.MaxAttempts)
			}
			aborted, end = true, h.begin(ctx, s, true)
			(&recovery{Hook: h, info: Info{SessionID: s.ID, Directory: s.Directory}, log: log}).abort(ctx)
		}
		return h.AwaitIdle(ctx, s)
	}
	req := h.complete(repair.Request{Classes: []repair.Class{repair.AssistantPrefillUnsupported}, Latent: true, Force: true})
	entry, result, err := h.store.RepairIf(ctx, change.Head{ID: s.ID}, req, accept)
	if err != nil {
		log.Warn("left alone", "why", err)
		return false
	}
	if entry == "" { // the turn is only long
		return false
	}
	h.dedupe.progress(s.ID)
	h.countRepaired(log, entry, result)
	h.Toast(ctx, s.Directory, Toast{repairedTitle, endlessText(entry), VariantSuccess, resultTime})
	return true
}
