package live

import (
	"context"
	"errors"
	"time"

	"mend/change"
	"mend/repair"
)

// A Cause is the reason to judge a session.
type Cause int

// The causes.
const (
	BeforeRequest Cause = iota + 1 // the agent waits before it makes a request
	AtStart                        // as BeforeRequest, at the agent's start: it has no screen and no idle state yet
	AfterError                     // a turn ended with an error
	AfterOverflow                  // a request was too long for the model
	AtIdle                         // the agent no longer works in the session
	AfterSilence                   // as AtIdle, after a turn without an answer, or with an unknown error
	Stored                         // the session changed in the store, and no agent sends events about it
)

// A Situation is a session with the cause to judge it.
type Situation struct {
	Cause   Cause
	Head    change.Head // of the session in the store; with only an ID, it is looked up
	Failure Info        // the message that failed; without an id, the newest
	At      time.Time   // when an overflow was reported

	Question Question // the question whose answer the agent waits for
}

// A Verdict is the result of judging a session.
type Verdict struct {
	Entry string            // the id of the repair; "" if nothing was changed
	Worst *repair.Diagnosis // the worst damage, with the cause [Stored]

	// Err is the reason why the session, which may be broken, was not repaired: a [*repair.AskError] if the user has to
	// decide with "mend fix", [repair.ErrBusy] if it should be judged again later.
	Err error
}

// Look examines a session and acts on the result: it does nothing, tells the user to run "mend fix", or repairs the
// session and reports the repair. The plugin, the hooks and "mend watch" all use it.
func (h *Hook) Look(ctx context.Context, s Situation) (v Verdict) {
	if err := change.ValidateID(s.Head.ID); err != nil {
		return Verdict{Err: err}
	}
	a := h.newAttempt(s)
	switch s.Cause {
	case Stored:
		return a.judgeStored(ctx)
	case BeforeRequest, AtStart:
		v.Entry, v.Err = a.preflight(ctx)
		return v
	case AfterError:
		a.info, a.err = s.Failure, h.store.ParseAPIError(s.Failure.Error)
		if a.info.Role != change.RoleAssistant || !a.info.HasError() || !h.handles(a.err.Class) {
			return v
		}
		h.noteRefusal(s.Head.ID, a.err)
	case AfterOverflow:
		a.err, a.since = h.store.ParseAPIError(s.Failure.Error), s.At
	case AfterSilence: // hanging tool calls may be the reason
		s.Cause = AtIdle
		if v = h.Look(ctx, s); v.Entry != "" {
			return v
		}
	case AtIdle:
	}
	v.Entry, v.Err = a.run(ctx)
	return v
}

// judgeStored repairs the stored failure of the last turn, as after an error that the agent reports. If there is no
// such failure, it repairs other damage under the conditions of a repair before a request.
func (a *attempt) judgeStored(ctx context.Context) (v Verdict) {
	x, err := a.store.Examine(ctx, a.Head)
	if err != nil {
		a.log.Debug("examining the session", "error", err)
		return v
	}
	for i, d := range x.Diagnoses {
		if d.Severity == repair.Broken && v.Worst == nil {
			v.Worst = &x.Diagnoses[i]
		}
	}
	if f := x.Failure; f != nil {
		b := a.newAttempt(a.Situation)
		b.row, b.info.ID, b.since, b.err = storedTurn(), f.Message, f.Time, a.store.ParseAPIError(f.Error)
		if a.handles(b.err.Class) && !isExplainOnly(b.err.Class) {
			v.Entry, v.Err = b.run(ctx)
		}
		if v.Entry != "" || errors.Is(v.Err, repair.ErrBusy) {
			return v
		}
	}
	switch {
	case v.Worst != nil && !a.opt.SkipPreflight:
		a.Question.Deadline = time.Minute
		v.Entry, v.Err = a.preflight(ctx)
	case v.Worst == nil && x.Failure == nil:
		a.resetAttempts(a.Head.ID)
	}
	return v
}

// Reasons not to repair a session before a request. If the provider refuses the request, the session is
// judged again.
var (
	errTooLate = errors.New("the agent no longer waits")
	errSkipped = errors.New("the setting \"skip\" has \"preflight\"")
)

// preflight repairs a session before the agent makes a request if the provider would refuse the request or the agent
// could not make it. It asks no question, so it repairs only if mend knows the agent's version (see
// [Hook.checkVersion]), the agent is idle in the session, and [Repairer.CheckUnasked] returns no error.
func (a *attempt) preflight(ctx context.Context) (entry string, err error) {
	if a.opt.SkipPreflight {
		return "", errSkipped
	}
	newer, err := a.checkVersion(a.Question.Version)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a.log = a.log.With("preflight", true)
	a.timer = time.AfterFunc(a.Question.Deadline, func() { cancel(errTooLate) })
	defer a.timer.Stop()
	entry, err = a.run(ctx)
	if entry != "" && newer != "" {
		a.mu.Lock()
		a.trials[a.Head.ID] = newer
		a.mu.Unlock()
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return entry, err
}

func preflightRequest(a *attempt) repair.Request {
	q := a.Question
	req := repair.Request{Except: a.opt.Disabled, Force: a.Cause == BeforeRequest} // else the agent may be working
	req.Version = q.Version
	if q.Named && q.Model != nil { // its provider may differ from the session's
		req.Model.ProviderID, req.Model.ModelID = q.Model.ProviderID, q.Model.ModelID
	}
	return req
}

// checkPreflight returns an error if a plan must not be applied before a request, or if it is too late to apply it.
func checkPreflight(ctx context.Context, a *attempt, r repair.Result) error {
	if err := a.store.CheckUnasked(ctx, a.Head.ID, r); err != nil {
		return err
	}
	if !a.late && a.Busy(ctx, a.Head.ID) {
		return errWorking
	}
	if a.Question.Begin != nil {
		if waits, err := a.Question.Begin(ctx); !waits || err != nil {
			return errors.Join(err, errTooLate)
		}
	}
	if !a.begun && !a.timer.Stop() {
		return errTooLate
	}
	return nil
}

// LookAll examines the sessions of a directory that were updated after since, newest first. It is for an agent that has
// just started and has not handled its first prompt yet.
func (h *Hook) LookAll(ctx context.Context, since time.Time, q Question) error {
	end := time.Now().Add(q.Deadline)
	heads, err := h.store.Sessions(ctx)
	for _, head := range heads {
		if err != nil || head.Directory != q.Directory || time.UnixMilli(head.Updated).Before(since) {
			continue
		}
		q.Deadline = time.Until(end)
		v := h.Look(ctx, Situation{Cause: AtStart, Head: head, Question: q})
		if errors.Is(v.Err, errTooLate) || errors.Is(v.Err, errSkipped) || ctx.Err() != nil {
			return v.Err
		}
	}
	return err
}
