package fsstore

import (
	"context"
	"errors"

	"mend/change"
	"mend/internal/atomicfile"
)

// restage makes the slots hold what shall be put in place of the targets that hold
// from: what is missing is written anew, durably, into new files. Bytes of
// another program that are in the way are kept.
//
// A crash here leaves unfinished files, which the next Settle writes once more,
// or slots that are ready. No record changes.
func (tx *transaction) restage(ctx context.Context, items []fileOp, from content) error {
	b := tx.newBarrier()
	var fresh []fileOp
	var err error
	for _, op := range items {
		wrote, rerr := tx.restageOne(b, op, from)
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
	err = errors.Join(err, tx.waitFor(b))
	for _, op := range fresh {
		if err == nil {
			err = tx.stepItem("restage", op)
		}
		if err == nil {
			err = tx.stageDir.Move(op.staged+unfinished, tx.stageDir, op.staged)
		}
	}
	return err
}

// restageOne is ready for one record, and reports whether it wrote a file.
func (tx *transaction) restageOne(b *atomicfile.Barrier, op fileOp, from content) (wrote bool, err error) {
	if op.isFolder() {
		return false, nil
	}
	target, slot, err := tx.state(op)
	if err != nil {
		return false, err
	}
	// What comes out of an exchange stays in the slot, until backward has put it
	// back; what stands in any other slot is in the way.
	if slot == otherContent && (target != postContent || op.Pre == nil) {
		if _, err := tx.keepStaged(op); err != nil {
			return false, err
		}
		slot = noContent
	}
	want, done := op.Post, slot == postContent
	if from == postContent {
		want, done = op.Pre, slot != noContent
	}
	if target != from {
		want, done = nil, target != preContent || slot != noContent // but a torn slot goes
	}
	if done {
		return false, nil
	}
	return tx.rewriteStaged(b, op, want)
}

// rewriteStaged makes the slot hold the image, or nothing for nil, in place of bytes
// that are known. It reports whether it wrote a file, which is unfinished yet.
func (tx *transaction) rewriteStaged(b *atomicfile.Barrier, op fileOp, want *change.Image) (wrote bool, err error) {
	if err := tx.makeStageAgain(); err != nil {
		return false, err
	}
	for _, name := range []string{op.staged, op.staged + unfinished} {
		if err := tx.remove(tx.stageDir, name); err != nil {
			return false, err
		}
	}
	if want == nil {
		return false, nil
	}
	f, err := tx.stageFile(op, op.staged+unfinished, want)
	if err == nil {
		b.Add(f)
	}
	return err == nil, err
}

// makeStageAgain makes a staging folder where the first one is lost.
func (tx *transaction) makeStageAgain() error {
	if tx.stageDir != nil {
		return nil
	}
	var err error
	tx.lost = true
	tx.stageDir, err = tx.makeOwnDirs(tx.stagePath + again)
	return err
}
