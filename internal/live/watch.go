package live

import (
	"context"
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
	items     map[string]*queueItem // by session
	order     []string              // sessions in items, oldest first
	aborted   Recent[struct{}]      // sessions whose turn the user aborted
	overflows Recent[int]           // requests in a row that were too long, of sessions that the agent compacts
	prompts   Recent[string]        // the ids of the newest prompts
	prompted  Recent[struct{}]      // sessions with a prompt that has no answer, not even a failed one
	seen      Recent[struct{}]      // sessions that had events
	turns     Recent[turnState]
	wake      chan struct{}
	closed    chan struct{}
	closeOnce sync.Once
}

// A queueItem is the pending work of one session.
type queueItem struct {
	failures   []Info    // at most two: without and with the id of the message
	overflow   *Info     // the request was too long for the model
	overflowed time.Time // when that was reported
	idle       bool
	endless    bool // the turn does not end
	silent     bool // a turn ended without an answer, or with an error that is not known
	ref        SessionRef
}

// NewWatch returns a Watch that passes events to h.
func NewWatch(h *Hook) *Watch {
	return &Watch{Hook: h, items: map[string]*queueItem{}, wake: make(chan struct{}, 1), closed: make(chan struct{})}
}

// ExpectEnd makes the end of the current turn of a session one that needs no answer.
func (w *Watch) ExpectEnd(session string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.prompted.Remove(session)
}

// Accept queues an event. Events that are irrelevant or unreadable are dropped.
func (w *Watch) Accept(e Event) {
	if !relevant(e.Type) {
		return
	}
	u, err := e.decode()
	if err == nil && u.session != "" {
		err = change.ValidateID(u.session)
	}
	if err != nil {
		w.opt.Log.Warn("an event that cannot be read", "error", err)
		return
	}
	if u.session == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen.Set(u.session, struct{}{})
	if u.message != nil {
		turn, _ := w.turns.Get(u.session)
		turn, endless := countRounds(turn, *u.message, time.Now())
		if w.turns.Set(u.session, turn); endless {
			w.itemLocked(u.session, e.Directory).endless = true
		}
	}
	switch {
	case u.deleted:
		w.forgetLocked(u.session)
	case u.prompted: // also set when the agent sends an old prompt again after summarising it
		w.aborted.Remove(u.session)
		if last, ok := w.prompts.Get(u.session); !ok || last != u.prompt { // else it is reported again, with a summary
			w.prompts.Set(u.session, u.prompt)
			w.prompted.Set(u.session, struct{}{})
		}
	case u.succeeded:
		w.prompted.Remove(u.session)
		if u.answered { // not only completed, as before a compaction
			w.overflows.Remove(u.session)
			w.dedupe.reset(u.session)
			w.endTrial(u.session)
		}
	case u.failure != nil && IsAbort(u.failure.Error):
		w.prompted.Remove(u.session)
		w.aborted.Set(u.session, struct{}{})
	case u.failure != nil && w.opt.TrimOverflow && w.store.ParseAPIError(u.failure.Error).Class == repair.ContextTooLong:
		w.acceptOverflowLocked(u, e.Directory)
	case u.failure != nil && w.IsRecoverableError(u.failure.Error):
		w.prompted.Remove(u.session)
		item := w.itemLocked(u.session, e.Directory)
		item.failures = append(item.failures[:min(len(item.failures), 1)], *u.failure)
	case u.idle && !w.consumeAbortLocked(u.session):
		item := w.itemLocked(u.session, e.Directory)
		item.idle = true
		if _, ok := w.prompted.Get(u.session); ok {
			item.silent = true
			w.prompted.Remove(u.session)
		}
	}
}

// acceptOverflowLocked queues the failure of a request that was too long, unless it was reported
// before or the agent may still succeed with a compaction of its own.
func (w *Watch) acceptOverflowLocked(u update, directory string) {
	if _, ok := w.prompted.Get(u.session); !ok {
		return
	}
	w.prompted.Remove(u.session)
	if n, _ := w.overflows.Get(u.session); compactsItself(u.failure.Error) && n+1 < maxCompactions {
		w.overflows.Set(u.session, n+1)
		return
	}
	w.overflows.Remove(u.session)
	item := w.itemLocked(u.session, directory)
	item.overflow, item.overflowed = u.failure, time.Now()
}

// forgetLocked drops what is known of a session that was deleted.
func (w *Watch) forgetLocked(session string) {
	w.aborted.Remove(session)
	w.prompted.Remove(session)
	w.prompts.Remove(session)
	w.seen.Remove(session)
	w.turns.Remove(session)
	w.removeLocked(session)
}

// consumeAbortLocked reports whether the user aborted the turn of a session that is
// now idle, and clears that state.
func (w *Watch) consumeAbortLocked(session string) bool {
	_, ok := w.aborted.Get(session)
	w.aborted.Remove(session)
	return ok
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

func (w *Watch) process(ctx context.Context, item *queueItem) {
	for _, i := range item.failures {
		if ctx.Err() == nil {
			w.HandleSessionRecovery(ctx, i)
		}
	}
	if item.endless && ctx.Err() == nil && w.handleLoop(ctx, item.ref) {
		return
	}
	if item.overflow != nil && ctx.Err() == nil {
		w.handleOverflow(ctx, item.ref, item.overflow.Error, item.overflowed)
		return
	}
	if item.idle && ctx.Err() == nil && w.handleIdle(ctx, item.ref) {
		return
	}
	if item.silent && ctx.Err() == nil {
		w.handleUnanswered(ctx, item.ref)
	}
}
