// Package undo turns entries of the journal into the plan that reverts them,
// and tells where a store no longer holds what they left. It does no I/O: the
// caller brings the entries' ops and what the records hold now.
package undo

import (
	"errors"
	"fmt"
	"slices"

	"mend/change"
	"mend/session"
)

// Revert is the ops that take back what the lists of ops did, applied in the
// order given. The error is a [*change.ConflictError] if somebody else changed a
// record between two of them; the ops come all the same, for an undo by force.
func Revert(lists ...[]change.Op) ([]change.Op, error) {
	ops, err := change.Compose(lists...)
	return change.Inverse(ops), err
}

// ErrNoSuchRecord says that a record is not one that the repair touched.
var ErrNoSuchRecord = errors.New("this repair has no such record")

// Select keeps the ops on the records that are named, each by its ref as it is
// printed ([session.Ref.String]) or by its own id, and the folders that they
// need. The error wraps [ErrNoSuchRecord] and names the first one that no op is about.
func Select(ops []change.Op, names []string) ([]change.Op, error) {
	var kept []change.Op
	for _, name := range names {
		i := slices.IndexFunc(ops, func(o change.Op) bool { return named(o.Ref, name) })
		if i < 0 {
			return nil, fmt.Errorf("%w: %q", ErrNoSuchRecord, name)
		}
		for _, o := range ops {
			if named(o.Ref, name) || o.Ref.Kind == session.KindFolder && o.Ref.Message == ops[i].Ref.Message {
				kept = append(kept, o)
			}
		}
	}
	slices.SortStableFunc(kept, func(a, b change.Op) int {
		return slices.IndexFunc(ops, same(a)) - slices.IndexFunc(ops, same(b))
	})
	return slices.CompactFunc(kept, func(a, b change.Op) bool { return a.Ref == b.Ref }), nil
}

func same(a change.Op) func(change.Op) bool {
	return func(b change.Op) bool { return a.Ref == b.Ref }
}

func named(r session.Ref, name string) bool {
	return r.Kind != session.KindFolder && (r.String() == name || r.ID() == name)
}

// Conflicts lists the records that keep ops from being applied: those that do
// not hold their Pre, with what they hold (now[i] belongs to ops[i]); those whose
// parent is gone; and those to be deleted that have got children meanwhile.
// current is the session as it is stored, nil if it is gone; where [NeedsSession]
// says that it does not count it may be nil, too.
func Conflicts(ops []change.Op, now []*change.Image, current *session.Session) []change.Conflict {
	var cs []change.Conflict
	for i, o := range ops {
		if o.Ref.Kind == session.KindFolder {
			continue // made where it is needed, removed where it is empty
		}
		why := differs(o, now[i])
		if why == "" && !now[i].Equal(o.Post) {
			why = kinship(o, ops, current)
		}
		if why != "" {
			// The op takes back what a repair wrote: its Post was before the repair.
			cs = append(cs, change.Conflict{Ref: o.Ref, Pre: o.Post, Post: o.Pre, Now: now[i], Why: why})
		}
	}
	return cs
}

// NeedsSession reports whether [Conflicts] looks at the session for the ops: where
// records come or go, and not where they only change.
func NeedsSession(ops []change.Op) bool {
	return slices.ContainsFunc(ops, func(o change.Op) bool { return o.Pre == nil || o.Post == nil })
}

func differs(o change.Op, now *change.Image) string {
	switch {
	case now.Equal(o.Pre), now.Equal(o.Post): // the latter has nothing left to do
		return ""
	case now == nil:
		return "deleted since"
	case o.Pre == nil:
		return "created again since"
	}
	return "changed since"
}

// kinship says what is wrong with the record above or below the op's.
func kinship(o change.Op, ops []change.Op, current *session.Session) string {
	switch {
	case o.Pre == nil && current == nil && o.Ref.Kind != session.KindSession && !creates(ops, session.KindSession, ""):
		return "its session is gone"
	case o.Pre == nil && o.Ref.Kind == session.KindPart && !has(current, o.Ref.Message) && !creates(ops, session.KindMessage, o.Ref.Message):
		return "its message is gone"
	case o.Post == nil && o.Ref.Kind == session.KindMessage && hasForeignParts(current, o.Ref.Message, ops):
		return "it has got parts since"
	}
	return ""
}

func creates(ops []change.Op, k session.Kind, message string) bool {
	return slices.ContainsFunc(ops, func(o change.Op) bool {
		return o.Ref.Kind == k && o.Ref.Message == message && o.Post != nil
	})
}

func has(s *session.Session, message string) bool {
	return s != nil && slices.ContainsFunc(s.Messages, func(m session.Message) bool { return m.Ref.Message == message })
}

func hasForeignParts(s *session.Session, message string, ops []change.Op) bool {
	if s == nil {
		return false
	}
	for i := range s.Messages {
		if s.Messages[i].Ref.Message != message {
			continue
		}
		return slices.ContainsFunc(s.Messages[i].Parts, func(p session.Part) bool {
			return !slices.ContainsFunc(ops, func(o change.Op) bool { return o.Ref == p.Ref && o.Post == nil })
		})
	}
	return false
}

// Rebase is ops with each Pre replaced by what the record holds now, so that
// they apply to the store as it is and the journal keeps the present bytes. Ops
// that have nothing left to do are dropped.
func Rebase(ops []change.Op, now []*change.Image) []change.Op {
	rebased := make([]change.Op, 0, len(ops))
	for i, o := range ops {
		if o.Ref.Kind != session.KindFolder {
			o.Pre = now[i]
		}
		if !o.Pre.Equal(o.Post) {
			rebased = append(rebased, o)
		}
	}
	change.Sort(rebased)
	return rebased
}
