package live

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"mend/repair"
)

// A Watch feeds a [Hook] from a stream of events. [Watch.Accept] never blocks; the
// recoveries run in [Watch.Run], one at a time.
type Watch struct {
	*Hook

	mu        sync.Mutex
	sessions  Recent[sessionState]  // that had events
	items     map[string]*queueItem // by session
	order     []string              // sessions in items, oldest first
	wake      chan struct{}
	closed    chan struct{}
	closeOnce sync.Once
}

// A queueItem is the pending work of one session.
type queueItem struct {
	ref   SessionRef
	tasks []task // at most two of the kind taskFailure, without and with the id of the message, else one of a kind
}

// NewWatch returns a Watch that passes events to h.
func NewWatch(h *Hook) *Watch {
	return &Watch{Hook: h, items: map[string]*queueItem{}, wake: make(chan struct{}, 1), closed: make(chan struct{})}
}

// Sessions returns the ids of the sessions that had events, oldest first.
func (w *Watch) Sessions() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sessions.Keys()
}

// ExpectEnd makes the end of the current turn of a session one that needs no answer.
func (w *Watch) ExpectEnd(session string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s, ok := w.sessions.Get(session); ok {
		s.asked = false
		w.sessions.Set(session, s)
	}
}

// Accept queues what follows from an event. Events that are irrelevant or unreadable are dropped.
func (w *Watch) Accept(e Event) {
	if !relevant(e.Type) {
		return
	}
	u, err := e.decode()
	if err != nil {
		w.opt.Log.Warn("an event that cannot be read", "error", err)
		return
	}
	if u.session == "" {
		return
	}
	if u.at = time.Now(); u.failure != nil {
		u.recoverable = w.IsRecoverableError(u.failure.Error)
		u.tooLong = w.opt.TrimOverflow && w.store.ParseAPIError(u.failure.Error).Class == repair.ContextTooLong
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s, _ := w.sessions.Get(u.session)
	s, tasks := step(s, u)
	w.sessions.Set(u.session, s)
	for _, t := range tasks {
		switch t.kind {
		case taskForget:
			w.sessions.Remove(u.session)
			w.removeLocked(u.session)
		case taskSucceeded:
			w.dedupe.reset(u.session)
			w.endTrial(u.session)
		default:
			w.itemLocked(u.session, e.Directory).add(t)
		}
	}
}

// add adds a task, in the order of the kinds.
func (q *queueItem) add(t task) {
	first := t.kind == taskFailure // stays
	same := func(old task) bool {
		if old.kind == t.kind && first {
			first = false
			return false
		}
		return old.kind == t.kind
	}
	q.tasks = append(slices.DeleteFunc(q.tasks, same), t)
	slices.SortStableFunc(q.tasks, func(a, b task) int { return cmp.Compare(a.kind, b.kind) })
}

// maxQueued is how many sessions may wait. The oldest is dropped for a new one; it is
// handled at its next error or the next start.
const maxQueued = 1024

func (w *Watch) itemLocked(session, directory string) *queueItem {
	item := w.items[session]
	if item != nil {
		return item
	}
	if len(w.order) == maxQueued {
		w.opt.Log.Warn("too many sessions are waiting; dropping one", "session", w.order[0])
		w.removeLocked(w.order[0])
	}
	item = &queueItem{ref: SessionRef{session, directory}}
	w.items[session] = item
	w.order = append(w.order, session)
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return item
}

func (w *Watch) removeLocked(session string) {
	delete(w.items, session)
	if i := slices.Index(w.order, session); i >= 0 {
		w.order = slices.Delete(w.order, i, i+1)
	}
}

// Close ends the stream of events. Run then returns when the queue is empty.
func (w *Watch) Close() { w.closeOnce.Do(func() { close(w.closed) }) }

// Run handles events until the context ends, or until the queue is empty after Close.
// A recovery that has begun to write is completed.
func (w *Watch) Run(ctx context.Context) {
	for {
		if item := w.next(); item != nil {
			w.process(ctx, item)
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

func (w *Watch) next() *queueItem {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.order) == 0 {
		return nil
	}
	item := w.items[w.order[0]]
	w.removeLocked(w.order[0])
	return item
}

// process does the tasks of a session. If one repaired the store the others are not needed, apart
// from the failures: the same may have been reported twice.
func (w *Watch) process(ctx context.Context, item *queueItem) {
	for _, t := range item.tasks {
		if ctx.Err() != nil {
			return
		}
		done := false
		switch t.kind {
		case taskFailure:
			w.HandleSessionRecovery(ctx, t.failure)
		case taskOverflow:
			w.handleOverflow(ctx, item.ref, t.failure.Error, t.at)
			done = true
		default:
			done = w.try(ctx, taskRows[t.kind], item.ref)
		}
		if done {
			return
		}
	}
}
