package fsstore

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"mend/internal/atomicfile"
	"mend/internal/safedir"
)

// stageAll writes the slots: first into a folder whose name says that nothing in
// it was ever exchanged, which gets its own name when all of it is durable.
func (j *job) stageAll(ctx context.Context) error {
	owner, err := j.mkdirs(mendDir + "/" + j.opt.Owner)
	if err != nil {
		return err
	}
	defer owner.Close()
	name, err := j.number(owner)
	if err != nil {
		return err
	}
	if j.stage, err = owner.Sub(name + unfinished); err != nil {
		return err
	}
	if err := j.probe(); err != nil {
		return err
	}
	b := j.newBarrier()
	err = j.fill(ctx, b)
	if err == nil && !b.LogsRenames() { // else the files' names are durable with them
		err = j.addAll(b, []string{j.stage.Path, owner.Path, mendDir, "."})
	}
	if err != nil {
		return errors.Join(err, b.Wait())
	}
	if err := j.wait(b); err != nil {
		return err
	}
	if err := j.step("finish " + j.stageDir); err != nil {
		return err
	}
	return owner.Move(name+unfinished, owner, name)
}

// number makes an unfinished staging folder with the first number that is free,
// and names the slots.
func (j *job) number(owner *safedir.Dir) (string, error) {
	for n := 1; ; n++ {
		name := strconv.Itoa(n)
		taken, err := owner.Stat(name)
		if err != nil {
			return "", err
		}
		if taken.Exists {
			continue
		}
		j.name(owner.Path + "/" + name)
		made, err := j.mkdir(owner, name+unfinished)
		if made || err != nil {
			return name, err
		}
	}
}

// fill writes every Post into its slot.
func (j *job) fill(ctx context.Context, b *atomicfile.Barrier) error {
	var mu sync.Mutex
	return j.share(len(j.items), func(_ *safedir.Buffer, i int) error {
		it, err := j.items[i], ctx.Err()
		if err != nil || it.op.Post == nil {
			return err
		}
		f, err := j.write(it, it.slot, it.op.Post)
		if f != nil {
			mu.Lock()
			defer mu.Unlock()
			b.Add(f)
		}
		return err
	})
}
