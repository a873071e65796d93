package mend

import (
	"context"
	"errors"

	"mend/change"
	"mend/journal"
	"mend/txn"
)

// Sweep removes files beside the store that no entry of the journal needs, and returns their size in bytes: files moved
// away by forgotten entries, staged files, and files built by a killed process. It keeps moved files without an entry:
// the journal may be an older copy, and the newer one needs them.
func (c *Store) Sweep(ctx context.Context) (freed int64, err error) {
	id, err := c.journal.ID()
	if err != nil {
		return 0, err
	}
	files := c.store.KeptFiles(id)
	sweep := func(j *journal.Journal) error {
		var needed, unneeded []change.OpInfo
		for e, err := range j.Each(journal.Query{}) {
			switch {
			case err != nil:
				return err
			case !e.Kind().WholeFiles():
			case e.Forgotten, e.State == change.Aborted:
				unneeded = append(unneeded, e.Ops...)
			default:
				needed = append(needed, e.Ops...)
			}
		}
		if files == nil {
			return nil
		}
		freed, err = files.Sweep(ctx, needed, unneeded)
		return err
	}
	if id == "" {
		err = c.journal.read(sweep)
		return freed, err
	}
	err = c.withWriter("", func(j *journal.Journal, st txn.Store) error {
		pending, err := j.List(journal.Query{State: change.Pending, Limit: 1})
		if err == nil && len(pending) == 0 { // pending entries need the staged files
			err = st.Discard(ctx, change.Staged{})
		}
		return errors.Join(err, sweep(j))
	})
	return freed, err
}

// CheckKept returns an error if the entry cannot be undone because the files or rows that it moved away are
// no longer complete beside the store.
func (c *Store) CheckKept(ctx context.Context, e change.Entry) error {
	_, ops, err := c.journal.Show(e.ID)
	id, errID := c.journal.ID()
	if err = errors.Join(err, errID); err != nil {
		return err
	}
	if files := c.store.KeptFiles(id); files != nil {
		return files.CheckKept(ctx, ops)
	}
	return nil
}
