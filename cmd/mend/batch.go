package main

import (
	"context"
	"errors"
	"fmt"

	"mend/change"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
)

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
