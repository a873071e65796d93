package sqlstore

import (
	"context"
	"fmt"

	"mend/change"
)

// Prepare checks that every row holds its Pre, that the parents of the Posts exist or are in the plan, that no row
// loses its parent, that the free list and the pages on the path to the written rows are sound, and that the database
// is writable. It changes and stages nothing: the Staged contains the ops.
//
// The error is a [*change.ConflictError] if a row holds something else, wraps [change.ErrInvalid] for ops that no
// database can take, [ErrUnusable] or [change.ErrLocked], or is an error of the system.
func (s *Store) Prepare(ctx context.Context, p change.Plan) (change.Staged, error) {
	st := change.Staged{Store: s.id, Ops: p.Ops, AllowMissingParent: p.AllowMissingParent}
	changes, err := s.changesOf(st)
	if err != nil {
		return change.Staged{}, err
	}
	if err = s.check(ctx, changes); err == nil {
		err = s.CheckWritable()
	}
	if err != nil {
		return change.Staged{}, fmt.Errorf("preparing a change of %s: %w", s.id.Root, err)
	}
	return st, nil
}

func (s *Store) check(ctx context.Context, changes *rowChanges) error {
	return s.checkedView(ctx, func(c *Conn) error {
		if err := s.opt.Check(c); err != nil {
			return err
		}
		if err := c.comparePre(changes); err != nil {
			return err
		}
		if err := c.checkTables(changes); err != nil {
			return err
		}
		if err := c.checkPaths(s.id.Root, changes); err != nil {
			return err
		}
		return c.checkForeignKeys(changes.checkedRows(), changes)
	})
}

// Discard does nothing, because Prepare stages nothing.
func (s *Store) Discard(context.Context, change.Staged) error { return nil }
