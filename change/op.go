package change

import (
	"errors"
	"fmt"
	"slices"
)

// An Op replaces the content of one record: Pre becomes Post. A nil image means that the record does not exist.
type Op struct {
	Ref       Ref
	Pre, Post *Image
}

// Verb returns what the op does in one word: create, delete or change.
func (o Op) Verb() string {
	switch {
	case o.Pre == nil:
		return "create"
	case o.Post == nil:
		return "delete"
	}
	return "change"
}

// Inverse returns the ops that revert ops: each with Pre and Post swapped, in reverse order.
func Inverse(ops []Op) []Op {
	inv := make([]Op, len(ops))
	for i, o := range ops {
		inv[len(ops)-1-i] = Op{Ref: o.Ref, Pre: o.Post, Post: o.Pre}
	}
	return inv
}

// Compose merges lists of ops that were applied one after another: for each record it returns one
// op with the Pre of the first and the Post of the last, or no op if these are equal. If a later
// Pre is not the earlier Post, another program changed the record in between. Compose then returns
// the list and a [*ConflictError] with all such records.
func Compose(lists ...[]Op) ([]Op, error) {
	var merged []Op
	var gaps []Conflict
	at := map[Ref]int{}
	for _, ops := range lists {
		for _, o := range ops {
			i, ok := at[o.Ref]
			if !ok {
				at[o.Ref] = len(merged)
				merged = append(merged, o)
				continue
			}
			if o.Ref.Kind != KindFolder && !o.Ref.Kind.Derived() && !merged[i].Post.Equal(o.Pre) {
				gaps = append(gaps, Conflict{Ref: o.Ref, Pre: merged[i].Pre, Post: merged[i].Post, Now: o.Pre, Why: "changed between two repairs"})
			}
			merged[i].Post = o.Post
		}
	}
	merged = slices.DeleteFunc(merged, func(o Op) bool { return o.Pre.Equal(o.Post) })
	Sort(merged)
	if len(gaps) > 0 {
		return merged, &ConflictError{Conflicts: gaps}
	}
	return merged, nil
}

// Sort orders ops so that a store can apply them: first creations and replacements from the top
// down (folder, session, message, part), then deletions from the bottom up. The sort is stable.
func Sort(ops []Op) {
	slices.SortStableFunc(ops, func(a, b Op) int { return rank(a) - rank(b) })
}

// rank returns the position of an op in the order of Sort.
func rank(o Op) int {
	level := int(o.Ref.Kind)
	if o.Ref.Kind == KindFolder {
		level = 0
	}
	if o.Post == nil {
		return 100 - level
	}
	return level
}

// ErrInvalid means that no store can ever apply the plan.
var ErrInvalid = errors.New("plan is not valid")

// Validate returns an error that wraps [ErrInvalid] if the ops cannot be applied, recovered
// or reverted: no ops, an invalid ref, two ops on one record, an op that changes nothing.
func Validate(ops []Op) error {
	if len(ops) == 0 {
		return fmt.Errorf("%w: it has no ops", ErrInvalid)
	}
	seen := make(map[Ref]bool, len(ops))
	for _, o := range ops {
		if err := o.Ref.Validate(); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		if seen[o.Ref] {
			return fmt.Errorf("%w: two ops on %s", ErrInvalid, o.Ref)
		}
		seen[o.Ref] = true
		if o.Pre.Equal(o.Post) {
			return fmt.Errorf("%w: the op on %s changes nothing", ErrInvalid, o.Ref)
		}
	}
	return nil
}
