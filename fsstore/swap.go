package fsstore

import (
	"errors"
	"fmt"
	"io/fs"

	"mend/change"
	"mend/internal/safedir"
)

// errForeign says that another program wrote a record at the same time. What it
// wrote is where it put it.
var errForeign = errors.New("changed by another program")

// swap puts what the slot holds in place of the target, and what came out into
// the slot. o is the item's op or its inverse: the slot holds o.Post, and o.Pre
// must come out. If anything else does it is put back at once, and the error is
// errForeign.
//
// A crash here leaves one of the rows of [job.state], since each call exchanges
// two names or does nothing. So does an error, after which only a look tells
// whether the call took effect.
func (j *job) swap(it item, o change.Op) error {
	d, err := j.parent(it)
	if err != nil {
		return err
	}
	defer d.Close()
	err = j.rename(d, it, o)
	if errors.Is(err, errors.ErrUnsupported) {
		return j.replace(d, it, o)
	}
	if err != nil {
		return err
	}
	out, err := j.stage.Read(&j.buf, it.slot, it.limit())
	if err != nil {
		return err
	}
	if matches(&out, o.Pre) {
		return nil
	}
	return j.unswap(d, it, o)
}

// replace is an exchange where the file system has none: what must come out is
// compared before it is overwritten, and nothing comes out. The slot is gone
// then, which is a row of [job.state], too.
//
// What the slot holds is durable since Prepare, so this rename is all that is
// left to do of what renameio does; the folder's sync comes with the barrier.
func (j *job) replace(d *safedir.Dir, it item, o change.Op) error {
	now, err := d.Read(&j.buf, it.name, it.limit())
	if err != nil {
		return err
	}
	if !matches(&now, o.Pre) {
		return errForeign
	}
	if err := j.stepItem("replace", it); err != nil {
		return err
	}
	return j.stage.Replace(it.slot, d, it.name)
}

// rename is the one call that changes a record.
func (j *job) rename(d *safedir.Dir, it item, o change.Op) error {
	verb, call := "exchange", func() error { return d.Exchange(it.name, j.stage, it.slot) }
	switch {
	case o.Pre == nil:
		verb, call = "place", func() error { return j.stage.Move(it.slot, d, it.name) }
	case o.Post == nil:
		verb, call = "take", func() error { return d.Move(it.name, j.stage, it.slot) }
	}
	if err := j.stepItem(verb, it); err != nil {
		return err
	}
	return call()
}

// unswap gives another program's bytes back their place. If it wrote once more
// meanwhile, its newest bytes get the place, the older ones stay in the slot, and
// the error is not errForeign.
func (j *job) unswap(d *safedir.Dir, it item, o change.Op) error {
	if err := j.rename(d, it, change.Op{Pre: o.Post, Post: o.Pre}); err != nil {
		return err
	}
	out, err := j.stage.Read(&j.buf, it.slot, it.limit())
	if err != nil {
		return err
	}
	if matches(&out, o.Post) {
		return errForeign
	}
	return errors.Join(errors.New("changed by another program, twice"), j.rename(d, it, o))
}

// probe exchanges two files of ours, to tell before anything begins if the file
// system cannot: then what another program writes at the same time is less safe.
func (j *job) probe() error {
	for _, name := range probes() {
		if err := j.step("probe"); err != nil {
			return err
		}
		f, err := j.stage.Create(name, 0o600)
		if err != nil {
			return err
		}
		f.Close()
	}
	if err := j.step("probe"); err != nil {
		return err
	}
	err := j.stage.Exchange(probes()[0], j.stage, probes()[1])
	switch {
	case err == nil:
	case errors.Is(err, errors.ErrUnsupported):
		j.note(fmt.Sprintf("the file system of %s cannot exchange two files: what another program writes to a record "+
			"in the moment in which it is replaced can be lost, so let no agent work in the session meanwhile", j.id.Root))
	default:
		return err
	}
	for _, name := range probes() {
		if err := j.remove(j.stage, name); err != nil {
			return err
		}
	}
	return nil
}

// note reports something to the user.
func (s *Store) note(text string) {
	if s.opt.Note != nil {
		s.opt.Note(text)
	}
}

func probes() [2]string { return [2]string{"probe-1", "probe-2"} }

func isProbe(name string) bool { return name == probes()[0] || name == probes()[1] }

// makeFolder puts a folder in place. Where one is already it stays, and so does
// the slot, which tells that the folder is not ours.
func (j *job) makeFolder(it item, image *change.Image) error {
	d, err := j.parent(it)
	if err != nil {
		return err
	}
	defer d.Close()
	if t, err := d.Stat(it.name); err != nil || t.Exists {
		return err
	}
	if err := j.needStage(); err != nil {
		return err
	}
	source := it.slot
	if slot, err := j.stage.Stat(source); err != nil {
		return err
	} else if !slot.Exists {
		source += unfinished
		if err := errors.Join(j.remove(j.stage, source), j.writeFolder(it, source, image)); err != nil {
			return err
		}
	}
	if err := j.stepItem("make", it); err != nil {
		return err
	}
	err = j.stage.Move(source, d, it.name)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// removeFolder removes a folder if it is empty. That it is not, or is gone, is
// nobody's fault.
func (j *job) removeFolder(it item) error {
	d, err := j.parent(it)
	var strange *safedir.NotFolderError
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &strange) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	_, err = j.rmdir(d, it.name)
	return err
}
