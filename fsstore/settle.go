package fsstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"mend/change"
	"mend/internal/atomicfile"
	"mend/internal/safedir"
	"mend/internal/stage"
)

// Settle reverts the change unless every Post is in place. It decides by the content of the records
// and the staged files, see the table at [transaction.readState]. It works without the staging
// folder, too. It may be called any number of times, and interrupted at any point.
//
// The Outcome is Committed, Aborted, or Conflicted if another program wrote over a Post: that
// record is left alone, and every other one is reverted. An error means that the change is still
// undecided.
func (s *Store) Settle(ctx context.Context, st change.Staged) (out change.Outcome, err error) {
	defer stage.Describe(&err, "settling the change")
	tx, err := s.resume(st)
	if err != nil {
		return out, err
	}
	defer tx.close()
	tx.settling = true
	done, err := tx.isDone()
	switch {
	case err != nil:
		return out, err
	case !done:
		return tx.rollBack(ctx, tx.ops)
	}
	for _, op := range tx.ops {
		if op.isFolder() {
			err = errors.Join(err, tx.apply(op))
		}
	}
	return change.Outcome{State: change.Committed, Kept: tx.keptPaths()}, errors.Join(err, tx.barrier(tx.ops))
}

// isDone reports whether every Post is in place, and no exchange took out another program's content.
func (tx *transaction) isDone() (bool, error) {
	for _, op := range tx.ops {
		if op.isFolder() {
			continue
		}
		target, staged, err := tx.readState(op)
		if err != nil || target != postContent || staged == otherContent && op.Pre != nil {
			return false, err
		}
	}
	return true, nil
}

// isConcurrentChange reports whether a call failed because another program changed the file or its
// folder, rather than because of a full or broken disk.
func isConcurrentChange(err error) bool {
	return errors.Is(err, errForeign) || errors.Is(err, fs.ErrExist) || safedir.IsMissing(err)
}

// rollBack durably puts back every Pre that it can, newest first.
func (tx *transaction) rollBack(ctx context.Context, items []fileOp) (change.Outcome, error) {
	out := change.Outcome{State: change.Aborted}
	if err := tx.restage(ctx, items); err != nil {
		return out, err
	}
	for _, op := range slices.Backward(items) {
		mixed, err := tx.revertOne(op)
		if errors.Is(err, errForeign) {
			err = tx.addConflict(&out, op, mixed)
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return out, fmt.Errorf("putting back %s: %w", op.what(), err)
		}
	}
	slices.Reverse(out.Conflicts)
	err := tx.barrier(items)
	out.Kept = tx.keptPaths()
	return out, err
}

// revertOne puts Pre in place. The error is errForeign if another program wrote the record; mixed reports whether that
// program overwrote mend's Post.
func (tx *transaction) revertOne(op fileOp) (mixed bool, err error) {
	if op.isFolder() {
		return false, tx.revertFolder(op)
	}
	target, staged, err := tx.readState(op)
	switch {
	case err != nil, target == preContent:
		return false, err
	case target == otherContent:
		return staged != postContent, errForeign
	case staged == postContent: // another program made the same change; after a crash it may have removed what came out
		return tx.settling && op.Post == nil, errForeign
	}
	if staged != otherContent {
		return true, tx.exchange(op, change.Op{Pre: op.Post, Post: op.Pre})
	}
	d, err := tx.parent(op)
	if err != nil {
		return false, err
	}
	defer d.Close()
	return false, tx.revertExchange(d, op, *op.Op)
}

func (tx *transaction) revertFolder(op fileOp) error {
	if op.Post == nil {
		if err := tx.makeFolder(op, op.Pre); !isConcurrentChange(err) {
			return err
		}
		return nil // another program removed its parent
	}
	if tx.stageDir != nil && !tx.lost {
		if e, err := tx.stageDir.Stat(op.staged); err != nil || e.Exists {
			return err // the folder existed before, or was never made
		}
	}
	return tx.removeFolder(op)
}

func (tx *transaction) addConflict(out *change.Outcome, op fileOp, mixed bool) error {
	if mixed {
		out.State = change.Conflicted
	}
	e, why, err := tx.readTarget(op, change.MaxText)
	if err != nil {
		return err
	}
	out.Conflicts = append(out.Conflicts, op.conflict(&e, why))
	return nil
}

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
			err = tx.opt.Step("restage " + op.what())
		}
		if err == nil {
			err = tx.stageDir.Move(op.staged+stage.Unfinished, tx.stageDir, op.staged)
		}
	}
	return err
}

// restageOne is restage for one record, and reports whether it wrote a file, which is still unfinished.
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
	if target != postContent || staged != noContent {
		return false, nil
	}
	if err := tx.makeStageAgain(); err != nil || op.Pre == nil {
		return false, err
	}
	unfinished := op.staged + stage.Unfinished
	if err := tx.own.Remove(tx.stageDir, unfinished); err != nil {
		return false, err
	}
	f, err := tx.stageFile(op, unfinished, op.Pre)
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
