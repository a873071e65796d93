package fsstore

import (
	"context"
	"errors"
	"strconv"

	"mend/internal/atomicfile"
	"mend/internal/safedir"
	"mend/internal/stage"
)

// stageAll writes the staged files into a folder with the name of an unfinished one, and renames it when everything
// in it is durable.
func (tx *transaction) stageAll(ctx context.Context) error {
	owner, err := tx.own.Make(tx.own.OwnerDir())
	if err != nil {
		return err
	}
	defer owner.Close()
	name, err := tx.makeStage(owner)
	if err != nil {
		return err
	}
	if tx.stageDir, err = owner.Sub(name + stage.Unfinished); err != nil {
		return err
	}
	b := new(atomicfile.Barrier)
	if err := tx.writeStaged(ctx, b); err != nil {
		return errors.Join(err, b.Wait())
	}
	if err := tx.own.Sync(b, tx.stageDir.Path, owner.Path, stage.Dir, "."); err != nil {
		return err
	}
	if err := tx.step("finish " + tx.stagePath); err != nil {
		return err
	}
	return owner.Move(name+stage.Unfinished, owner, name)
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
		made, err := tx.own.MakeIn(owner, name+stage.Unfinished)
		if made || err != nil {
			return name, err
		}
	}
}

// writeStaged writes every Post into its staged file.
func (tx *transaction) writeStaged(ctx context.Context, b *atomicfile.Barrier) error {
	for _, op := range tx.ops {
		if err := ctx.Err(); err != nil {
			return err
		}
		if op.Post == nil {
			continue
		}
		f, err := tx.stageFile(op, op.staged, op.Post)
		if err != nil {
			return err
		}
		if f != nil {
			b.Add(f)
		}
	}
	return nil
}
