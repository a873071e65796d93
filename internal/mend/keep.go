package mend

import (
	"context"
	"errors"

	"mend/change"
	"mend/internal/keep"
)

// Kept runs f with the copies of sessions open, which are in the folder of the journal.
func (l *Journal) Kept(o keep.Options, f func(*keep.Keep) error) error {
	dir, err := l.Folder()
	if err != nil {
		return err
	}
	k, err := keep.Open(dir, o)
	if err != nil {
		return err
	}
	return errors.Join(f(k), k.Close())
}

// Keep stores a copy of a session of [Store.Sessions] in k, unless the latest one has all that it has now.
// why says what the copy is made for. The error wraps [errors.ErrUnsupported] if such a session has no copy of
// its own, as a subagent's that is in the copy of its owner.
func (c *Store) Keep(ctx context.Context, k *keep.Keep, head change.Head, why string) (keep.Saved, error) {
	copied, err := c.store.Copy(ctx, head)
	if err != nil {
		return keep.Saved{}, err
	}
	s := keep.State{
		Agent: c.agent, Store: c.ID(), Session: head.ID, Ref: head.Ref, Title: head.Title, Folder: head.Directory, Updated: head.Updated,
		Why: why, Messages: copied.Messages, First: copied.First, Unread: copied.Unread, Stamp: copied.Stamp.Sum,
	}
	return k.Save(ctx, s, func(yield func(*change.Record) bool) {
		for i := range copied.Records {
			if !yield(&copied.Records[i]) {
				return
			}
		}
	})
}
