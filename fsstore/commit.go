package fsstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"mend/change"
	"mend/internal/safedir"
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
			return tx.abort(i+1, fmt.Errorf("%s: %w", op.what(), err))
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

// errForeign means that another program wrote a record at the same time. Its content is in place.
var errForeign = errors.New("changed by another program")

// exchange swaps the staged file and the target. o is op.Op or its inverse: the staged file holds
// o.Post, and the target must hold o.Pre. If the target holds anything else, exchange
// swaps them back at once, and the error is errForeign.
//
// A crash leaves one of the rows of [transaction.readState], since each call either exchanges two
// names or does nothing. The same holds for an error: only the content shows whether the call took
// effect.
func (tx *transaction) exchange(op fileOp, o change.Op) error {
	d, err := tx.parent(op)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := tx.rename(d, op, o); err != nil {
		return err
	}
	out, err := tx.stageDir.Read(op.staged, op.limit())
	if err != nil {
		return err
	}
	if matches(&out, o.Pre) {
		return nil
	}
	return tx.revertExchange(d, op, o)
}

// rename makes the only call that changes a record.
func (tx *transaction) rename(d *safedir.Dir, op fileOp, o change.Op) error {
	verb, call := "exchange", func() error { return tx.own.Exchange(d, op.name(), tx.stageDir, op.staged) }
	switch {
	case o.Pre == nil:
		verb, call = "place", func() error { return tx.stageDir.Move(op.staged, d, op.name()) }
	case o.Post == nil:
		verb, call = "take", func() error { return d.Move(op.name(), tx.stageDir, op.staged) }
	}
	if err := tx.opt.Step(verb + " " + op.what()); err != nil {
		return err
	}
	return call()
}

// revertExchange puts another program's content back in place. If that program wrote again
// meanwhile, its newest content is put in place, the older content stays in the staged file, and
// the error is not errForeign.
func (tx *transaction) revertExchange(d *safedir.Dir, op fileOp, o change.Op) error {
	if err := tx.rename(d, op, change.Op{Pre: o.Post, Post: o.Pre}); err != nil {
		return err
	}
	out, err := tx.stageDir.Read(op.staged, op.limit())
	if err != nil {
		return err
	}
	if matches(&out, o.Post) {
		return errForeign
	}
	return errors.Join(errors.New("changed by another program, twice"), tx.rename(d, op, o))
}

// makeFolder puts a folder in place. If the folder already exists, it stays, and so does the staged
// folder, which shows that another program made the folder.
func (tx *transaction) makeFolder(op fileOp, image *change.Image) error {
	d, err := tx.parent(op)
	if err != nil {
		return err
	}
	defer d.Close()
	if e, err := d.Stat(op.name()); err != nil || e.Exists {
		return err
	}
	if err := tx.makeStageAgain(); err != nil {
		return err
	}
	source := op.staged
	if staged, err := tx.stageDir.Stat(source); err != nil {
		return err
	} else if !staged.Exists {
		source += stage.Unfinished
		if err := tx.own.Remove(tx.stageDir, source); err != nil {
			return err
		}
		if _, err := tx.stageFile(op, source, image); err != nil {
			return err
		}
	}
	if err := tx.opt.Step("make " + op.what()); err != nil {
		return err
	}
	err = tx.stageDir.Move(source, d, op.name())
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// removeFolder removes a folder if it is empty. It returns no error if the folder is not empty or
// does not exist.
func (tx *transaction) removeFolder(op fileOp) error {
	d, err := tx.parent(op)
	if safedir.IsMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	_, err = tx.own.RemoveDir(d, op.name())
	return err
}
