package mend

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mend/agent"
	"mend/change"
	"mend/internal/fail"
)

// An otherStore is another store of the agent, with its sessions that this store lacks.
type otherStore struct {
	store  *Store
	heads  []change.Head
	unread error // see [Store.checkListed]

	promptsOnly bool // see [agent.OtherStore]
}

// OtherStores lists the other stores of the agent that cannot be read, or that have sessions missing from heads,
// the sessions of this store.
func (c *Store) OtherStores(ctx context.Context, heads []change.Head) ([]agent.OtherStore, error) {
	have := make(map[string]bool, len(heads))
	for _, h := range heads {
		have[h.ID] = true
	}
	return c.store.OtherStores(ctx, have)
}

// elsewhere returns the sessions in other stores of the agent that are not among heads, the sessions of this
// store. With an error it returns the sessions that can be read.
func (c *Store) elsewhere(ctx context.Context, heads []change.Head) (all []otherStore, err error) {
	found, err := c.OtherStores(ctx, heads)
	errs := []error{err}
	for _, b := range found {
		err := b.Err
		if err == nil {
			var one otherStore
			if one, err = c.openOther(ctx, b.Path, func(id string) bool { return !b.Sessions[id] }); err == nil {
				one.promptsOnly = b.PromptsOnly
				all, err = append(all, one), one.unread
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("looking for sessions in %s: %w", b.Path, err))
		}
	}
	return all, errors.Join(errs...)
}

// openAt opens another store of the agent.
func (c *Store) openAt(path string) (*Store, error) {
	o := c.opt
	o.Store, o.Layout = path, ""
	o.Agents = slices.DeleteFunc(slices.Clone(o.Agents), func(a agent.Agent) bool { return a.Name() != c.agent })
	return Open(o)
}

// CheckOther returns an error if a path is not a store of the agent.
func (c *Store) CheckOther(path string) error {
	_, err := c.openAt(path)
	return err
}

// openOther opens another store of the agent and lists its sessions, except those with an id that have
// accepts.
func (c *Store) openOther(ctx context.Context, path string, have func(id string) bool) (otherStore, error) {
	other, err := c.openAt(path)
	if err != nil {
		return otherStore{}, err
	}
	heads, err := other.Sessions(ctx)
	unread := other.checkListed(heads)
	missed := slices.DeleteFunc(slices.Clone(heads), func(h change.Head) bool { return h.ID == "" || have(h.ID) })
	return otherStore{store: other, heads: missed, unread: unread}, err
}

// ListMissing lists the sessions of another store of the agent that this one lacks. unread is not nil if the
// list may be incomplete, see [Store.checkListed].
func (c *Store) ListMissing(ctx context.Context, path string) (missing []change.Head, unread, err error) {
	heads, err := c.Sessions(ctx)
	if err != nil {
		return nil, nil, err
	}
	known := map[string]bool{}
	for _, h := range heads {
		known[h.ID] = true
	}
	b, err := c.openOther(ctx, path, func(id string) bool { return known[id] })
	return b.heads, b.unread, err
}

// restoreElsewhere plans to create a session from another store of the agent, and returns false if none has
// it.
func (c *Store) restoreElsewhere(
	ctx context.Context, done Restored, r RestoreRequest, seen *uint64,
) (Restored, bool, error) {
	var beside []otherStore
	if r.From != "" {
		other, err := c.openAt(r.From)
		if err != nil {
			return done, false, err
		}
		head := done.Session // if Gone is set, the head is from that store's list
		if !r.Gone {
			head, err = other.Session(ctx, head.ID)
		}
		if err != nil && !errors.Is(err, ErrNoSession) {
			return done, false, err
		}
		if err == nil {
			beside = append(beside, otherStore{store: other, heads: []change.Head{head}})
		}
	} else {
		heads, err := c.Sessions(ctx)
		if err != nil {
			return done, false, err
		}
		beside, _ = c.elsewhere(ctx, heads) // an unreadable store has been reported
	}
	for _, b := range beside {
		i := slices.IndexFunc(b.heads, func(h change.Head) bool { return h.ID == done.Session.ID })
		if i < 0 {
			continue
		}
		head := b.heads[i]
		done.Session = head
		copied, err := b.store.store.Copy(ctx, head)
		if err != nil {
			return done, false, err
		}
		ops, err := c.store.Adopt(ctx, &copied)
		if err != nil {
			return done, false, err
		}
		if done.Unread = copied.UnreadText(); done.Unread != "" && !r.Force {
			return done, false, fail.New(fail.Problems,
				"make that readable and run the command again; --force brings back the rest", "restoring session %s: not all of "+
					"it can be read: %s", head.ID, done.Unread)
		}
		if done.State, done.Other = Elsewhere, b.store.ID().Root; copied.PromptsOnly {
			done.State = PromptsOnly
		}
		done, err = c.restoreOps(ctx, done, ops, nil, r, seen,
			change.Cause{Kind: change.CauseRestore, Text: done.Other, Title: head.Title, Folder: head.Directory})
		return done, true, err
	}
	return done, false, nil
}
