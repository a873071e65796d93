package mend

import (
	"context"
	"errors"
	"slices"

	"mend/change"
	"mend/journal"
	"mend/repair"
)

// Related has the entries that changed one of an entry's records earlier (Follows) and later (Again), the nearest
// first, at most maxRelated each.
type Related struct{ Follows, Again []change.Entry }

const maxRelated = 100

// Related returns the related entries of each entry, by its id. Aborted entries changed nothing.
func (l *Journal) Related(es []change.Entry) (map[string]Related, error) {
	q := journal.Query{Sessions: map[string]bool{}}
	for _, e := range es {
		q.Sessions[e.Session] = true
		if slices.ContainsFunc(e.Ops, func(op change.OpInfo) bool { return op.Ref.Kind == change.KindProject }) {
			q = journal.Query{} // sessions share the record of a project
			break
		}
	}
	all, damage := l.Log(q)
	if damage != nil && !errors.Is(damage, journal.ErrDamaged) {
		return nil, damage
	}
	wanted := map[string]bool{}
	for _, e := range es {
		wanted[e.ID] = true
	}
	related := map[string]Related{}
	for id, again := range earlierChanges(all, wanted) { // the list is newest first, so earlier in it means newer
		related[id] = Related{Again: again}
	}
	slices.Reverse(all)
	for id, follows := range earlierChanges(all, wanted) {
		related[id] = Related{Follows: follows, Again: related[id].Again}
	}
	return related, nil
}

// earlierChanges returns, for each wanted entry, the entries earlier in the list that changed one of its records, the
// nearest first.
func earlierChanges(all []change.Entry, wanted map[string]bool) map[string][]change.Entry {
	type record struct {
		store change.StoreID
		ref   change.Ref
	}
	touched := map[record][]int{} // the indices of the last entries
	found := map[string][]change.Entry{}
	for i, e := range all {
		if e.State == change.Aborted {
			continue
		}
		var before []int
		for _, op := range e.Ops {
			at := record{change.StoreID{Kind: e.Store.Kind, Root: e.Store.Root}, op.Ref}
			last := touched[at]
			if wanted[e.ID] {
				before = append(before, last...)
			}
			touched[at] = append(last[max(0, len(last)-maxRelated+1):len(last):len(last)], i)
		}
		slices.Sort(before)
		before = slices.Compact(before)
		for _, n := range slices.Backward(before[max(0, len(before)-maxRelated):]) {
			other := all[n]
			other.Ops = nil // not needed
			found[e.ID] = append(found[e.ID], other)
		}
	}
	return found
}

// An Effect compares an entry with the current records of the store, and with a repetition of its change.
type Effect struct {
	Holds   int    `json:"holds"`         // the number of records with the content after the entry
	Before  int    `json:"before"`        // with the content before it
	Other   int    `json:"other"`         // with another content
	Changes *int   `json:"changes"`       // the number of the entry's records that a repetition would change; null if it could not be planned
	Why     string `json:"why,omitempty"` // the reason if it could not be planned
}

// Effect compares the records of an entry of this store with their current content, and plans the same change
// again. It only reads.
func (c *Store) Effect(ctx context.Context, e change.Entry) (x Effect, err error) {
	refs := make([]change.Ref, len(e.Ops))
	for i, op := range e.Ops {
		refs[i] = op.Ref
	}
	now, err := c.store.Read(ctx, refs)
	if err != nil {
		return x, err
	}
	for i, op := range e.Ops {
		switch digest := change.DigestOf(now[i]); {
		case op.Post.Equal(digest) || op.Ref.Kind.Derived() || op.Ref.Kind == change.KindFolder && (op.Post == nil) == (digest == nil):
			x.Holds++
		case op.Pre.Equal(digest):
			x.Before++
		default:
			x.Other++
		}
	}
	ops, err := c.planAgain(ctx, e)
	switch {
	case errors.Is(err, errors.ErrUnsupported): // this kind of change cannot be planned again
	case err != nil && !errors.Is(err, ErrNothingToDo):
		x.Why = err.Error()
	default:
		x.Changes = new(len(ops))
	}
	return x, nil
}

func (c *Store) planAgain(ctx context.Context, e change.Entry) ([]change.Op, error) {
	switch e.Cause.Kind {
	case change.CauseUndo:
		if len(e.Cause.Entries) != 1 || e.Cause.Partial {
			return nil, errors.ErrUnsupported
		}
		p, err := c.ProposeUndo(ctx, UndoRequest{IDs: []string{journal.IDOf(e.Cause.Entries[0])}})
		return p.Ops, err
	case change.CauseScan, change.CauseError:
		r := repair.Request{Force: true}
		for _, f := range e.Cause.Findings {
			r.Classes = append(r.Classes, repair.Class(f.Class))
		}
		if e.Cause.Kind == change.CauseError {
			failure := c.ParseAPIError([]byte(e.Cause.Text))
			r.Error, r.Classes = &failure, nil
		} else if len(r.Classes) == 0 {
			return nil, errors.ErrUnsupported // entries of earlier versions do not contain their findings
		}
		head, err := c.Session(ctx, e.Session)
		if err != nil {
			return nil, err
		}
		result, err := c.ProposeRepair(ctx, head, r)
		return slices.DeleteFunc(result.Plan.Ops, func(op change.Op) bool { // other records may have the same finding
			return !slices.ContainsFunc(e.Ops, func(own change.OpInfo) bool { return own.Ref == op.Ref })
		}), err
	default:
		return nil, errors.ErrUnsupported
	}
}
