package live

import (
	"context"
	"errors"
	"fmt"

	"mend/change"
)

// ErrOtherStore is returned if the agent is not known to read the store that mend
// repairs.
var ErrOtherStore = errors.New("the agent may read another store than the one that mend repairs")

// checkStore checks, if [Options.CheckStore] is set, that the store holds the session
// that failed.
func (r *recovery) checkStore(ctx context.Context) (err error) {
	if !r.opt.CheckStore {
		return nil
	}
	if r.reported == nil {
		if r.reported, err = r.agent.Messages(ctx, r.ref(), 2); err != nil {
			return fmt.Errorf("%w: %w", ErrOtherStore, err)
		}
	}
	return r.checkMessages(ctx, r.info.SessionID, r.reported)
}

// checkMessages checks, if [Options.CheckStore] is set, that the store holds the
// newest messages of a session as the agent reported them. Paths cannot show this,
// because the agent does not report its data folder. Message ids can: the agent makes
// them from the clock and random bits. Another store has none of them, and a copy of
// this store lacks the newer ones.
func (h *Hook) checkMessages(ctx context.Context, id string, reported []Message) error {
	if !h.opt.CheckStore {
		return nil
	}
	if len(reported) == 0 {
		return fmt.Errorf("%w: it reports no message of session %s", ErrOtherStore, id)
	}
	ms, err := loadMessages(ctx, h.store, id)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrOtherStore, err)
	}
	stored := make(map[string]*Info, len(ms))
	for i := range ms {
		stored[ms[i].Info.ID] = &ms[i].Info
	}
	for i := range reported {
		got := &reported[i].Info
		want := stored[got.ID]
		if want == nil || want.Time.Created != got.Time.Created || want.HasError() != got.HasError() {
			return fmt.Errorf("%w: message %q of session %s is not in it as the agent reports it", ErrOtherStore, got.ID, id)
		}
	}
	return nil
}

// maxChecked is how many sessions [Hook.CheckStore] compares at most.
const maxChecked = 3

// CheckStore returns nil if the agent and the store share one of the newest sessions,
// or if the store is empty. Otherwise the error wraps [ErrOtherStore], or it is that
// of listing the sessions.
func (h *Hook) CheckStore(ctx context.Context) error {
	heads, err := h.storedSessions(ctx)
	if err != nil {
		return err
	}
	return h.checkSessions(ctx, heads)
}

func (h *Hook) checkSessions(ctx context.Context, heads []change.Head) (err error) {
	for _, head := range heads[:min(maxChecked, len(heads))] {
		var reported []Message
		if reported, err = h.agent.Messages(ctx, SessionRef{head.ID, head.Directory}, 2); err == nil {
			err = h.checkMessages(ctx, head.ID, reported)
		}
		if err == nil {
			return nil
		}
	}
	if err != nil && !errors.Is(err, ErrOtherStore) {
		err = fmt.Errorf("%w: %w", ErrOtherStore, err)
	}
	return err
}
