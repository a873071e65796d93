package undo

import (
	"context"
	"fmt"

	"mend/change"
)

// A Journal reads the ops of entries, as [journal.Journal] does.
type Journal interface {
	Ops(e change.Entry) ([]change.Op, error)
}

// A Reader reads records, as a store does.
type Reader interface {
	Read(ctx context.Context, refs []change.Ref) ([]*change.Image, error)
}

// Propose returns the plan that reverts an entry, rebased on the current content of the store's records. The error is a
// [*change.ConflictError] if a record changed after the entry, or if its parent no longer exists. A plan without ops
// has nothing to revert: each record already has its content from before the entry.
func Propose(ctx context.Context, j Journal, st Reader, e change.Entry) (change.Plan, error) {
	p := change.Plan{
		Session: e.Session, Reverts: []*change.AppendPoint{e.Append},
		Cause: change.Cause{Kind: change.CauseUndo, Entries: []uint64{e.Seq}},
	}
	if e.State != change.Committed {
		return p, fmt.Errorf("undoing %s: it is %s, not %s", e.ID, e.State, change.Committed)
	}
	done, err := j.Ops(e)
	if err != nil {
		return p, fmt.Errorf("undoing %s: %w", e.ID, err)
	}
	ops := change.Inverse(done)
	refs := make([]change.Ref, len(ops))
	for i, o := range ops {
		refs[i] = o.Ref
	}
	now, err := st.Read(ctx, refs)
	if err != nil {
		return p, fmt.Errorf("undoing %s: %w", e.ID, err)
	}
	parents, err := readParents(ctx, st, ops)
	if err != nil {
		return p, fmt.Errorf("undoing %s: %w", e.ID, err)
	}
	if cs := Conflicts(ops, now, parents); len(cs) > 0 {
		return p, &change.ConflictError{Conflicts: cs}
	}
	p.Ops = Rebase(ops, now)
	return p, nil
}

// readParents returns the existing messages to which ops add parts.
func readParents(ctx context.Context, st Reader, ops []change.Op) ([]change.Ref, error) {
	existing := []change.Ref{}
	seen := map[change.Ref]bool{}
	for _, o := range ops {
		ref := change.Ref{Kind: change.KindMessage, Session: o.Ref.Session, Message: o.Ref.Message}
		if o.Ref.Kind != change.KindPart || o.Pre != nil || seen[ref] {
			continue
		}
		seen[ref] = true
		now, err := st.Read(ctx, []change.Ref{ref})
		if err != nil {
			return nil, err
		}
		if now[0] != nil {
			existing = append(existing, ref)
		}
	}
	return existing, nil
}
