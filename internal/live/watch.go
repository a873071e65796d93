package live

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"mend/change"
	"mend/repair"
)

// A Watch feeds a [Hook] from a stream of events. [Watch.Accept] never blocks; the
// recoveries run in [Watch.Run], one at a time.
type Watch struct {
	*Hook

	mu        sync.Mutex
	sessions  map[string]sessionState // the sessions that had events
	queue     []Situation             // waiting situations, oldest first
	wake      chan struct{}
	closed    chan struct{}
	closeOnce sync.Once
}

// NewWatch returns a Watch that passes events to h.
func NewWatch(h *Hook) *Watch {
	return &Watch{Hook: h, sessions: map[string]sessionState{}, wake: make(chan struct{}, 1), closed: make(chan struct{})}
}

// Sessions returns the ids of the sessions that had events.
func (w *Watch) Sessions() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.sessions))
}

// ExpectEnd announces that the session's current turn will end without an answer, which is not a failure.
func (w *Watch) ExpectEnd(session string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s, ok := w.sessions[session]; ok {
		s.unanswered = false
		w.sessions[session] = s
	}
}

// Accept queues the situation that follows from an event. Irrelevant or unreadable events are dropped.
func (w *Watch) Accept(e Event) {
	if !relevant(e.Type) {
		return
	}
	u, err := e.decode()
	if err != nil {
		w.opt.Log.Warn("reading an event", "error", err)
		return
	}
	if u.session == "" {
		return
	}
	if u.failure != nil {
		u.recoverable = w.IsRecoverableError(u.failure.Error)
		u.tooLong = w.opt.TrimOverflow && w.store.ParseAPIError(u.failure.Error).Class == repair.ContextTooLong
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s, cause := step(w.sessions[u.session], u)
	w.sessions[u.session] = s
	switch {
	case u.deleted:
		delete(w.sessions, u.session)
		w.queue = slices.DeleteFunc(w.queue, func(q Situation) bool { return q.Head.ID == u.session })
	case u.answered:
		w.resetAttempts(u.session)
		w.endTrial(u.session)
	}
	if cause == 0 {
		return
	}
	q := Situation{Cause: cause, Head: change.Head{ID: u.session}}
	if u.failure != nil {
		q.Failure, q.At = *u.failure, time.Now()
	}
	w.queueLocked(q)
}

// maxQueued is the number of situations that may wait. If there are more, the oldest is dropped; its session is
// examined at its next error or at the next start.
const maxQueued = 1024

// queueLocked queues a situation. If an equal one waits already, it is replaced.
func (w *Watch) queueLocked(q Situation) {
	w.queue = slices.DeleteFunc(w.queue, func(old Situation) bool {
		return old.Head.ID == q.Head.ID && old.Cause == q.Cause && old.Failure.ID == q.Failure.ID
	})
	if len(w.queue) == maxQueued {
		w.opt.Log.Warn("too many sessions are waiting; dropping one", "session", w.queue[0].Head.ID)
		w.queue = w.queue[1:]
	}
	w.queue = append(w.queue, q)
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Close ends the stream of events. Run then returns when the queue is empty.
func (w *Watch) Close() { w.closeOnce.Do(func() { close(w.closed) }) }

// Run passes the queued situations to the Hook until the context ends, or until the queue is empty after Close. A
// recovery that has begun to write is completed.
func (w *Watch) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if q, ok := w.next(); ok {
			w.Look(ctx, q)
			continue
		}
		select {
		case <-ctx.Done():
		case <-w.wake:
		case <-w.closed:
			q, ok := w.next() // one may have been queued meanwhile
			if !ok {
				return
			}
			w.Look(ctx, q)
		}
	}
}

// next removes and returns the situation that has waited longest; ok is false if none waits.
func (w *Watch) next() (q Situation, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		return q, false
	}
	q, w.queue = w.queue[0], w.queue[1:]
	return q, true
}
