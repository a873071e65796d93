package fsstore

import (
	"errors"
	"io/fs"

	"mend/change"
	"mend/internal/safedir"
	"mend/internal/stage"
)

// errForeign means that another program wrote a record at the same time. Its content is in place.
var errForeign = errors.New("changed by another program")

// exchange swaps the staged file and the target. o is op.Op or its inverse: the staged file holds
// o.Post, and the target must hold o.Pre. If the target holds anything else, it is put back at
// once, and the error is errForeign.
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
	if err := tx.stepItem(verb, op); err != nil {
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
		if err := errors.Join(tx.own.Remove(tx.stageDir, source), tx.stageFolder(op, source, image)); err != nil {
			return err
		}
	}
	if err := tx.stepItem("make", op); err != nil {
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
