package txn

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mend/change"
	"mend/journal"
)

// A PendingError says that it is not known whether a change took effect. Its
// entry stays pending and holds all that [Recover] needs.
type PendingError struct {
	Entry change.Entry
	Err   error
}

func (e *PendingError) Error() string {
	return fmt.Sprintf("repair %s is not confirmed: %v", e.Entry.ID, e.Err)
}

func (e *PendingError) Unwrap() error { return e.Err }

// Run journals p, puts it in place and marks it committed. The entry that comes
// back is committed if and only if the error is nil.
//
// A crash before Begin returns leaves nothing but staged files, which the next
// Prepare sweeps. A crash after it leaves a pending entry that holds every image
// Recover needs. There is no third case.
//
// Errors: one that wraps [change.ErrInvalid], for a plan that can never be
// applied; a [*change.ConflictError] if a record does not hold what the plan
// expects; a [*PendingError] if the outcome could not be decided or not be
// written down; any other error, the context's included, says why nothing was
// changed.
func Run(ctx context.Context, j *journal.Journal, st Store, p change.Plan) (change.Entry, error) {
	if err := change.Validate(p.Ops); err != nil {
		return change.Entry{}, err
	}
	s, err := st.Prepare(ctx, p.Ops)
	if err != nil {
		return change.Entry{}, needs(err, p.Ops)
	}
	e, err := j.Begin(p, s)
	if errors.Is(err, journal.ErrUnsure) { // an entry that is there needs what is staged
		return e, &PendingError{e, err}
	}
	if err != nil {
		return e, errors.Join(needs(err, p.Ops), st.Discard(context.WithoutCancel(ctx), s))
	}
	out, err := st.Commit(ctx, s)
	ctx = context.WithoutCancel(ctx) // what has begun is decided, whoever waits for it
	if err != nil {
		out, err = settle(ctx, st, s, err)
	}
	if err != nil {
		return e, &PendingError{e, err}
	}
	if e, err = finish(ctx, j, st, e, s, out); err != nil {
		return e, err
	}
	return e, outcomeError(out)
}

// settle looks what became of s after its Commit failed with cause.
func settle(ctx context.Context, st Store, s change.Staged, cause error) (change.Outcome, error) {
	out, err := st.Settle(ctx, s)
	if err != nil {
		return out, errors.Join(cause, err)
	}
	if out.State == change.Aborted && out.Cause == nil {
		out.Cause = cause
	}
	return out, nil
}

// finish writes the outcome down and removes what Prepare left. A crash before
// the journal has the outcome leaves the entry pending, and Recover comes to the
// same one by looking at the store.
func finish(ctx context.Context, j *journal.Journal, st Store, e change.Entry, s change.Staged, out change.Outcome) (change.Entry, error) {
	done, err := j.Finish(e, out)
	if err != nil {
		return e, &PendingError{e, err}
	}
	// What fails here leaves litter, never a doubt: the next Recover tries again.
	_ = st.Discard(ctx, s)
	return done, nil
}

func outcomeError(out change.Outcome) error {
	switch {
	case out.State == change.Committed:
		return nil
	case len(out.Conflicts) > 0 || out.Cause == nil:
		return &change.ConflictError{Conflicts: out.Conflicts}
	}
	return out.Cause
}

// Recover finishes every pending entry of the store, oldest first, forward or
// back as the store's Settle decides, and returns them with their new states.
// It may itself be cut at any point, and called again.
//
// A [*PendingError] names the first entry that could not be decided, or to which
// it did not come before ctx ended; it and the later ones stay pending. An entry
// that was begun is decided, whoever waits for it.
func Recover(ctx context.Context, j *journal.Journal, st Store, id change.StoreID) ([]change.Entry, error) {
	pending, err := j.List(journal.Query{Store: &id, State: change.Pending})
	if err != nil {
		return nil, err
	}
	slices.Reverse(pending) // oldest first
	var done []change.Entry
	for _, e := range pending {
		if err := ctx.Err(); err != nil {
			return done, &PendingError{e, err}
		}
		e, err := recoverEntry(context.WithoutCancel(ctx), j, st, e)
		if err != nil {
			return done, err
		}
		done = append(done, e)
	}
	// All is decided now: what a crash left in the store's private place goes.
	return done, st.Discard(ctx, change.Staged{})
}

func recoverEntry(ctx context.Context, j *journal.Journal, st Store, e change.Entry) (change.Entry, error) {
	s, err := staged(j, e)
	if err != nil {
		return e, &PendingError{e, err}
	}
	out, err := st.Settle(ctx, s)
	if err != nil {
		return e, &PendingError{e, err}
	}
	return finish(ctx, j, st, e, s, out)
}

func staged(j *journal.Journal, e change.Entry) (change.Staged, error) {
	ops, err := j.Ops(e)
	return change.Staged{Store: e.Store, Dir: e.Dir, Ops: ops}, err
}
