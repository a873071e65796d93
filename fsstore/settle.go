package fsstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"mend/change"
	"mend/internal/safedir"
)

// Settle decides what became of st by what its records and slots hold, as the
// table at [job.state] says: forward if no other program wrote there, else back.
// It works without the staging folder, too, may be called at any time and any
// number of times, and may be cut anywhere.
//
// The Outcome is Committed, Aborted, or Conflicted if another program wrote over
// a Post: that record is left alone, and every other one is put back. An error
// means still undecided.
func (s *Store) Settle(ctx context.Context, st change.Staged) (change.Outcome, error) {
	j, err := s.resume(st)
	if err != nil {
		return change.Outcome{}, fmt.Errorf("settling the change: %w", err)
	}
	defer j.close()
	out, err := j.settle(ctx)
	if err != nil {
		return change.Outcome{}, fmt.Errorf("settling the change: %w", err)
	}
	return out, nil
}

func (j *job) settle(ctx context.Context) (change.Outcome, error) {
	forward := true
	for _, it := range j.items {
		if it.isFolder() {
			continue
		}
		target, slot, err := j.state(it)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return change.Outcome{}, err
		}
		forward = forward && !foreign(it, target, slot)
	}
	if !forward {
		return j.allBack(ctx, j.items)
	}
	err := j.allForward(ctx)
	if meddled(err) { // since the look
		out, berr := j.allBack(ctx, j.items)
		if len(out.Conflicts) == 0 {
			out.Cause = err
		}
		return out, berr
	}
	if err == nil {
		err = j.barrier(j.items)
	}
	return change.Outcome{State: change.Committed, Kept: j.keptAll()}, err
}

// meddled reports whether a call failed since another program changed what it
// was about: as against a disk that is full or broken.
func meddled(err error) bool {
	var strange *safedir.NotFolderError
	return errors.Is(err, errForeign) || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) || errors.As(err, &strange)
}

// allForward puts every Post in place that is not.
func (j *job) allForward(ctx context.Context) error {
	if err := j.ready(ctx, j.items, holdsPre); err != nil {
		return err
	}
	for _, it := range j.items {
		if err := errors.Join(ctx.Err(), j.forward(it)); err != nil {
			return fmt.Errorf("%v %s: %w", it.op.Ref.Kind, it.op.Ref, err)
		}
	}
	return nil
}

func (j *job) forward(it item) error {
	if it.isFolder() {
		return j.put(it)
	}
	target, slot, err := j.state(it)
	switch {
	case err != nil:
		return err
	case foreign(it, target, slot):
		return errForeign
	case target == holdsPre:
		return j.put(it)
	}
	return nil
}

// allBack puts every Pre in place that can be, the newest first, and returns
// when that is durable.
func (j *job) allBack(ctx context.Context, items []item) (change.Outcome, error) {
	out := change.Outcome{State: change.Aborted}
	if err := j.ready(ctx, items, holdsPost); err != nil {
		return out, err
	}
	for _, it := range slices.Backward(items) {
		mixed, err := j.backward(it)
		if errors.Is(err, errForeign) {
			err = j.report(&out, it, mixed)
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return out, fmt.Errorf("putting back %v %s: %w", it.op.Ref.Kind, it.op.Ref, err)
		}
	}
	slices.Reverse(out.Conflicts)
	err := j.barrier(items)
	out.Kept = j.keptAll()
	return out, err
}

// backward puts Pre in place. The error is errForeign if another program wrote
// there; mixed then says that it wrote over our Post.
func (j *job) backward(it item) (mixed bool, err error) {
	if it.isFolder() {
		return false, j.backFolder(it)
	}
	target, slot, err := j.state(it)
	switch {
	case err != nil, target == holdsPre:
		return false, err
	case target == holdsOther, target == hasNoPlace:
		return slot != holdsPost, errForeign
	case slot == holdsPost: // it has done the same as we would have
		return false, errForeign
	}
	if slot != holdsOther {
		return true, j.swap(it, change.Op{Pre: it.op.Post, Post: it.op.Pre})
	}
	d, err := j.parent(it)
	if err != nil {
		return false, err
	}
	defer d.Close()
	return false, j.unswap(d, it, it.op)
}

func (j *job) backFolder(it item) error {
	if it.op.Post == nil {
		if err := j.makeFolder(it, it.op.Pre); !meddled(err) {
			return err
		}
		return nil // another program removed what it was in
	}
	if j.stage != nil && !j.lost {
		if t, err := j.stage.Stat(it.slot); err != nil || t.Exists {
			return err // it was there before, or never made
		}
	}
	return j.removeFolder(it)
}

// report adds the conflict about the item to the outcome.
func (j *job) report(out *change.Outcome, it item, mixed bool) error {
	if mixed {
		out.State = change.Conflicted
	}
	t, why, err := j.look(nil, it, j.opt.MaxRecord)
	if err != nil {
		return err
	}
	if why == "" {
		why = whyDiffers(it.op.Pre, &t)
	}
	c := change.Conflict{Ref: it.op.Ref, Pre: it.op.Pre, Post: it.op.Post, Now: imageOf(&t), Why: why}
	out.Conflicts = append(out.Conflicts, c)
	return nil
}
