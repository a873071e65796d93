package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"mend/change"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
)

// A step is one plan of a job.
type step struct {
	store *mend.Store
	plan  change.Plan
	name  string                             // its name in a sentence
	ids   []string                           // of the repairs that are undone or applied again
	err   error                              // why there is no plan
	apply func(*batch) (change.Entry, error) // nil: apply the plan unchanged

	show func()                                  // if the job asks about each step
	ask  func(more bool) (key string, err error) // y, n, a for the rest, q for none of the rest
}

// A job is everything that a verb writes: it is shown, confirmed by one question, made as one operation, and
// has one answer.
type job struct {
	question string
	show     func()         // nil: the verb has shown it
	failed   []step         // steps without a plan, reported before the others are shown
	steps    iter.Seq[step] // plans are made one at a time, and again for a diff: one is in memory
	n        int            // the number of steps, failed ones included; the error of a single step needs no name
	each     bool           // on a terminal, show and confirm each step
	noDiff   bool           // do not offer the diff
	dry      string         // what a dry run prints after "nothing was written"
	ended    func(step, change.Entry, error)
	done     func(*batch) // prints the result; may be nil
}

// oneStep returns the steps of a job with one plan.
func oneStep(c *mend.Store, p change.Plan) iter.Seq[step] {
	return func(yield func(step) bool) {
		yield(step{store: c, plan: p, name: quotedTitle(p.Cause.Title, p.Session)})
	}
}

// plannedSteps returns a step for each plan that each creates, one at a time. rest is the name of a step without a
// session or without a plan.
func plannedSteps(c *mend.Store, rest string, each func(func(change.Plan) error) error) iter.Seq[step] {
	errEnough := errors.New("enough")
	return func(yield func(step) bool) {
		err := each(func(p change.Plan) error {
			name := rest
			if p.Session != "" {
				name = quotedTitle(p.Cause.Title, p.Session)
			}
			if !yield(step{store: c, plan: p, name: name}) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(step{store: c, name: rest, err: err})
		}
	}
}

// joinSteps concatenates steps.
func joinSteps(all []iter.Seq[step]) iter.Seq[step] {
	return func(yield func(step) bool) {
		for _, steps := range all {
			for s := range steps {
				if !yield(s) {
					return
				}
			}
		}
	}
}

// run asks, carries out the steps as one operation, and sets the answer. A failed step does not stop the
// others; the error is the worst of all. In a dry run, or if the user declines, nothing is written, and the
// answer has the plans.
func (env *environment) run(ctx context.Context, f writeFlags, j job) error {
	return newBatch(ctx, env, j.n).run(f, j)
}

// run is [environment.run] with a new batch.
func (b *batch) run(f writeFlags, j job) error {
	env, ctx := b.environment, b.ctx
	env.setAnswers(repairsAnswer{[]repairJSON{}})
	for _, s := range j.failed {
		b.fail(s, s.err)
	}
	if len(j.failed) > 0 && len(j.failed) == j.n {
		return b.result()
	}
	steps := j.steps
	if j.each && !f.yes && !f.dryRun && b.MayAsk() == nil {
		steps = b.askEach(j)
	} else if end, err := b.confirm(f, j); end {
		return err
	}
	env.opt.Journal.Join()
	repairs := []repairJSON{}
	missing := map[*mend.Store]error{} // why a store lacks what its other steps need
	for s := range steps {
		before := len(b.done)
		var e change.Entry
		err := cmp.Or(missing[s.store], s.err)
		switch {
		case err != nil:
		case s.apply != nil:
			e, err = s.apply(b)
		default:
			e, err = b.apply(s.store, s.plan)
		}
		if j.ended != nil {
			j.ended(s, e, err)
		}
		if err != nil {
			b.fail(s, err)
		}
		if err != nil && s.plan.Session == change.NoSession && s.plan.Cause.Kind == change.CauseMove {
			missing[s.store] = fmt.Errorf("%s was not written: %w", s.plan.Cause.Title, err)
		}
		switch {
		case env.JSON && len(b.done) > before:
			repairs = append(append(repairs, entryJSON(b.done[before], s.plan.Ops)), entriesJSON(b.done[before+1:])...)
		case env.JSON && e.ID != "": // it is pending
			repairs = append(repairs, entryJSON(e, s.plan.Ops))
		}
		if ctx.Err() != nil {
			break
		}
	}
	env.setAnswers(repairsAnswer{repairs})
	if len(b.done) > 0 && j.done != nil {
		j.done(b)
	}
	return b.result()
}

// confirm shows a job and asks about all of it. end means that nothing is written; err is then the verb's
// error.
func (b *batch) confirm(f writeFlags, j job) (end bool, err error) {
	if j.show != nil {
		j.show()
	}
	if f.dryRun {
		b.setPlans(j)
		b.Say("%s", strings.TrimSpace("Dry run: nothing was written. "+j.dry))
		return true, b.result()
	}
	var diff func(*term.Terminal)
	if !j.noDiff {
		diff = func(t *term.Terminal) {
			for s := range j.steps { // the error is returned when the step is applied
				printOps(t, s.plan.Ops)
			}
		}
	}
	if err = confirmChange(b.ctx, b.Terminal, f, j.question, diff); err != nil {
		b.setPlans(j)
		err = fail.Worst(err, b.result())
	}
	return err != nil, err
}

// askEach shows each step, and asks about those that change something. A declined step has the error
// [term.ErrDeclined].
func (b *batch) askEach(j job) iter.Seq[step] {
	return func(yield func(step) bool) {
		all, left := false, j.n
		var ended error
		for s := range j.steps {
			shown := ended == nil
			if shown {
				s.show()
			}
			if len(s.plan.Ops) > 0 {
				if left--; shown && !all {
					key, err := s.ask(left > 0)
					all = key == "a"
					switch key {
					case "n":
						s.err = term.ErrDeclined
					case "q":
						ended = term.ErrDeclined
					default:
						ended = err
					}
				}
				s.err = cmp.Or(s.err, ended)
			}
			if !yield(s) {
				return
			}
			if shown && j.n > 1 && len(s.plan.Ops) > 0 {
				b.Printf("\n")
			}
		}
	}
}

// setPlans sets the answer of a job that writes nothing.
func (b *batch) setPlans(j job) {
	if !b.JSON { // the verb has shown them
		return
	}
	plans := []repairJSON{}
	for s := range j.steps {
		if s.err != nil {
			b.fail(s, s.err)
			continue
		}
		if len(s.plan.Ops) > 0 || s.apply == nil { // otherwise the step plans no change of a record
			plans = append(plans, planJSON(s.plan))
		}
	}
	b.setAnswers(repairsAnswer{plans})
}

// A batch makes several independent changes. A finished change stays and is reported; a failed one is named
// with the reason and does not stop the others; the error is the worst of all. After [mend.Journal.Join] they
// are one operation.
type batch struct {
	*environment
	ctx context.Context
	one bool // there is only one step: its error needs no name

	done    []change.Entry // entries made
	failed  []failedJSON
	skipped int // by the user
	err     error
}

// A failedJSON is a step that failed, with the reason.
type failedJSON struct {
	Session string      `json:"session"` // "" for a store
	Repairs []string    `json:"repairs"` // the repairs to undo or apply again
	Error   errorAnswer `json:"error"`
}

// newBatch begins a batch of n steps.
func newBatch(ctx context.Context, env *environment, n int) *batch {
	return &batch{environment: env, ctx: ctx, one: n == 1, failed: []failedJSON{}}
}

// apply applies a plan, unless the user has cancelled the command.
func (b *batch) apply(c *mend.Store, p change.Plan) (e change.Entry, err error) {
	if err := b.ctx.Err(); err != nil {
		return e, err
	}
	if e, err = applyPlan(b.ctx, b.environment, c, p); err == nil {
		done := e
		if len(b.done) > 0 && !b.JSON { // the output needs only the ops of the first
			done.Ops = nil
		}
		b.done = append(b.done, done)
	}
	return e, err
}

// fail reports why a step failed.
func (b *batch) fail(s step, err error) {
	switch {
	case errors.Is(err, term.ErrDeclined):
		b.skipped++
		return
	case b.ctx.Err() != nil, errors.Is(err, errProblems), errors.Is(err, term.ErrCannotAsk): // it is said once
		b.err = fail.Worst(b.err, err)
		return
	}
	b.failed = append(b.failed, failedJSON{s.plan.Session, nonNil(s.ids), b.errorJSON(err)})
	_ = printConflicts(b.Terminal, err)
	if !b.one {
		err = fmt.Errorf("%s: %w", s.name, err)
		if !b.JSON {
			b.printError(err)
			err = &reportedError{err}
		}
	}
	b.err = fail.Worst(b.err, err)
}

// result returns the error. The JSON answer has the failed steps.
func (b *batch) result() error {
	if len(b.failed) > 0 {
		b.setAnswer("failed", b.failed)
	}
	switch {
	case b.ctx.Err() != nil:
		return fail.Worst(b.ctx.Err(), b.err)
	case b.skipped > 0 && len(b.done) == 0 && b.err == nil:
		return term.ErrDeclined
	case b.skipped > 0:
		return fail.Worst(b.err, errProblems)
	}
	return b.err
}
