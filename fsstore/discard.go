package fsstore

import (
	"context"
	"errors"
	"fmt"
	"path"

	"mend/change"
	"mend/internal/stage"
)

// Discard removes the files that Prepare left: the staged files that hold a Pre or a Post of st,
// and then the empty folders. With the zero Staged it removes the staged files of all changes of
// this owner; all of them must be decided.
//
// It reads each staged file just before it removes it. It moves a file that another program wrote into, through an
// earlier descriptor, to the kept files, and reports it to Note. A file that cannot be read stays in place.
func (s *Store) Discard(ctx context.Context, st change.Staged) error {
	if st.Dir == "" && s.opt.Owner == "" {
		return nil
	}
	if err := s.discard(ctx, st); err != nil {
		return fmt.Errorf("removing staged files: %w", err)
	}
	return nil
}

func (s *Store) discard(ctx context.Context, st change.Staged) error {
	if st.Dir == "" {
		tx, err := s.begin(nil)
		if err != nil {
			return err
		}
		defer tx.close()
		return tx.cleanUp(nil)
	}
	tx, err := s.resume(st)
	if err != nil {
		return err
	}
	defer tx.close()
	return tx.discard(ctx)
}

func (tx *transaction) discard(ctx context.Context) error {
	if tx.stageDir == nil {
		return tx.own.RemoveEmpty(path.Dir(tx.stagePath))
	}
	names, err := tx.stageDir.Names()
	if err != nil {
		return err
	}
	existing := make(map[string]bool, len(names))
	for _, name := range names {
		existing[name] = true
	}
	written := make([]bool, len(tx.ops))
	for i, op := range tx.ops {
		if err = ctx.Err(); err == nil && existing[op.staged] {
			written[i], err = tx.discardStaged(op)
		}
		if name := op.staged + stage.Unfinished; err == nil && existing[name] {
			err = tx.own.Remove(tx.stageDir, name)
		}
		if err != nil {
			break
		}
	}
	kept, kerr := tx.keepWritten(written)
	tx.noteKept(kept)
	if err = errors.Join(err, kerr); err != nil {
		return err
	}
	return tx.own.RemoveEmpty(tx.stageDir.Path)
}

// discardStaged removes one of mend's staged files, and reports whether another program wrote into
// it.
func (tx *transaction) discardStaged(op fileOp) (written bool, err error) {
	e, err := tx.stageDir.Read(&tx.buf, op.staged, op.limit())
	switch {
	case err != nil:
		tx.note(fmt.Sprintf("it is unknown whether another program wrote into a file that was just replaced: %v; the file is not removed", err))
		return false, err
	case e.IsDir() && op.isFolder():
		_, err := tx.own.RemoveDir(tx.stageDir, op.staged)
		return false, err
	case e.IsFile() && (matches(&e, op.Pre) || matches(&e, op.Post)):
		return false, tx.own.Unlink(tx.stageDir, op.staged)
	}
	return e.IsFile(), nil
}
