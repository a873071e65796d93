package mend

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"mend/change"
	"mend/journal"
)

// Owns reports whether an entry is about this store: it was made at this path, or at an earlier path of the store. A
// moved store has the same inode, a record with the content in the entry, or files kept for the entry, and no store
// is at the former path. So a copy is another store while the original exists.
func (c *Store) Owns(ctx context.Context, e change.Entry) bool {
	owns, _ := c.owns(ctx, e)
	return owns
}

// owns is [Store.Owns]. If owns is false, likely reports whether the entry's store is missing and every record here has
// its content from before or after the entry. If the entry removed all its records, several stores can be likely.
func (c *Store) owns(ctx context.Context, e change.Entry) (owns, likely bool) {
	own := c.store.ID()
	if e.Store.Same(own) || e.Store.Kind != own.Kind {
		return e.Store.Kind == own.Kind, false
	}
	known, same, all := c.recognize(ctx, e)
	if same && known {
		return true, false
	}
	at := (known || all) && c.opt.isStoreAtPath(ctx, e)
	return known && !at, all && !at
}

// recognize reports whether the store has traces of an entry, whether it has the inode of the entry's store, and
// whether all records of the entry have their content from before or after it.
func (c *Store) recognize(ctx context.Context, e change.Entry) (known, same, all bool) {
	own := c.store.ID()
	some, all := c.compareRecords(ctx, e)
	// a change of a whole database has replaced the file
	same = e.Store.Ino != 0 && e.Store.Dev == own.Dev && e.Store.Ino == own.Ino && e.Kind() != change.KindDatabase
	kept := c.store.KeptFiles("")
	return some || kept != nil && slices.ContainsFunc(e.Ops, kept.Keeps) || same && (all || c.has(ctx, e.Session)), same,
		all
}

// compareRecords reports whether some, and whether all, records of the entry have their content from before or after
// it.
func (c *Store) compareRecords(ctx context.Context, e change.Entry) (some, all bool) {
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
		same := d.Equal(o.Pre) || d.Equal(o.Post)
		some, all = some || same && d != nil, all && same
	}
	return some, all
}

func (c *Store) has(ctx context.Context, id string) bool {
	_, err := c.Session(ctx, id)
	return err == nil
}

// isStoreAtPath reports whether the store of an entry is still at the entry's path: a store there has the session,
// shows in another way that the entry is about it, or cannot be read.
func (o Options) isStoreAtPath(ctx context.Context, e change.Entry) bool {
	o.Store, o.Layout, o.Note = e.Store.Root, "", nil
	c, err := Open(o)
	if err != nil {
		return errors.Is(err, fs.ErrPermission) || !errors.Is(err, ErrNoStore) && !errors.Is(err, fs.ErrNotExist)
	}
	known, _, _ := c.recognize(ctx, e)
	return c.store.ID().Same(e.Store) && (known || c.has(ctx, e.Session))
}

// OwnedEntries returns the entries that are about this store.
func (c *Store) OwnedEntries(ctx context.Context, es []change.Entry) []change.Entry {
	return slices.DeleteFunc(slices.Clone(es), func(e change.Entry) bool { return !c.Owns(ctx, e) })
}

// Log lists entries that are about this store, newest first.
func (c *Store) Log(ctx context.Context, q journal.Query) ([]change.Entry, error) {
	es, err := c.journal.Log(q)
	return c.OwnedEntries(ctx, es), err
}
