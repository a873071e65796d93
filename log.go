package mend

import (
	"context"
	"errors"
	"time"

	"mend/change"
	"mend/journal"
)

// What follows needs the journal alone, and works where no store is found.

// read runs f with the journal open for reading: an empty one where there is
// none yet.
func (o Options) read(f func(*journal.Journal) error) error {
	return o.with(journal.Options{ReadOnly: true}, f)
}

// write runs f with the journal open for writing.
func (o Options) write(f func(*journal.Journal) error) error {
	end := func() {}
	defer func() { end() }() // once the journal is closed
	return o.with(journal.Options{Version: o.Version, Now: o.Now}, func(j *journal.Journal) error {
		if o.Writing != nil {
			end = o.Writing()
		}
		return f(j)
	})
}

func (o Options) with(jo journal.Options, f func(*journal.Journal) error) error {
	dir, err := o.JournalDir()
	if err != nil {
		return err
	}
	j, err := journal.Open(dir, jo)
	if err != nil {
		return err
	}
	return errors.Join(f(j), j.Close())
}

// Log lists entries, the newest first. A query without a store asks for those of
// every store.
func (o Options) Log(q journal.Query) (es []change.Entry, err error) {
	err = o.read(func(j *journal.Journal) error {
		es, err = j.List(q)
		return err
	})
	return es, err
}

// Show is one entry, by its id or the beginning of it, with its ops. Where the
// images are gone the ops are nil and the error is nil too: the entry says so.
func (o Options) Show(id string) (e change.Entry, ops []change.Op, err error) {
	err = o.read(func(j *journal.Journal) error {
		if e, err = j.Get(id); err != nil {
			return err
		}
		if ops, err = j.Ops(e); errors.Is(err, journal.ErrForgotten) {
			return nil
		}
		return err
	})
	return e, ops, err
}

// Verify checks the whole journal. With a head that an earlier call returned it
// also tells whether what came before that head is still all there.
func (o Options) Verify(head string) (r journal.Report, err error) {
	err = o.read(func(j *journal.Journal) error {
		if head != "" {
			r, err = j.VerifyHead(head)
		} else {
			r, err = j.Verify()
		}
		return err
	})
	return r, err
}

// GC drops the images of entries that began before t, but for those that are
// pending or in conflict. The entries stay; they can no longer be undone.
func (o Options) GC(ctx context.Context, t time.Time) (freed journal.Freed, err error) {
	err = o.write(func(j *journal.Journal) error {
		freed, err = j.GC(ctx, t)
		return err
	})
	return freed, err
}

// Forget makes the bytes of the entries leave the journal's file. That they were
// stays known; what they held does not.
func (o Options) Forget(ctx context.Context, es []change.Entry) (freed journal.Freed, err error) {
	err = o.write(func(j *journal.Journal) error {
		freed, err = j.Forget(ctx, es)
		return err
	})
	return freed, err
}
