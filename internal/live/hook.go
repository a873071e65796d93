package live

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"mend/repair"
)

// Options configure a [Hook].
type Options struct {
	Disabled        []repair.Class // classes that are not handled
	KeepInterrupted bool           // leave interrupted tool calls of idle sessions unchanged
	TrimOverflow    bool           // trim sessions whose request is too long for the model
	AutoResume      bool           // send a prompt after a recovery, so that the turn continues
	MaxAttempts     int            // recoveries of a session without a successful turn
	SkipPreflight   bool           // repair nothing before a request
	ToastTime       time.Duration  // how long a toast of a result is shown; 0: no toasts
	Placeholder     string         // see [repair.Request]

	Log *slog.Logger // nil discards
}

// A Hook recovers sessions of one agent. Its methods are safe for concurrent use; one
// recovery runs at a time.
type Hook struct {
	agent Agent
	store Repairer
	opt   Options
	sem   chan struct{} // holds a value while a recovery runs
	wait  func(context.Context, time.Duration) error

	mu             sync.Mutex
	claimed        map[string]bool   // the failed messages that were handled
	attempts       map[string]int    // recoveries since the last successful turn, by session
	trials         map[string]string // the agent version, by session that was repaired before a request
	contradictions map[string]string // why a version behaves differently than expected, by version
}

// New returns a Hook for the sessions of a. If there is only a store, a is nil. r must repair the store that a uses.
func New(a Agent, r Repairer, o Options) *Hook {
	if a == nil {
		a = noAgent{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Hook{
		agent: a, store: r, opt: o, sem: make(chan struct{}, 1), wait: sleep,
		claimed: map[string]bool{}, attempts: map[string]int{}, trials: map[string]string{}, contradictions: map[string]string{},
	}
}

// Agent returns the agent.
func (h *Hook) Agent() Agent { return h.agent }

// EndAgent lets the hook repair the store without an agent. No recovery may be running.
func (h *Hook) EndAgent() { h.agent = noAgent{} }

// Log returns the log.
func (h *Hook) Log() *slog.Logger { return h.opt.Log }

// Begin tells the other plugins of the agent that a recovery of the session begins. end tells them that it
// has ended.
func (h *Hook) Begin(ctx context.Context, session string) (end func()) {
	publish := func(event string) {
		if err := h.agent.Publish(ctx, event+" "+session); err != nil {
			h.opt.Log.Debug("publishing a recovery", "error", err)
		}
	}
	publish(recoveryStarted)
	return func() { publish(recoveryFinished) }
}

// IsRecoverableError reports whether the Hook recovers or explains errors of this
// class. The error is JSON or plain text.
func (h *Hook) IsRecoverableError(e []byte) bool {
	return h.handles(h.store.ParseAPIError(e).Class)
}

func (h *Hook) handles(c repair.Class) bool {
	_, ok := notices[c]
	return ok && !slices.Contains(h.opt.Disabled, c)
}

// claim reports whether the message may be handled, and records it as handled until release.
func (h *Hook) claim(message string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	claimed := h.claimed[message]
	h.claimed[message] = true
	return !claimed
}

func (h *Hook) release(message string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.claimed, message)
}

// countAttempt adds to the recoveries of the session: -1 for one that did not fail, or that was not tried. At the limit
// it returns false.
func (h *Hook) countAttempt(session string, by int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := max(h.attempts[session]+by, 0)
	if n > h.opt.MaxAttempts {
		return false
	}
	h.attempts[session] = n
	return true
}

// resetAttempts is called after a turn of the session succeeded.
func (h *Hook) resetAttempts(session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.attempts, session)
}

// Acquire waits until no other recovery runs.
func (h *Hook) Acquire(ctx context.Context) (release func(), err error) {
	select {
	case h.sem <- struct{}{}:
		return func() { <-h.sem }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Toast shows a toast. An error is only logged.
func (h *Hook) Toast(ctx context.Context, t Toast) {
	if h.opt.ToastTime == 0 {
		return
	}
	t.Duration = cmp.Or(t.Duration, int(h.opt.ToastTime.Milliseconds()))
	if err := h.agent.Toast(ctx, t); err != nil {
		h.opt.Log.Debug("showing a toast", "error", err)
	}
}

// busyDelays are the delays between tries while the agent still writes.
var busyDelays = [...]time.Duration{100 * time.Millisecond, 400 * time.Millisecond, 1500 * time.Millisecond}

// Busy reports whether the agent may be working in the session.
func (h *Hook) Busy(ctx context.Context, session string) bool {
	busy, err := h.agent.Busy(ctx, session)
	return busy || err != nil
}

// AwaitIdle waits while the agent works in the session. It returns an error if the agent still works after some time.
func (h *Hook) AwaitIdle(ctx context.Context, session string) error {
	for n := 0; h.Busy(ctx, session); n++ {
		if n == len(busyDelays) {
			return errWorking
		}
		if err := h.wait(ctx, busyDelays[n]); err != nil {
			return err
		}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// noAgent is the [Agent] if there is only a store. Its methods fail or do nothing.
type noAgent struct{}

var errNoAgent = errors.New("no agent is connected")

func (noAgent) Messages(context.Context, string, int) ([]Message, error) { return nil, errNoAgent }
func (noAgent) Busy(context.Context, string) (bool, error)               { return false, nil }
func (noAgent) Abort(context.Context, string) error                      { return nil }
func (noAgent) Toast(context.Context, Toast) error                       { return nil }
func (noAgent) Publish(context.Context, string) error                    { return nil }
func (noAgent) Prompt(context.Context, string, Prompt) error             { return errNoAgent }
