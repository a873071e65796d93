package mend

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"mend/change"
	"mend/journal"
)

// Owns reports whether an entry is about this store: it was made at its path, or at another one
// from which the store was moved or renamed. A store that was moved is known by its inode or by a
// record that holds what the entry says, and by the fact that there is no such store at the former
// path any more. So a copy is another store while the original is in its place.
func (c *Store) Owns(ctx context.Context, e change.Entry) bool {
	own := c.store.ID()
	if e.Store.Same(own) || e.Store.Kind != own.Kind {
		return e.Store.Kind == own.Kind
	}
	some, all := c.holds(ctx, e)
	if e.Store.Ino != 0 && e.Store.Dev == own.Dev && e.Store.Ino == own.Ino {
		return some || all || c.has(ctx, e.Session)
	}
	return some && !c.opt.isAt(ctx, e)
}

// holds reports whether some record of the entry holds what it held before or after, and whether
// all do.
func (c *Store) holds(ctx context.Context, e change.Entry) (some, all bool) {
	ops := make([]change.Op, len(e.Ops))
	for i, o := range e.Ops {
		ops[i].Ref = o.Ref
	}
	now, err := c.read(ctx, ops)
	if err != nil {
		return false, false
	}
	all = true
	for i, o := range e.Ops {
		d := change.DigestOf(now[i])
		fits := d.Equal(o.Pre) || d.Equal(o.Post)
		some, all = some || fits && d != nil, all && fits
	}
	return some, all
}

func (c *Store) has(ctx context.Context, id string) bool {
	_, err := c.Session(ctx, id)
	return err == nil
}

// isAt reports whether the store of an entry is still where the entry was made: there is a store
// that has the session, or one that cannot be read.
func (o Options) isAt(ctx context.Context, e change.Entry) bool {
	o.Store, o.Layout, o.Note = e.Store.Root, "", nil
	c, err := Open(o)
	if err != nil {
		return errors.Is(err, fs.ErrPermission) || !errors.Is(err, ErrNoStore) && !errors.Is(err, fs.ErrNotExist)
	}
	return c.store.ID().Same(e.Store) && c.has(ctx, e.Session)
}

// Owned returns those of the entries that are about this store.
func (c *Store) Owned(ctx context.Context, es []change.Entry) []change.Entry {
	return slices.DeleteFunc(slices.Clone(es), func(e change.Entry) bool { return !c.Owns(ctx, e) })
}

// Log lists entries that are about this store, newest first.
func (c *Store) Log(ctx context.Context, q journal.Query) ([]change.Entry, error) {
	es, err := c.journal.Log(q)
	return c.Owned(ctx, es), err
}
