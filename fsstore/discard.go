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
		return s.discardAll()
	}
	j, err := s.resume(st)
	if err != nil {
		return fmt.Errorf("removing staged files: %w", err)
	}
	defer j.close()
	if err := j.discard(ctx); err != nil {
		return fmt.Errorf("removing staged files: %w", err)
	}
	return nil
}

// discardAll sweeps the folder of the owner. Where nothing can be written there
// is nothing to sweep.
func (s *Store) discardAll() error {
	if safedir.CanWrite() != nil || s.opt.Owner == "" {
		return nil
	}
	j, err := s.job(nil)
	if err != nil {
		return fmt.Errorf("removing staged files: %w", err)
	}
	defer j.close()
	if err := j.sweep(); err != nil {
		return fmt.Errorf("removing staged files: %w", err)
	}
	return nil
}

func (j *job) discard(ctx context.Context) error {
	if j.stage == nil {
		return j.rmdirs(path.Dir(j.stageDir))
	}
	names, err := j.stage.Names(nil)
	if err != nil {
		return err
	}
	there := make(map[string]bool, len(names))
	for _, name := range names {
		there[name] = true
	}
	written := make([]bool, len(j.items))
	err = j.share(len(j.items), func(b *safedir.Buffer, i int) error {
		it, err := j.items[i], ctx.Err()
		if err == nil && there[it.slot] {
			written[i], err = j.discardSlot(b, it)
		}
		if name := it.slot + unfinished; err == nil && there[name] {
			err = j.remove(j.stage, name)
		}
		return err
	})
	kept, kerr := j.keepWritten(written)
	j.noteKept(kept)
	if err = errors.Join(err, kerr); err != nil {
		return err
	}
	return j.rmdirs(j.stage.Path)
}

// discardSlot removes a slot that is ours, and reports whether another program wrote
// into it.
func (j *job) discardSlot(b *safedir.Buffer, it item) (written bool, err error) {
	t, err := j.stage.Read(b, it.slot, it.limit())
	switch {
	case err != nil:
		j.note(fmt.Sprintf("whether another program wrote into a file that was just replaced is not known: %v; the file stays there", err))
		return false, err
	case t.IsDir() && it.isFolder(), t.IsFile() && (matches(&t, it.op.Pre) || matches(&t, it.op.Post)):
		return false, j.removeThing(j.stage, it.slot, &t)
	}
	return t.IsFile(), nil
}
