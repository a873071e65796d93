package txn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"mend/change"
	"mend/journal"
)

// A PendingError means that the outcome of a change is unknown. Its entry stays pending and has
// everything that [Recover] needs.
type PendingError struct {
	Entry change.Entry
	Err   error
}

func (e *PendingError) Error() string {
	return fmt.Sprintf("repair %s is still pending: %v", e.Entry.ID, e.Err)
}

func (e *PendingError) Unwrap() error { return e.Err }

// An UndecidedError has the entries that [Recover] could not decide, oldest first. They block only plans for the same
// records, see [change.Entry.Blocks].
type UndecidedError []*PendingError

func (e UndecidedError) Error() string {
	text := e[0].Error()
	if n := len(e) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}

// Unwrap returns the first entry's error, which is a [*PendingError].
func (e UndecidedError) Unwrap() error { return e[0] }

// A ConflictedError means that a part of a change was made, and that another program changed the rest meanwhile. The
// entry is a conflict, which is to be resolved.
type ConflictedError struct {
	Entry change.Entry
	Err   *change.ConflictError
}

func (e *ConflictedError) Error() string {
	return fmt.Sprintf("repair %s was made in part: %v", e.Entry.ID, e.Err)
}

// Run journals p, applies it, and marks the entry as committed. The returned entry is
// committed if and only if the error is nil.
//
// A crash before the journal has the entry leaves only staged files, which the next Prepare removes. A crash before
// the outcome is durable leaves a pending entry with every image that Recover needs.
//
// The error wraps [change.ErrInvalid] if the plan can never be applied. It is a
// [*change.ConflictError] if a record has other content than the plan expects, a
// [*ConflictedError] if that showed after a part was made, and a [*PendingError] if the outcome is unknown or could
// not be written. Any other error, such as the
// context's, explains why nothing was changed.
func Run(ctx context.Context, j *journal.Journal, st Store, p change.Plan) (change.Entry, error) {
	if err := change.Validate(p.Ops); err != nil {
		return change.Entry{}, err
	}
	s, err := st.Prepare(ctx, p)
	if err != nil {
		return change.Entry{}, withSpaceNeeded(err, p.Ops)
	}
	e, err := j.Begin(p, s)
	if errors.Is(err, journal.ErrUnsure) { // the entry may exist, and then needs the staged files
		return e, &PendingError{e, err}
	}
	if err != nil {
		return e, errors.Join(withSpaceNeeded(err, p.Ops), st.Discard(context.WithoutCancel(ctx), s))
	}
	out, err := st.Commit(ctx, s)
	ctx = context.WithoutCancel(ctx) // a change that has begun is finished
	if err != nil {
		out, err = settle(ctx, st, s, err)
	}
	if err != nil {
		e.Ops = change.InfosOf(s.Ops)
		return e, &PendingError{e, err}
	}
	if e, err = finish(ctx, j, st, e, s, out); err != nil {
		return e, err
	}
	return e, outcomeError(e, out)
}

// settle determines the outcome of s after Commit returned the error cause.
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

// finish writes the outcome to the journal and removes what Prepare left. A crash before the
// outcome is durable leaves the entry pending, and Recover finds the same outcome in the
// store.
func finish(ctx context.Context, j *journal.Journal, st Store, e change.Entry, s change.Staged, out change.Outcome) (change.Entry, error) {
	done, err := j.Finish(e, out)
	if err != nil {
		e.Ops = change.InfosOf(s.Ops)
		return e, &PendingError{e, err}
	}
	// An error here only leaves staged files. The next Recover tries again.
	_ = st.Discard(ctx, s)
	done.Ops = change.InfosOf(s.Ops)
	return done, nil
}

// outcomeError returns the error for an outcome, nil for Committed.
func outcomeError(e change.Entry, out change.Outcome) error {
	switch {
	case out.State == change.Conflicted:
		return &ConflictedError{e, &change.ConflictError{Conflicts: out.Conflicts}}
	case out.State == change.Committed:
		return nil
	case len(out.Conflicts) > 0 || out.Cause == nil:
		return &change.ConflictError{Conflicts: out.Conflicts}
	}
	return out.Cause
}

// Recover finishes the pending entries of the store id, oldest first. The store's Settle decides
// whether a change is finished or reverted. Recover returns the entries with their new states. It
// may be interrupted at any point and called again. pending has all of them, newest first,
// including those made before the store was moved to its current folder.
//
// The error is an [UndecidedError] with the entries that stay pending because their outcome could not be determined. If
// ctx ends between two entries, or an outcome cannot be written, the error is a [*PendingError] with the entry, and all
// later ones stay pending, too. The entry in progress is finished even if ctx ends.
func Recover(ctx context.Context, j *journal.Journal, st Store, id change.StoreID, pending []change.Entry) ([]change.Entry, error) {
	var done []change.Entry
	var left UndecidedError
	for _, e := range slices.Backward(pending) {
		if err := ctx.Err(); err != nil {
			return done, &PendingError{e, err}
		}
		ctx := context.WithoutCancel(ctx)
		s, out, err := settleEntry(ctx, j, st, id, e, left)
		if err != nil {
			left = append(left, &PendingError{e, err})
			continue
		}
		if e, err = finish(ctx, j, st, e, s, out); err != nil {
			return done, err
		}
		done = append(done, e)
	}
	if len(left) > 0 {
		return done, left
	}
	// Nothing is pending now, so nothing staged is needed any more.
	return done, st.Discard(ctx, change.Staged{})
}

// settleEntry determines the outcome of an entry. It fails if an earlier entry, in left, changes the same records.
func settleEntry(ctx context.Context, j *journal.Journal, st Store, id change.StoreID, e change.Entry, left UndecidedError) (s change.Staged, out change.Outcome, err error) {
	for _, l := range left {
		if l.Entry.Shares(e) {
			return s, out, fmt.Errorf("it waits for repair %s", l.Entry.ID)
		}
	}
	ops, err := j.Ops(e)
	if err != nil {
		return s, out, err
	}
	s = e.Staged(id, ops)
	out, err = st.Settle(ctx, s)
	return s, out, err
}

// withSpaceNeeded adds to a disk-full error how much space the change needs: the new contents in
// the store, and the old and new contents in the journal.
func withSpaceNeeded(err error, ops []change.Op) error {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	var pre, post int64
	for _, o := range ops {
		pre, post = pre+int64(o.Pre.Size()), post+int64(o.Post.Size())
	}
	const spare = 128 << 10 // for pages, names and folders
	return fmt.Errorf("%w; the change needs up to %d KB in the store and %d KB in the journal", err, (post+spare)>>10, (pre+post+spare)>>10)
}

// A Store holds the records. Only Commit and Settle change them.
type Store interface {
	// Prepare checks that every record holds its op's Pre, and durably stages the Posts that the store does not write in
	// one call. No record changes, and after an error nothing is staged. The error is a [*change.ConflictError] if a
	// record has other content. The returned Staged may have additional ops, for folders that new
	// files need.
	Prepare(ctx context.Context, p change.Plan) (change.Staged, error)
	// Commit durably writes the Posts. On a conflict, a cancelled context or a full disk it durably restores every Pre,
	// and the Outcome is Aborted; it is Conflicted if a part that was already made stays. After an error the outcome is
	// unknown: leave the entry pending and call Settle.
	Commit(ctx context.Context, s change.Staged) (change.Outcome, error)
	// Settle determines from the contents alone how far s came, and finishes or reverts it. It may be called at any
	// time and any number of times, and may be interrupted anywhere. After an error the outcome is still unknown.
	Settle(ctx context.Context, s change.Staged) (change.Outcome, error)
	// Discard removes what Prepare staged. It deletes only bytes that equal a Pre or a Post of s.
	// With the zero Staged it removes everything staged for any change; all outcomes must be known.
	Discard(ctx context.Context, s change.Staged) error
}
