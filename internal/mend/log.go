package mend

import (
	"context"
	"errors"
	"io"
	"os"
	"os/user"
	"time"

	"mend/change"
	"mend/journal"
)

// The functions below need only the journal, and work without a store.

// read runs f with the journal open for reading, an empty one if there is none yet. It may run f
// several times if the options say Unlocked.
func (o Options) read(f func(*journal.Journal) error) error {
	jo := journal.Options{ReadOnly: true, Context: o.Context, Unlocked: o.Unlocked}
	for range unlockedReads {
		moved := false
		err := o.withJournal(jo, func(j *journal.Journal) error {
			err := f(j)
			moved = j.Moved()
			return err
		})
		if !moved && (!jo.Unlocked || !errors.Is(err, journal.ErrDamaged)) {
			return err
		}
	}
	jo.Unlocked = false // a writer is busy: wait for it, and report what is wrong
	return o.withJournal(jo, f)
}

// unlockedReads is how often a journal is read beside a writer, until it did not change meanwhile.
const unlockedReads = 3

// write runs f with the journal open for writing.
func (o Options) write(f func(*journal.Journal) error) error {
	end := func() {}
	defer func() { end() }() // after the journal is closed
	return o.withJournal(journal.Options{Version: o.Version, Actor: o.actor(), Now: o.Now}, func(j *journal.Journal) error {
		if o.Writing != nil {
			end = o.Writing()
		}
		return f(j)
	})
}

// actor returns who writes to the journal.
func (o Options) actor() *change.Actor {
	a := o.Actor
	a.UID, a.PID = os.Getuid(), os.Getpid()
	a.Host, _ = os.Hostname()
	if u, err := user.Current(); err == nil {
		a.User = u.Username
	}
	return &a
}

// withJournal runs f with the journal open.
func (o Options) withJournal(jo journal.Options, f func(*journal.Journal) error) error {
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

// Log lists entries, newest first. A query without a store lists those of all stores.
func (o Options) Log(q journal.Query) (es []change.Entry, err error) {
	err = o.read(func(j *journal.Journal) error {
		es, err = j.List(q)
		return err
	})
	return es, err
}

// Show returns the entry with that id, or whose id begins with it, and its ops. If its
// images were removed the ops are nil and the error is nil: the entry is Forgotten.
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

// Verify checks the whole journal. With the head that an earlier call returned, it also
// checks that the events up to that head are still there.
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

// GC removes the images of entries that began before t, except pending and conflicted
// ones. The entries stay and can no longer be undone.
func (o Options) GC(ctx context.Context, t time.Time) (freed journal.Freed, err error) {
	err = o.write(func(j *journal.Journal) error {
		freed, err = j.GC(ctx, t)
		return err
	})
	return freed, err
}

// Forget removes the images and texts of the entries from the journal's file. The entries
// stay.
func (o Options) Forget(ctx context.Context, es []change.Entry) (freed journal.Freed, err error) {
	err = o.write(func(j *journal.Journal) error {
		freed, err = j.Forget(ctx, es)
		return err
	})
	return freed, err
}

// Export writes the whole journal to w as JSON Lines, see [journal.Journal.Export].
func (o Options) Export(ctx context.Context, w io.Writer, withBytes bool) (r journal.Report, err error) {
	err = o.read(func(j *journal.Journal) error {
		r, err = j.Export(ctx, w, withBytes)
		return err
	})
	return r, err
}
