package live

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"mend/change"
	"mend/repair"
)

// A row describes the attempts with one [Cause]; rows.go has the table. All attempts have the same steps, see
// [attempt.run].
type row struct {
	reported bool // the agent reported an error: the recovery begins before there is a plan
	limited  bool // there are at most [Options.MaxAttempts] until a turn succeeds
	aborts   bool // ends the agent's turn
	quiet    bool // toasts only a repair, no failure
	patient  bool // if the session is busy, it is tried again later, and no attempt is counted

	detect  func(context.Context, *attempt) bool                      // whether there is anything to do; nil: yes
	request func(*attempt) repair.Request                             // what to repair
	check   func(context.Context, *attempt, repair.Result) error      // why a plan must not be applied; nil: never
	propose func(context.Context, *attempt) (entry string, err error) // plans and applies; nil: [attempt.apply]
	resumes func(*attempt) bool                                       // whether the turn continues after it; nil: no

	title   string                                // of the toasts; "": [notice] of the error
	done    func(a *attempt, entry string) string // the text after a repair; nil: [sendAgainText]
	nothing func(*attempt) (text, why string)     // the text and the reason for the log, if nothing can be repaired
}

// An attempt is one try to repair a session.
type attempt struct {
	*Hook
	row
	Situation
	info  Info            // the message that failed or is examined; empty if unknown
	err   repair.APIError // the error that the agent reported
	since time.Time       // a session that was changed since then is not repaired; zero: repair it anyway
	log   *slog.Logger

	late    bool // the agent has ended or is just starting: repair the store, without abort, toast or prompt
	result  repair.Result
	changed int // the number of changed records, for the text
	begun   bool
	end     func()
	timer   *time.Timer // of the deadline of the question
}

func (h *Hook) newAttempt(s Situation) *attempt {
	return &attempt{
		Hook: h, row: rowOf(s.Cause), Situation: s, late: s.Cause == AtStart,
		log: h.opt.Log.With("session", s.Head.ID), end: func() {},
	}
}

var (
	errLimit   = errors.New("gave up: maxRetries repairs changed nothing")
	errWorking = errors.New("the agent is working in the session")
)

// A changedError means that the session was changed after the error: by another process, or by a hook that ended before
// it could report the change. Another repair would remove more than the error requires, or revert an undo.
type changedError struct{ entry string }

func (e changedError) Error() string { return "repaired already: " + e.entry }

// run takes the steps of an attempt, in the order of the package documentation. It returns the id of the journal
// entry, "" if the store was not changed. The error is the reason why the session, which may be broken, was not
// repaired.
func (a *attempt) run(ctx context.Context) (entry string, err error) {
	release, err := a.Acquire(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	if a.detect != nil && !a.detect(ctx, a) {
		return "", nil
	}
	if id := a.info.ID; id != "" {
		if !a.claim(id) {
			a.log.Debug("handled already")
			return "", nil
		}
		defer func() {
			if err != nil && !errors.Is(err, errLimit) { // it may be tried again
				a.release(id)
			}
		}()
	}
	if a.err.Class == repair.ThinkingBlockModified { // no repair is tried, and the turn is not ended
		a.refuse(ctx)
		return "", nil
	}
	defer func() { a.end() }()
	if a.reported {
		err = a.start(ctx)
	}
	switch {
	case err != nil:
	case a.propose != nil:
		entry, err = a.propose(ctx, a)
	default:
		entry, err = a.apply(ctx)
	}
	return entry, a.conclude(ctx, entry, err)
}

// start announces the recovery, unless it was announced already.
func (a *attempt) start(ctx context.Context) error {
	if a.begun {
		return nil
	}
	if a.limited && !a.late && !a.countAttempt(a.Head.ID, 1) {
		return errLimit
	}
	a.begun = true
	if !a.late {
		a.end = a.Begin(ctx, a.Head.ID)
	}
	if !a.since.IsZero() {
		if entry, err := a.store.LastChange(ctx, a.Head.ID, a.since); entry != "" || err != nil {
			return cmp.Or(err, error(changedError{entry}))
		}
	}
	if a.aborts && !a.late {
		if err := a.agent.Abort(ctx, a.Head.ID); err != nil {
			a.log.Warn("aborting the session", "error", err)
		}
		if n := notices[a.err.Class]; n.title != "" && !isExplainOnly(a.err.Class) {
			a.Toast(ctx, Toast{n.title, n.message, VariantWarning, announceTime})
		}
	}
	return nil
}

// apply plans the repair and applies it. After an error it waits while the session is busy, unless the row is patient.
func (a *attempt) apply(ctx context.Context) (entry string, err error) {
	req := a.request(a)
	req.Placeholder = a.opt.Placeholder
	if !a.reported {
		entry, a.result, err = a.store.Repair(ctx, a.Head, req, a.accept)
		return entry, err
	}
	for n := 0; ; n++ {
		entry, a.result, err = a.store.Repair(ctx, change.Head{ID: a.Head.ID}, req, nil)
		if !errors.Is(err, repair.ErrBusy) || a.patient || n == len(busyDelays) {
			return entry, err
		}
		if err := a.wait(ctx, busyDelays[n]); err != nil {
			return "", err
		}
	}
}

// accept is called with a plan before it is applied, and again if another program interferes.
func (a *attempt) accept(ctx context.Context, r repair.Result) error {
	if a.check != nil {
		if err := a.check(ctx, a, r); err != nil {
			return err
		}
	}
	return a.start(ctx)
}

// conclude counts, logs and shows the result of the attempt, and resumes the turn if row.resumes allows it. It returns
// the error of [attempt.run].
func (a *attempt) conclude(ctx context.Context, entry string, err error) error {
	var before changedError
	var ask *repair.AskError
	switch {
	case errors.As(err, &before):
		a.log.Info("repaired already", "repair", before.entry)
		a.show(ctx, alreadyRepairedText(before.entry), VariantSuccess)
	case errors.Is(err, errLimit) && a.reported:
		a.log.Warn("left alone: the limit is reached", "attempts", a.opt.MaxAttempts, "error", a.err.Text)
		a.show(ctx, limitText(a.opt.MaxAttempts), VariantError)
		return err
	case a.patient && errors.Is(err, repair.ErrBusy):
		a.countAttempt(a.Head.ID, -1)
		return err
	case errors.As(err, &ask):
		if a.reported {
			a.countAttempt(a.Head.ID, -1) // nothing was tried, so the attempt does not count
		}
		a.log.Info("left alone", "why", err)
		if !a.late && !a.quiet {
			a.Toast(ctx, Toast{"Session damaged", askText(ask.Session), VariantWarning, resultTime})
		}
		return err
	case err != nil && !a.reported:
		a.log.Info("left alone", "why", err)
		return err
	case err != nil:
		a.log.Error("recovering the session", "error", err)
		if ctx.Err() == nil {
			a.show(ctx, failedText(err), VariantError)
		}
		return err
	case entry != "":
		a.showRepair(ctx, entry)
	case a.reported && !a.late: // in other cases nothing is broken, or it was repaired before
		a.refuse(ctx)
	}
	return nil
}

// refuse explains an error that no repair of the store can fix.
func (a *attempt) refuse(ctx context.Context) {
	text, why := "", "nothing to repair"
	if a.nothing != nil {
		text, why = a.nothing(a)
	}
	a.log.Info("left alone", "why", why, "error", a.err.Text)
	a.show(ctx, text, VariantWarning)
}

// showRepair shows the result of a repair, and resumes the turn if row.resumes allows it.
func (a *attempt) showRepair(ctx context.Context, entry string) {
	class := a.err.Class
	if class == "" && len(a.result.Fixed) > 0 {
		class = a.result.Fixed[0].Class
	}
	records := cmp.Or(a.changed, len(a.result.Plan.Ops))
	a.log.Info("repaired", "repair", entry, "class", class, "records", records, "error", a.err.Text)
	if !a.late {
		text := sendAgainText(entry)
		if a.done != nil {
			text = a.done(a, entry)
		}
		a.Toast(ctx, Toast{a.toastTitle(), text, VariantSuccess, resultTime})
	}
	switch {
	case a.resumes != nil && a.resumes(a) && ctx.Err() == nil:
		a.resume(ctx) // the prompt counts as an attempt, so that it cannot loop
	case a.limited:
		a.countAttempt(a.Head.ID, -1)
	}
}

func (a *attempt) show(ctx context.Context, text, variant string) {
	if a.reported && !a.late && !a.quiet && text != "" {
		a.Toast(ctx, Toast{a.toastTitle(), text, variant, resultTime})
	}
}

func (a *attempt) toastTitle() string { return cmp.Or(a.title, notices[a.err.Class].title) }
