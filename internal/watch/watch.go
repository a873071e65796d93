// Package watch finds the sessions of a store that have changed and are quiet again. It does not repair them.
//
// It may import change. Read [Run] first.
//
// It polls. The stamp of the whole store shows whether anything changed; the store's list, and the stamps of the
// recently changed sessions, show which sessions. It keeps one number per session, and the stamps of those that changed
// in the last hour.
package watch

import (
	"context"
	"slices"
	"time"

	"mend/change"
)

// A Store is a store of sessions; mend.Store implements it.
type Store interface {
	// Sessions lists the sessions without their messages.
	Sessions(ctx context.Context) ([]change.Head, error)
	// State returns a stamp of the whole store, or the zero stamp if it cannot be computed immediately.
	State(ctx context.Context) (change.Stamp, error)
	// Stamp returns the stamp of a session, the zero stamp if it has none.
	Stamp(ctx context.Context, head change.Head) (change.Stamp, error)
}

// Options control how a store is followed.
type Options struct {
	Since time.Time     // sessions that were updated since then count as changed at the start
	Quiet time.Duration // how long a session must be unchanged
	Poll  time.Duration // time between two checks of the store

	// Handle is called for each session that changed and is quiet, one at a time. If it returns
	// true it is called again later, even if the session does not change.
	Handle func(ctx context.Context, head change.Head) (again bool)
	// Notice, if not nil, is called when the store can be read, and when it no longer can.
	Notice func(Notice)
}

// A Notice is about a store that is followed.
type Notice struct {
	Sessions int
	Lost     error // why the store cannot be read; it is followed again once it can be
}

const (
	pauses    = 10               // the pause after a check, as a multiple of its duration
	retry     = 10 * time.Second // before Handle is called again; it doubles up to lastRetry
	lastRetry = time.Minute

	noticed   = 2         // after how many failures Notice is called
	recentFor = time.Hour // how long the stamp of a changed session is kept
)

// A recent session has changed a short time ago.
type recent struct {
	head    change.Head
	sum     [32]byte
	changed time.Time
	due     time.Time // when it will be quiet, or is handled again; the zero time after it was handled
	wait    time.Duration
}

type follower struct {
	Options
	store  Store
	known  map[string]int64 // the update times of sessions; nil before the first list
	recent map[string]*recent
	state  change.Stamp // at the last list
	seen   time.Time    // when the state was last read
	next   time.Time    // of the next check

	failures int // consecutive, of the last checks
}

// Run follows a store until the context ends.
func Run(ctx context.Context, s Store, o Options) {
	f := &follower{Options: o, store: s, recent: map[string]*recent{}}
	for ctx.Err() == nil {
		if !time.Now().Before(f.next) {
			f.check(ctx)
		}
		f.handle(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(time.Until(f.wake())):
		}
	}
}

// Once handles the sessions that were updated since Options.Since.
func Once(ctx context.Context, s Store, o Options) error {
	heads, err := s.Sessions(ctx)
	for _, h := range heads {
		if h.ID != "" && ctx.Err() == nil && !time.UnixMilli(h.Updated).Before(o.Since) {
			o.Handle(ctx, h)
		}
	}
	return err
}

// wake returns the time of the next step.
func (f *follower) wake() time.Time {
	at := f.next
	for _, r := range f.recent {
		if !r.due.IsZero() && r.due.Before(at) {
			at = r.due
		}
	}
	return at
}

// check finds the sessions that have changed. It calls Notice for the second failure in a row, because a database may
// be locked for a moment.
func (f *follower) check(ctx context.Context) {
	began := time.Now()
	defer func() { f.next = time.Now().Add(max(f.Poll, pauses*time.Since(began))) }()
	state, err := f.store.State(ctx)
	if err == nil && f.known != nil && f.failures == 0 && state.Sum == f.state.Sum && f.state.Distinct(f.seen) {
		f.seen = began
		return
	}
	var heads []change.Head
	if err == nil {
		heads, err = f.store.Sessions(ctx)
	}
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		if f.failures++; f.failures == noticed {
			f.notice(Notice{Lost: err})
		}
		return
	}
	first := f.known == nil
	f.state, f.seen = state, began
	f.compare(ctx, heads)
	if first || f.failures >= noticed {
		f.notice(Notice{Sessions: len(f.known)})
	}
	f.failures = 0
}

// compare compares a list with the last one, and the recent sessions with their stamps.
func (f *follower) compare(ctx context.Context, heads []change.Head) {
	known := make(map[string]int64, len(heads))
	for _, h := range heads {
		if h.ID == "" {
			continue
		}
		key := h.Project + "/" + h.ID
		known[key] = h.Updated
		before, listed := f.known[key]
		r := f.recent[key]
		switch {
		case f.known == nil && time.UnixMilli(h.Updated).Before(f.Since):
		case f.known == nil, !listed, before != h.Updated:
			if r == nil {
				r = &recent{}
				f.recent[key] = r
			}
			r.head = h
			f.mark(ctx, r)
		case r != nil:
			f.touch(ctx, r)
		}
	}
	for key, r := range f.recent {
		if f.known == nil { // at the first list, it is unknown whether an agent works in it
			r.due = time.Now()
		}
		if _, ok := known[key]; !ok || r.due.IsZero() && time.Since(r.changed) > recentFor {
			delete(f.recent, key)
		}
	}
	f.known = known
}

// mark records that a session has changed.
func (f *follower) mark(ctx context.Context, r *recent) {
	if stamp, err := f.store.Stamp(ctx, r.head); err == nil {
		r.sum = stamp.Sum
	}
	r.changed, r.wait = time.Now(), 0
	r.due = r.changed.Add(f.Quiet)
}

// touch marks a recent session if its stamp has changed, and reports whether it has.
func (f *follower) touch(ctx context.Context, r *recent) bool {
	stamp, err := f.store.Stamp(ctx, r.head)
	if err != nil || stamp.Sum == r.sum {
		return false
	}
	f.mark(ctx, r)
	return true
}

// handle handles the sessions that are quiet.
func (f *follower) handle(ctx context.Context) {
	var due []*recent
	for _, r := range f.recent {
		if !r.due.IsZero() && !time.Now().Before(r.due) {
			due = append(due, r)
		}
	}
	slices.SortFunc(due, func(a, b *recent) int { return a.due.Compare(b.due) })
	for _, r := range due {
		if ctx.Err() != nil || f.touch(ctx, r) {
			continue
		}
		if r.due = (time.Time{}); f.Handle(ctx, r.head) {
			r.wait = min(max(2*r.wait, retry), lastRetry)
			r.due = time.Now().Add(r.wait)
		}
	}
}

func (f *follower) notice(n Notice) {
	if f.Notice != nil {
		f.Notice(n)
	}
}
