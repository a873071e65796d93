package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mend/change"
	"mend/repair"
)

// The times of [Hook.FollowDirectory].
const (
	storeInterval = time.Second
	lookPause     = 10 // a look is followed by a pause of that many times its duration
	lookAgain     = 10 * time.Second
)

// FollowDirectory repairs the sessions of a directory that are broken, until ctx ends: a prompt that
// names no model can fail before the agent asks, without an event. It looks whenever the store
// has changed and was then left alone for a moment. The conditions are those of
// [Hook.preflightNamed], and no other process may be working in the session.
func (h *Hook) FollowDirectory(ctx context.Context, directory string) {
	var looked, last [32]byte // states of the store
	var left Recent[string]   // what is broken in the sessions that are left as they are
	var next time.Time        // of a look
	for h.wait(ctx, storeInterval) == nil {
		state, err := h.store.State(ctx)
		if err == nil && state.Sum == ([32]byte{}) {
			return // only the files themselves would show that something changed
		}
		began := time.Now()
		quiet := state.Sum == last
		if last = state.Sum; err != nil || !quiet || state.Sum == looked || began.Before(next) {
			continue
		}
		done, err := h.repairBrokenIn(ctx, directory, &left)
		if err != nil && ctx.Err() == nil {
			h.opt.Log.Warn("looking at the store", "error", err)
		}
		if next = time.Now().Add(lookPause * time.Since(began)); !done {
			next = next.Add(lookAgain)
		} else if state.Distinct(began) {
			looked = state.Sum
		}
	}
}

// repairBrokenIn repairs the broken sessions of a directory. It returns false if one may be
// repaired later. left has those that are left as they are.
func (h *Hook) repairBrokenIn(ctx context.Context, directory string, left *Recent[string]) (done bool, err error) {
	heads, err := h.storedSessions(ctx)
	if err != nil {
		return true, err
	}
	heads = slices.DeleteFunc(heads, func(s change.Head) bool { return s.Directory != directory })
	done = true
	for head, broken := range h.store.Broken(ctx, heads) {
		ref := SessionRef{head.ID, head.Directory}
		var what strings.Builder
		for _, d := range broken {
			fmt.Fprintln(&what, d.Class, d.Ref)
		}
		if known, ok := left.Get(head.ID); ok && known == what.String() {
			continue
		}
		if h.busy(ctx, ref) {
			done = false
			continue
		}
		a := h.newAttempt(beforeRequest, ref)
		a.head, a.question.Deadline, a.text = head, time.Minute, foundText
		entry, err := a.preflight(ctx)
		switch {
		case errors.Is(err, errWorking) || errors.Is(err, repair.ErrBusy):
			done = false
		case entry == "":
			left.Set(head.ID, what.String())
		default:
			left.Remove(head.ID)
		}
	}
	return done, ctx.Err()
}
