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
	"mend/session"
)

// Options say what a [Hook] does. The zero value recovers every class and never
// prompts.
type Options struct {
	Off         []repair.Class // classes that are left alone
	KeepStuck   bool           // calls that were interrupted are left as they are
	AutoResume  bool           // send a prompt after a recovery that lets the turn go on
	MaxAttempts int            // recoveries of a session until a turn of it ends well; 0 for 3
	Quiet       bool           // show no toasts
	Placeholder string         // see [repair.Request]
	Cancelled   string         // see [repair.Request]; "" for the words that fit the case
	Timeout     time.Duration  // of one call to the agent; 0 for 5 s

	// Prove says that the agent may read another store than the one that is
	// repaired: a session is acted on only where both hold the same newest messages.
	Prove bool

	// Count is told each thing that happened, if it is set.
	Count func(Outcome, repair.Class)
	Log   *slog.Logger // nil for none
}

// DefaultAttempts is the limit where none is given.
const DefaultAttempts = 3

const defaultTimeout = 5 * time.Second

// A Hook recovers sessions of one agent. Its methods may be called from several
// goroutines; one recovery runs at a time.
type Hook struct {
	agent Agent
	store Repairer
	opt   Options
	turn  chan struct{} // held by the recovery that runs
	taken *ledger
	wait  func(context.Context, time.Duration) error

	mu         sync.Mutex
	onAbort    func(sessionID string)
	onComplete func(sessionID string)
	version    string
}

// New returns a Hook for the sessions of an agent that are stored where r
// repairs them.
func New(a Agent, r Repairer, o Options) *Hook {
	if o.MaxAttempts == 0 {
		o.MaxAttempts = DefaultAttempts
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Hook{agent: a, store: r, opt: o, turn: make(chan struct{}, 1), taken: newLedger(o.MaxAttempts), wait: sleep}
}

// SetOnAbort sets what is called before a session is aborted. There is one slot;
// the last setter wins.
func (h *Hook) SetOnAbort(f func(sessionID string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.onAbort = f
}

// SetOnRecoveryComplete sets what is called when a recovery is over, whatever
// became of it. There is one slot; the last setter wins.
func (h *Hook) SetOnRecoveryComplete(f func(sessionID string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.onComplete = f
}

// SetVersion says which version of the agent will read the store; "" for what the
// store says.
func (h *Hook) SetVersion(version string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.version = version
}

func (h *Hook) tell(slot *func(string), sessionID string) {
	h.mu.Lock()
	f := *slot
	h.mu.Unlock()
	if f != nil {
		f(sessionID)
	}
}

// IsRecoverableError reports whether the error, as JSON or text, is of a class
// that is recovered or explained here.
func (h *Hook) IsRecoverableError(e []byte) bool {
	return h.takes(repair.ParseAPIError(e).Class)
}

func (h *Hook) takes(c repair.Class) bool {
	if _, ok := notices[c]; !ok {
		return false
	}
	return !slices.Contains(h.opt.Off, c)
}

// HandleSessionRecovery recovers the session of an answer that failed, and
// reports whether its store was repaired. It does nothing for an error that is
// not recoverable, and for an answer that was recovered already. Of an Info the
// ID may be missing: then it is the newest answer of the session.
func (h *Hook) HandleSessionRecovery(ctx context.Context, i Info) bool {
	e := repair.ParseAPIError(i.Error)
	if i.Role != session.RoleAssistant || i.SessionID == "" || !i.failed() || !h.takes(e.Class) {
		return false
	}
	release, err := h.begin(ctx)
	if err != nil {
		return false
	}
	defer release()
	r := &recovery{Hook: h, info: i, err: e, log: h.opt.Log.With("session", i.SessionID, "class", e.Class)}
	return r.run(ctx)
}

// begin waits until no other recovery runs.
func (h *Hook) begin(ctx context.Context) (release func(), err error) {
	select {
	case h.turn <- struct{}{}:
		return func() { <-h.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (h *Hook) count(o Outcome, c repair.Class) {
	if h.opt.Count != nil {
		h.opt.Count(o, c)
	}
}

// toast shows a note; that it cannot be shown changes nothing.
func (h *Hook) toast(ctx context.Context, directory string, t Toast) {
	if h.opt.Quiet {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, h.opt.Timeout)
	defer cancel()
	if err := h.agent.Toast(ctx, directory, t); err != nil {
		h.opt.Log.Debug("showing a toast", "error", err)
	}
}

// messages asks the agent for messages, within the timeout.
func (h *Hook) messages(ctx context.Context, s Place, limit int) ([]Message, error) {
	ctx, cancel := context.WithTimeout(ctx, h.opt.Timeout)
	defer cancel()
	return h.agent.Messages(ctx, s, limit)
}

// busyWaits are how long a repair waits for an agent that still writes.
var busyWaits = [...]time.Duration{100 * time.Millisecond, 400 * time.Millisecond, 1500 * time.Millisecond}

// repair calls the store's Repair, and retries while the session is busy.
func (h *Hook) repair(ctx context.Context, id string, req repair.Request) (string, repair.Result, error) {
	h.mu.Lock()
	req.Version = h.version
	h.mu.Unlock()
	req.Placeholder = h.opt.Placeholder
	req.Cancelled = cmp.Or(req.Cancelled, h.opt.Cancelled)
	for _, wait := range busyWaits {
		entry, result, err := h.store.Repair(ctx, id, req)
		if !errors.Is(err, repair.ErrBusy) {
			return entry, result, err
		}
		if err := h.wait(ctx, wait); err != nil {
			return "", repair.Result{}, err
		}
	}
	return h.store.Repair(ctx, id, req)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
