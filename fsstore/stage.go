package fsstore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"mend/change"
	"mend/internal/atomicfile"
	"mend/internal/safedir"
	"mend/internal/stage"
)

// stageAll writes the staged files into a folder with the name of an unfinished one, and renames it when everything
// in it is durable.
func (tx *transaction) stageAll(ctx context.Context) error {
	p, err := tx.own.MakeStage(stage.Unfinished)
	tx.setStage(p)
	if err != nil {
		return err
	}
	owner, err := tx.root.Sub(path.Dir(p))
	if err != nil {
		return err
	}
	defer owner.Close()
	name := path.Base(p)
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
	if err := tx.opt.Step("finish " + p); err != nil {
		return err
	}
	return owner.Move(name+stage.Unfinished, owner, name)
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

// again ends the name of the staging folder that Settle makes if the first one is lost. If a staged file is missing
// there, that proves nothing.
const again = ".again"

// stagedName returns the name of the staged file of op number i: the number, and the hashes of the
// contents that the file may hold. So a leftover file is recognised by its content alone.
func stagedName(i int, o change.Op) string {
	if o.Ref.Kind == change.KindFolder {
		return fmt.Sprintf("%d-folder", i)
	}
	return fmt.Sprintf("%d-%s-%s", i, hashOrNone(o.Post), hashOrNone(o.Pre))
}

func hashOrNone(i *change.Image) string {
	if i == nil {
		return "none"
	}
	return hash(i.Data)
}

func hash(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// stagedHashes returns the hashes in the name of a staged file; ok is false for any other
// name.
func stagedHashes(name string) (hashes []string, ok bool) {
	f := strings.Split(name, "-")
	if len(f) == 2 {
		return nil, isNumber(f[0]) && f[1] == "folder"
	}
	return f[1:], len(f) == 3 && isNumber(f[0]) && isHash(f[1]) && isHash(f[2])
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func isHash(s string) bool {
	return s == "none" || len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}

// stageFile makes a staged file with the content of the image, under the given name. It returns the
// open file, for the barrier; nil for a folder.
func (tx *transaction) stageFile(op fileOp, name string, i *change.Image) (*os.File, error) {
	file := stage.File{What: op.what(), Data: i.Data, Mode: i.Mode, Mtime: cmp.Or(i.Time, op.newTime)}
	if os.Geteuid() == 0 {
		var err error
		if file.Owner, err = tx.ownerOf(op); err != nil {
			return nil, err
		}
	}
	if !op.isFolder() {
		return tx.own.Write(tx.stageDir, name, file)
	}
	if err := tx.opt.Step("stage " + file.What); err != nil {
		return nil, err
	}
	if err := tx.stageDir.Mkdir(name); err != nil {
		return nil, err
	}
	d, err := tx.stageDir.Sub(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return nil, tx.own.SetRights(d.File(), file)
}

// ownerOf returns the owner of the target; if it does not exist, the owner of its nearest existing
// parent folder.
func (tx *transaction) ownerOf(op fileOp) (safedir.Owner, error) {
	if d, err := tx.parent(op); err == nil {
		defer d.Close()
		if e, err := d.Stat(op.name()); err == nil && e.Exists {
			return e.Owner, nil
		}
	}
	e, err := tx.nearestDir(op.dir())
	return e.Owner, err
}
