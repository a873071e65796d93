package live

import (
	"context"
	"errors"
	"fmt"
)

// ErrOtherStore says that the agent is not shown to read the store that is repaired.
var ErrOtherStore = errors.New("the agent is not shown to read the store that mend repairs")

// prove checks, where [Options.Prove] asks for it, that the session that failed is
// the one that is stored.
func (r *recovery) prove(ctx context.Context) (err error) {
	if !r.opt.Prove {
		return nil
	}
	if r.told == nil {
		if r.told, err = r.messages(ctx, r.place(), 2); err != nil {
			return fmt.Errorf("%w: %w", ErrOtherStore, err)
		}
	}
	return r.sameStore(ctx, r.info.SessionID, r.told)
}

// sameStore checks, where [Options.Prove] asks for it, that the newest messages of
// a session, as the agent reports them, are in the store. Paths prove nothing: the
// agent reports none of its data folder. Ids of messages do: the agent makes them
// from the clock and chance, so that another store has none of them, and a copy of
// this store lacks those that were written since.
func (h *Hook) sameStore(ctx context.Context, id string, told []Message) error {
	if !h.opt.Prove {
		return nil
	}
	last := newest(told)
	if last == nil {
		return fmt.Errorf("%w: it reports no message of session %s", ErrOtherStore, id)
	}
	ms, err := stored(ctx, h.store, id)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrOtherStore, err)
	}
	at := make(map[string]*Info, len(ms))
	for i := range ms {
		at[ms[i].Info.ID] = &ms[i].Info
	}
	for i := range told {
		t, s := &told[i].Info, at[told[i].Info.ID]
		if s == nil || s.Time.Created != t.Time.Created || s.failed() != t.failed() {
			return fmt.Errorf("%w: message %q of session %s is not in it as the agent reports it", ErrOtherStore, t.ID, id)
		}
	}
	return nil
}

// compared is how many sessions [Hook.SameStore] compares at most.
const compared = 3

// SameStore reports whether the agent and the store share a session: nil if one of
// the newest is the same for both, or the store is empty; else the error wraps
// [ErrOtherStore], or is that of listing the sessions.
func (h *Hook) SameStore(ctx context.Context) error {
	heads, err := h.sessions(ctx)
	if err != nil {
		return err
	}
	for _, head := range heads[:min(compared, len(heads))] {
		var told []Message
		if told, err = h.messages(ctx, Place{head.ID, head.Directory}, 2); err == nil {
			err = h.sameStore(ctx, head.ID, told)
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
