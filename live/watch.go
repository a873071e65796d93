package live

import (
	"context"
	"sync"

	"mend/session"
)

// A Watch feeds a [Hook] from a stream of events. Taking an event costs next to
// nothing and never waits; the recoveries run in [Watch.Run], one at a time.
type Watch struct {
	hook *Hook

	mu     sync.Mutex
	work   map[string]*job // by session
	order  []string        // of sessions with work, the oldest first
	guard  bounded[struct{}]
	heard  bounded[struct{}] // of which sessions there were events
	wake   chan struct{}
	closed chan struct{}
	end    sync.Once
}

// A job is what is to be done for one session.
type job struct {
	failed []Info // at most two: without and with the id of the answer
	idle   bool
	place  Place
}

// NewWatch returns a Watch that hands what it is told to h.
func NewWatch(h *Hook) *Watch {
	return &Watch{hook: h, work: map[string]*job{}, wake: make(chan struct{}, 1), closed: make(chan struct{})}
}

// Take takes an event. What is not of interest, or cannot be read, is dropped.
func (w *Watch) Take(e Event) {
	if !Wanted(e.Type) {
		return
	}
	r, err := e.report()
	if err == nil && r.session != "" {
		err = session.ValidateID(r.session)
	}
	if err != nil {
		w.hook.opt.Log.Warn("an event that cannot be read", "error", err)
		return
	}
	if r.session == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard.put(r.session, struct{}{})
	switch {
	case r.deleted:
		w.guard.drop(r.session)
		w.heard.drop(r.session)
		w.forgetLocked(r.session)
	case r.typed: // or a prompt from before, which the agent tells again with a summary
		w.guard.drop(r.session)
	case r.well:
		w.hook.taken.well(r.session)
	case r.failed != nil && aborted(r.failed):
		w.guard.put(r.session, struct{}{})
	case r.failed != nil && w.hook.IsRecoverableError(r.failed.Error):
		j := w.jobLocked(r.session, e.Directory)
		if len(j.failed) < 2 {
			j.failed = append(j.failed, *r.failed)
		} else {
			j.failed[1] = *r.failed
		}
	case r.idle && !w.skipLocked(r.session):
		w.jobLocked(r.session, e.Directory).idle = true
	}
}

// skipLocked reports whether the user ended the turn of a session that is idle
// now, and forgets it.
func (w *Watch) skipLocked(session string) bool {
	_, ok := w.guard.get(session)
	w.guard.drop(session)
	return ok
}

// maxJobs is how many sessions may wait. More are dropped: each of them has
// another chance with its next error, and at the next start.
const maxJobs = 1024

func (w *Watch) jobLocked(session, directory string) *job {
	j := w.work[session]
	if j != nil {
		return j
	}
	if len(w.order) == maxJobs {
		w.hook.opt.Log.Warn("too many sessions wait; dropping one", "session", w.order[0])
		w.forgetLocked(w.order[0])
	}
	j = &job{place: Place{session, directory}}
	w.work[session] = j
	w.order = append(w.order, session)
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return j
}

func (w *Watch) forgetLocked(session string) {
	delete(w.work, session)
	for i, s := range w.order {
		if s == session {
			w.order = append(w.order[:i], w.order[i+1:]...)
			return
		}
	}
}

// Close says that no event comes any more: Run ends when the work is done.
func (w *Watch) Close() { w.end.Do(func() { close(w.closed) }) }

// Run does the work until the context ends, or until it is done after Close. A
// recovery that has begun to write is never cut short.
func (w *Watch) Run(ctx context.Context) {
	for {
		if j := w.next(); j != nil {
			w.do(ctx, j)
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
			continue
		case <-w.closed:
		}
		w.mu.Lock()
		left := len(w.order)
		w.mu.Unlock()
		if left == 0 {
			return
		}
	}
}

func (w *Watch) next() *job {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.order) == 0 {
		return nil
	}
	j := w.work[w.order[0]]
	w.forgetLocked(w.order[0])
	return j
}

func (w *Watch) do(ctx context.Context, j *job) {
	for _, i := range j.failed {
		if ctx.Err() == nil {
			w.hook.HandleSessionRecovery(ctx, i)
		}
	}
	if j.idle && ctx.Err() == nil {
		w.hook.HandleIdle(ctx, j.place)
	}
}
