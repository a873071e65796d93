package live

import (
	"context"
	"errors"
	"time"

	"mend/repair"
	"mend/session"
)

// findWaits are how long the search for the failed answer waits each time: the
// agent tells of an error before it stores it.
var findWaits = [...]time.Duration{50 * time.Millisecond, 150 * time.Millisecond, 400 * time.Millisecond, time.Second}

var (
	errMovedOn   = errors.New("the session went on meanwhile")
	errNotStored = errors.New("no answer holds this error yet")
)

// find is the failed answer. It must be what the session ends with: an
// older one is no longer in anybody's way, and an abort would end another turn.
func (r *recovery) find(ctx context.Context) (Info, error) {
	for n := 0; ; n++ {
		ms, err := r.messages(ctx, r.place(), 2)
		if err != nil {
			return Info{}, err
		}
		r.told = ms
		last := newest(ms)
		switch {
		case last == nil || last.Info.Role == session.RoleAssistant && !last.Info.failed():
		case last.Info.Role == session.RoleAssistant && r.info.ID == "":
			if repair.ParseAPIError(last.Info.Error).Class == r.err.Class {
				return last.Info, nil
			}
		case last.Info.ID == r.info.ID:
			return last.Info, nil
		case r.info.ID != "":
			return Info{}, errMovedOn
		}
		if n == len(findWaits) {
			return Info{}, errNotStored
		}
		if err := r.wait(ctx, findWaits[n]); err != nil {
			return Info{}, err
		}
	}
}

// findStored is the failed answer of an agent that is gone: it may have had no
// time to store the error.
func (r *recovery) findStored(ctx context.Context) (Info, error) {
	r.late, r.orphan = true, true
	ms, err := stored(ctx, r.store, r.info.SessionID)
	if err != nil {
		return Info{}, err
	}
	last := newest(ms)
	if last == nil || last.Info.Role != session.RoleAssistant || !last.Info.failed() && last.Info.finished() {
		return Info{}, errNotStored
	}
	return last.Info, nil
}
