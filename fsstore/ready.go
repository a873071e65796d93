package fsstore

import (
	"context"
	"errors"

	"mend/change"
	"mend/internal/atomicfile"
)

// ready makes the slots hold what shall be put in place of the targets that hold
// from: what is missing is written anew, durably, into new files. Bytes of
// another program that are in the way are kept.
//
// A crash here leaves unfinished files, which the next Settle writes once more,
// or slots that are ready. No record changes.
func (j *job) ready(ctx context.Context, items []item, from holding) error {
	b := j.newBarrier()
	var fresh []item
	var err error
	for _, it := range items {
		wrote, rerr := j.restage(b, it, from)
		if err = errors.Join(rerr, ctx.Err()); err != nil {
			break
		}
		if wrote {
			fresh = append(fresh, it)
		}
	}
	if len(fresh) == 0 {
		return errors.Join(err, b.Wait())
	}
	err = errors.Join(err, j.wait(b))
	for _, it := range fresh {
		if err == nil {
			err = j.stepItem("restage", it)
		}
		if err == nil {
			err = j.stage.Move(it.slot+unfinished, j.stage, it.slot)
		}
	}
	return err
}

// restage is ready for one record, and reports whether it wrote a file.
func (j *job) restage(b *atomicfile.Barrier, it item, from holding) (wrote bool, err error) {
	if it.isFolder() {
		return false, nil
	}
	target, slot, err := j.state(it)
	if err != nil {
		return false, err
	}
	// What comes out of an exchange stays in the slot, until backward has put it
	// back; what stands in any other slot is in the way.
	if slot == holdsOther && (target != holdsPost || it.op.Pre == nil) {
		if _, err := j.keep(it); err != nil {
			return false, err
		}
		slot = holdsNothing
	}
	want, done := it.op.Post, slot == holdsPost
	if from == holdsPost {
		want, done = it.op.Pre, slot != holdsNothing
	}
	if target != from {
		want, done = nil, target != holdsPre || slot != holdsNothing // but a torn slot goes
	}
	if done {
		return false, nil
	}
	return j.rewrite(b, it, want)
}

// rewrite makes the slot hold the image, or nothing for nil, in place of bytes
// that are known. It reports whether it wrote a file, which is unfinished yet.
func (j *job) rewrite(b *atomicfile.Barrier, it item, want *change.Image) (wrote bool, err error) {
	if err := j.needStage(); err != nil {
		return false, err
	}
	for _, name := range []string{it.slot, it.slot + unfinished} {
		if err := j.remove(j.stage, name); err != nil {
			return false, err
		}
	}
	if want == nil {
		return false, nil
	}
	f, err := j.write(it, it.slot+unfinished, want)
	if err == nil {
		b.Add(f)
	}
	return err == nil, err
}

// needStage makes a staging folder where the first one is lost.
func (j *job) needStage() error {
	if j.stage != nil {
		return nil
	}
	var err error
	j.lost = true
	j.stage, err = j.mkdirs(j.stageDir + again)
	return err
}
