package fsstore

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"mend/internal/atomicfile"
	"mend/internal/safedir"
)

// stageAll writes the staged files into a folder whose name says that it is unfinished,
// and renames the folder when all of it is durable.
func (tx *transaction) stageAll(ctx context.Context) error {
	owner, err := tx.makeOwnDirs(mendDir + "/" + tx.opt.Owner)
	if err != nil {
		return err
	}
	defer owner.Close()
	name, err := tx.makeStage(owner)
	if err != nil {
		return err
	}
	if tx.stageDir, err = owner.Sub(name + unfinished); err != nil {
		return err
	}
	if err := tx.testExchange(); err != nil {
		return err
	}
	b := tx.newBarrier()
	err = tx.writeStaged(ctx, b)
	if err == nil && !b.LogsRenames() { // otherwise the names are durable with the files
		err = tx.addDirs(b, []string{tx.stageDir.Path, owner.Path, mendDir, "."})
	}
	if err != nil {
		return errors.Join(err, b.Wait())
	}
	if err := tx.waitFor(b); err != nil {
		return err
	}
	if err := tx.step("finish " + tx.stagePath); err != nil {
		return err
	}
	return owner.Move(name+unfinished, owner, name)
}

// makeStage makes an unfinished staging folder with the first free number, and sets the
// names of the staged files.
func (tx *transaction) makeStage(owner *safedir.Dir) (string, error) {
	for n := 1; ; n++ {
		name := strconv.Itoa(n)
		taken, err := owner.Stat(name)
		if err != nil {
			return "", err
		}
		if taken.Exists {
			continue
		}
		tx.setStage(owner.Path + "/" + name)
		made, err := tx.makeOwnDir(owner, name+unfinished)
		if made || err != nil {
			return name, err
		}
	}
}

// writeStaged writes every Post into its staged file.
func (tx *transaction) writeStaged(ctx context.Context, b *atomicfile.Barrier) error {
	var mu sync.Mutex
	return forEach(len(tx.ops), func(_ *safedir.Buffer, i int) error {
		op, err := tx.ops[i], ctx.Err()
		if err != nil || op.Post == nil {
			return err
		}
		f, err := tx.stageFile(op, op.staged, op.Post)
		if f != nil {
			mu.Lock()
			defer mu.Unlock()
			b.Add(f)
		}
		return err
	})
}
