package fsstore

import (
	"context"
	"errors"

	"mend/change"
	"mend/internal/atomicfile"
	"mend/internal/stage"
)

// restage writes the staged files that rollBack needs for targets that hold a Post. It durably
// writes missing ones into new files, and keeps another program's content that is in the way.
//
// A crash here leaves unfinished files, which the next Settle writes again, or complete
// staged files. No record changes.
func (tx *transaction) restage(ctx context.Context, items []fileOp) error {
	b := new(atomicfile.Barrier)
	var fresh []fileOp
	var err error
	for _, op := range items {
		wrote, rerr := tx.restageOne(b, op)
		if err = errors.Join(rerr, ctx.Err()); err != nil {
			break
		}
		if wrote {
			fresh = append(fresh, op)
		}
	}
	if len(fresh) == 0 {
		return errors.Join(err, b.Wait())
	}
	err = errors.Join(err, tx.own.Sync(b))
	for _, op := range fresh {
		if err == nil {
			err = tx.stepItem("restage", op)
		}
		if err == nil {
			err = tx.stageDir.Move(op.staged+stage.Unfinished, tx.stageDir, op.staged)
		}
	}
	return err
}

// restageOne is restage for one record, and reports whether it wrote a file.
func (tx *transaction) restageOne(b *atomicfile.Barrier, op fileOp) (wrote bool, err error) {
	if op.isFolder() {
		return false, nil
	}
	target, staged, err := tx.readState(op)
	if err != nil {
		return false, err
	}
	// The content that an exchange took out stays in the staged file until revertOne puts it back. Any other content is
	// in the way.
	if staged == otherContent && (target != postContent || op.Pre == nil) {
		return false, tx.keepStaged(op)
	}
	want, done := op.Pre, staged != noContent
	if target != postContent {
		want, done = nil, target != preContent || staged != noContent // only a torn staged file is removed
	}
	if done {
		return false, nil
	}
	return tx.rewriteStaged(b, op, want)
}

// rewriteStaged writes the image into the staged file, or removes the file if want is nil. The caller has checked
// that the file has no content of another program. It reports whether it wrote a file, which is still unfinished.
func (tx *transaction) rewriteStaged(b *atomicfile.Barrier, op fileOp, want *change.Image) (wrote bool, err error) {
	if err := tx.makeStageAgain(); err != nil {
		return false, err
	}
	for _, name := range []string{op.staged, op.staged + stage.Unfinished} {
		if err := tx.own.Remove(tx.stageDir, name); err != nil {
			return false, err
		}
	}
	if want == nil {
		return false, nil
	}
	f, err := tx.stageFile(op, op.staged+stage.Unfinished, want)
	if err == nil {
		b.Add(f)
	}
	return err == nil, err
}

// makeStageAgain makes a staging folder if the first one is lost.
func (tx *transaction) makeStageAgain() error {
	if tx.stageDir != nil {
		return nil
	}
	var err error
	tx.lost = true
	tx.stageDir, err = tx.own.Make(tx.stagePath + again)
	return err
}
