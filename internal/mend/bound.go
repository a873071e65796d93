package mend

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"mend/change"
	"mend/internal/request"
	"mend/repair"
)

// spoiledThinking returns how a plan that restores an earlier state affects bound thinking; nil if it has no effect or
// the effect is unknown. valid is the number of blocks that become valid again, because the plan reverts the changes
// that spoiled them. Thinking with a signature in kept is valid, too.
func (c *Store) spoiledThinking(ctx context.Context, p change.Plan, valid int, kept []change.Op) *change.BoundThinking {
	isChange := func(o change.Op) bool {
		k := o.Ref.Kind
		return k == change.KindMessage || k == change.KindPart || k == change.KindSession && o.Pre != nil && o.Post != nil
	}
	isRemoval := func(o change.Op) bool { return o.Ref.Kind == change.KindSession && o.Post == nil }
	isCreation := func(o change.Op) bool { return o.Ref.Kind == change.KindSession && o.Pre == nil }
	if !slices.ContainsFunc(p.Ops, isChange) || slices.ContainsFunc(p.Ops, isRemoval) && !slices.ContainsFunc(p.Ops, isCreation) {
		return nil // a removed session has no next request; a moved one is removed and created
	}
	head, found, err := c.find(ctx, p.Session)
	if err != nil || !found {
		return nil
	}
	r := repair.Request{Options: c.repairOptions(), Force: true}
	r.Version = cmp.Or(r.Version, head.Version) // if the sessions were not listed
	before, err := c.store.Case(ctx, head, r)
	if err != nil {
		return nil
	}
	if q, _ := before.Current(); q.Whole().Bound == request.Unbound {
		return nil
	}
	r.Changes = p.Ops
	after, err := c.store.Case(ctx, head, r)
	if err != nil {
		return nil
	}
	spoiled := slices.DeleteFunc(repair.SpoiledThinking(before, after), func(b *request.Block) bool {
		return b.Signature != "" && slices.ContainsFunc(kept, func(o change.Op) bool {
			return o.Post != nil && bytes.Contains(o.Post.Data, []byte(b.Signature))
		})
	})
	n := len(spoiled) - valid
	if n <= 0 {
		return nil
	}
	q, _ := after.Current()
	return &change.BoundThinking{Spoiled: n, Refused: q.Whole().Bound == request.Refused}
}

// countSpoiled returns how many thinking blocks the changes spoiled without removing them.
func countSpoiled(es []change.Entry) (n int) {
	for _, e := range es {
		if b := e.Cause.Bound; b != nil && !b.Removed {
			n += b.Spoiled
		}
	}
	return n
}
