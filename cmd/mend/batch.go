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
	name  string                             // what a sentence calls it
	err   error                              // why there is no plan
	apply func(*batch) (change.Entry, error) // nil: the plan is applied as it is
}

// A job is what a verb writes, after it has shown that: one question, one operation, one answer.
type job struct {
	question string
	steps    iter.Seq[step] // each plan is made when its turn comes, and again for a diff: they need not fit into memory together
	n        int            // the number of steps; the error of a single one needs no name
	noDiff   bool           // the question does not offer the diff
	dry      string         // how a dry run ends, besides "nothing was written"
	ended    func(step, change.Entry, error)
	done     func(*batch) // prints what was done
}

// oneStep returns the steps of a job with one plan.
func oneStep(c *mend.Store, p change.Plan) iter.Seq[step] {
	return func(yield func(step) bool) {
		yield(step{store: c, plan: p, name: quotedTitle(p.Cause.Title, p.Session)})
	}
}

// run asks, carries the steps out as one operation, and sets the answer. A step that fails stops no other; the error
// is the worst of all. Nothing is written in a dry run; its answer has the plans.
func (env *environment) run(ctx context.Context, f writeFlags, j job) error {
	b := newBatch(ctx, env, j.n)
	if f.dryRun {
		return b.dryRun(j)
	}
	var diff func(*term.Terminal)
	if !j.noDiff {
		diff = func(t *term.Terminal) {
			for s := range j.steps { // an error is returned when the step is applied
				printOps(t, s.plan.Ops)
			}
		}
	}
	if err := confirmChange(ctx, env.Terminal, f, j.question, diff); err != nil {
		return err
	}
	env.opt.Journal.Join()
	repairs := []repairJSON{}
	missing := map[*mend.Store]error{} // why a store lacks what its other steps need
	for s := range j.steps {
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
			b.fail(s.name, s.plan.Session, nil, err)
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
	env.setAnswer("repairs", repairs)
	if len(b.done) > 0 {
		j.done(b)
	}
	return b.result()
}

// dryRun sets the answer of a job that writes nothing.
func (b *batch) dryRun(j job) error {
	plans := []repairJSON{}
	if b.JSON { // else the verb has shown them
		for s := range j.steps {
			if s.err != nil {
				b.fail(s.name, s.plan.Session, nil, s.err)
				continue
			}
			plans = append(plans, planJSON(s.plan))
		}
	}
	b.setAnswer("repairs", plans)
	b.Say("%s", strings.TrimSpace("Dry run: nothing was written. "+j.dry))
	return b.result()
}

// A batch changes several things, each on its own. What is done stays done and is reported; what fails stays as it is,
// is named with the reason, and stops no other; the error is the worst of all. After [mend.Journal.Join] all of it is
// one operation.
type batch struct {
	*environment
	ctx context.Context
	one bool // there is only one thing: its error needs no name

	done    []change.Entry // that were made
	failed  []failedJSON
	skipped int // by the user
	err     error
}

// A failedJSON is something that stays as it is, and why.
type failedJSON struct {
	Session string            `json:"session"` // "" for a store
	Repairs []string          `json:"repairs"` // of an undo or a redo: those that it is about
	Error   map[string]string `json:"error"`
}

// newBatch begins a batch about n things.
func newBatch(ctx context.Context, env *environment, n int) *batch {
	return &batch{environment: env, ctx: ctx, one: n == 1, failed: []failedJSON{}}
}

// apply applies a plan, unless the user has ended the command.
func (b *batch) apply(c *mend.Store, p change.Plan) (e change.Entry, err error) {
	if err := b.ctx.Err(); err != nil {
		return e, err
	}
	if e, err = applyPlan(b.ctx, b.environment, c, p); err == nil {
		done := e
		if len(b.done) > 0 && !b.JSON { // what is printed needs those of the first
			done.Ops = nil
		}
		b.done = append(b.done, done)
	}
	return e, err
}

// fail says why a thing stays as it is. name is what a sentence calls it.
func (b *batch) fail(name, session string, repairs []string, err error) {
	switch {
	case errors.Is(err, term.ErrDeclined):
		b.skipped++
		return
	case b.ctx.Err() != nil, errors.Is(err, errProblems), errors.Is(err, term.ErrCannotAsk): // it is said once
		b.err = fail.Worst(b.err, err)
		return
	}
	b.failed = append(b.failed, failedJSON{session, nonNil(repairs), b.errorJSON(err)})
	_ = printConflicts(b.Terminal, err)
	if !b.one {
		err = fmt.Errorf("%s: %w", name, err)
		if !b.JSON {
			b.printError(err)
			err = &reportedError{err}
		}
	}
	b.err = fail.Worst(b.err, err)
}

// result returns the error. What failed is in the JSON answer.
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
