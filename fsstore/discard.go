package fsstore

import (
	"context"
	"errors"
	"fmt"
	"path"

	"mend/change"
	"mend/internal/safedir"
)

// Discard removes what Prepare left: the slots that hold a Pre or a Post of st,
// and then the folders that are empty. With the zero Staged it removes what is
// left of any change of this owner; all of them must be decided. It looks at each
// slot just before it removes it: one that another program wrote into, through a
// descriptor it had, is moved to where it is kept, and reported by the Note of the
// options. One that cannot be read, or is no file, stays where it is.
func (s *Store) Discard(ctx context.Context, st change.Staged) error {
	if st.Dir == "" {
		return s.cleanOwner()
	}
	tx, err := s.resume(st)
	if err != nil {
		return fmt.Errorf("removing staged files: %w", err)
	}
	defer tx.close()
	if err := tx.discard(ctx); err != nil {
		return fmt.Errorf("removing staged files: %w", err)
	}
	return nil
}

// cleanOwner sweeps the folder of the owner. Where nothing can be written there
// is nothing to sweep.
func (s *Store) cleanOwner() error {
	if safedir.CanWrite() != nil || s.opt.Owner == "" {
		return nil
	}
	tx, err := s.begin(nil)
	if err != nil {
		return fmt.Errorf("removing staged files: %w", err)
	}
	defer tx.close()
	if err := tx.cleanUp(); err != nil {
		return fmt.Errorf("removing staged files: %w", err)
	}
	return nil
}

func (tx *transaction) discard(ctx context.Context) error {
	if tx.stageDir == nil {
		return tx.removeEmptyDirs(path.Dir(tx.stagePath))
	}
	names, err := tx.stageDir.Names(nil)
	if err != nil {
		return err
	}
	there := make(map[string]bool, len(names))
	for _, name := range names {
		there[name] = true
	}
	written := make([]bool, len(tx.ops))
	err = forEach(len(tx.ops), func(b *safedir.Buffer, i int) error {
		op, err := tx.ops[i], ctx.Err()
		if err == nil && there[op.staged] {
			written[i], err = tx.discardStaged(b, op)
		}
		if name := op.staged + unfinished; err == nil && there[name] {
			err = tx.remove(tx.stageDir, name)
		}
		return err
	})
	kept, kerr := tx.keepWritten(written)
	tx.noteKept(kept)
	if err = errors.Join(err, kerr); err != nil {
		return err
	}
	return tx.removeEmptyDirs(tx.stageDir.Path)
}

// discardStaged removes a slot that is ours, and reports whether another program wrote
// into it.
func (tx *transaction) discardStaged(b *safedir.Buffer, op fileOp) (written bool, err error) {
	e, err := tx.stageDir.Read(b, op.staged, op.limit())
	switch {
	case err != nil:
		tx.note(fmt.Sprintf("whether another program wrote into a file that was just replaced is not known: %v; the file stays there", err))
		return false, err
	case e.IsDir() && op.isFolder(), e.IsFile() && (matches(&e, op.Pre) || matches(&e, op.Post)):
		return false, tx.removeEntry(tx.stageDir, op.staged, &e)
	}
	return e.IsFile(), nil
}
