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
// from which the store was moved or renamed. A store that was moved is known by its inode, by a record that
// holds what the entry says, or by what is kept beside it for the entry, and by the fact that it is not at the
// former path any more. So a copy is another store while the original is in its place.
func (c *Store) Owns(ctx context.Context, e change.Entry) bool {
	owns, _ := c.owns(ctx, e)
	return owns
}

// owns is Owns. If that is false, likely reports whether every record is as the entry left it, or as it was before,
// and the store of the entry is gone: as in many a store, if the entry removed all that it was about.
func (c *Store) owns(ctx context.Context, e change.Entry) (owns, likely bool) {
	own := c.store.ID()
	if e.Store.Same(own) || e.Store.Kind != own.Kind {
		return e.Store.Kind == own.Kind, false
	}
	known, same, all := c.knows(ctx, e)
	if same && known {
		return true, false
	}
	at := (known || all) && c.opt.isAt(ctx, e)
	return known && !at, all && !at
}

// knows reports whether the store has something that shows that an entry is about it, whether it has the inode of the
// entry's store, and whether all records of the entry are as before it or after it.
func (c *Store) knows(ctx context.Context, e change.Entry) (known, same, all bool) {
	own := c.store.ID()
	some, all := c.holds(ctx, e)
	// which has another file since
	same = e.Store.Ino != 0 && e.Store.Dev == own.Dev && e.Store.Ino == own.Ino && e.Kind() != change.KindDatabase
	kept := c.store.KeptFiles("")
	return some || kept != nil && slices.ContainsFunc(e.Ops, kept.Keeps) || same && (all || c.has(ctx, e.Session)), same,
		all
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
// that has the session or shows otherwise that the entry is about it, or one that cannot be read.
func (o Options) isAt(ctx context.Context, e change.Entry) bool {
	o.Store, o.Layout, o.Note = e.Store.Root, "", nil
	c, err := Open(o)
	if err != nil {
		return errors.Is(err, fs.ErrPermission) || !errors.Is(err, ErrNoStore) && !errors.Is(err, fs.ErrNotExist)
	}
	known, _, _ := c.knows(ctx, e)
	return c.store.ID().Same(e.Store) && (known || c.has(ctx, e.Session))
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
