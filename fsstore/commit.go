package fsstore

import (
	"context"
	"errors"
	"fmt"

	"mend/change"
	"mend/internal/stage"
)

// Commit puts every Post in place, one exchange after another, and returns when all of it is
// durable. If a record holds something else, ctx ends or a call fails, it durably reverts every
// exchange: the Outcome is Aborted, with either the conflicts or the cause.
//
// An error means that the change is undecided: call Settle.
func (s *Store) Commit(ctx context.Context, st change.Staged) (out change.Outcome, err error) {
	defer stage.Describe(&err, "applying the change")
	tx, err := s.resume(st)
	if err != nil {
		return out, err
	}
	defer tx.close()
	return tx.commit(ctx)
}

func (tx *transaction) commit(ctx context.Context) (change.Outcome, error) {
	if tx.lost {
		return change.Outcome{}, fmt.Errorf("the staging folder %s no longer exists", tx.stagePath)
	}
	for i, op := range tx.ops {
		err := ctx.Err()
		if err == nil {
			err = tx.apply(op)
		}
		if err != nil {
			return tx.abort(i+1, fmt.Errorf("%v %s: %w", op.Ref.Kind, op.Ref, err))
		}
	}
	// All names are exchanged. A power cut may still revert any of these exchanges; Settle then finishes.
	if err := tx.barrier(tx.ops); err != nil {
		return change.Outcome{}, err
	}
	if err := tx.keepLateWrites(); err != nil {
		return change.Outcome{}, err
	}
	return change.Outcome{State: change.Committed, Kept: tx.keptPaths()}, nil
}

// apply carries out one op.
func (tx *transaction) apply(op fileOp) error {
	switch {
	case !op.isFolder():
		return tx.exchange(op, *op.Op)
	case op.Post == nil:
		return tx.removeFolder(op)
	}
	return tx.makeFolder(op, op.Post)
}

// abort reverts the first n ops because of cause. The last of them may not have taken
// effect.
func (tx *transaction) abort(n int, cause error) (change.Outcome, error) {
	out, err := tx.rollBack(context.Background(), tx.ops[:n])
	if err != nil {
		return out, errors.Join(cause, err)
	}
	if out.State != change.Aborted {
		// Another program wrote over a new file. Settle decides about it.
		return out, cause
	}
	if len(out.Conflicts) == 0 {
		out.Cause = cause
	}
	return out, nil
}

// keepLateWrites keeps bytes that another program wrote into a file after its exchange, through a
// descriptor that it had opened earlier. Files kept here are also listed in the journal; Discard
// checks each file again just before it removes it.
func (tx *transaction) keepLateWrites() error {
	kept := 0
	for _, op := range tx.ops {
		if op.isFolder() || op.Pre == nil {
			continue
		}
		e, err := tx.stageDir.Read(op.staged, op.limit())
		if err == nil && e.Exists && !matches(&e, op.Pre) { // without an exchange there is no staged file
			kept++
			err = tx.keepStaged(op)
		}
		if err != nil {
			return err
		}
	}
	if kept == 0 {
		return nil
	}
	return tx.barrier(nil)
}
