// Package undo turns the ops of journal entries into the ops that revert them, and finds the records that changed
// since. Package txn applies them. The caller passes the ops and the current images of the records.
//
// It does no I/O. It may import change. Read [Revert] and [Conflicts] first. [Propose] is both for users of the library.
package undo

import (
	"bytes"
	"fmt"
	"slices"

	"mend/change"
)

// Revert returns the ops that undo the given lists of ops, which were applied in this order. If another program
// changed a record between two of them, it also returns a [*change.ConflictError]; the ops are then for a forced
// undo.
func Revert(lists ...[]change.Op) ([]change.Op, error) {
	ops, err := change.Compose(lists...)
	return change.Inverse(ops), err
}

// Select returns the ops on the named records, and on the folders that these need. A name is a ref as
// [change.Ref.String] prints it, or the record's own id. The error is a [*NameError] with the first name that
// matches no op.
func Select(ops []change.Op, names []string) ([]change.Op, error) {
	kept := map[change.Ref]bool{}
	for _, name := range names {
		i := slices.IndexFunc(ops, func(o change.Op) bool { return matches(o.Ref, name) })
		if i < 0 {
			return nil, &NameError{name}
		}
		for _, o := range ops {
			if matches(o.Ref, name) || o.Ref.Kind == change.KindFolder && o.Ref.Message == ops[i].Ref.Message {
				kept[o.Ref] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(ops), func(o change.Op) bool { return !kept[o.Ref] }), nil
}

// A NameError means that no op changes a record of that name.
type NameError struct{ Name string }

func (e *NameError) Error() string {
	return fmt.Sprintf("this repair changed nothing with that name: %q", e.Name)
}

func matches(r change.Ref, name string) bool {
	return r.Kind != change.KindFolder && (r.String() == name || r.ID() == name)
}

// Conflicts returns the records to which ops cannot be applied: records that hold neither their Pre nor their Post,
// that lost their parent, that ops delete although other records belong to them, or that are to be moved back and are
// in neither project.
//
// now[i] is the current image of the record of ops[i]. current has the refs of all records of the stored session,
// nil if the session no longer exists. It may also be nil if [NeedsSession] reports false.
func Conflicts(ops []change.Op, now []*change.Image, current []change.Ref) []change.Conflict {
	stored := newRelations(current, ops, now)
	var cs []change.Conflict
	for i, o := range ops {
		if o.Ref.Kind == change.KindFolder || o.Ref.Kind.Derived() {
			continue // a folder is created when needed, and removed when empty
		}
		why := contentConflict(o, now[i])
		if why == "" && !now[i].Equal(o.Post) {
			why = stored.conflict(o)
		}
		if why == "" && now[i] == nil && o.Pre != nil && stored.arrivals[o.Ref.WithoutProject()] {
			why = "moved or deleted since"
		}
		if why != "" {
			// The op reverts a repair, so its Post is the content before the repair.
			cs = append(cs, change.Conflict{Ref: o.Ref, Pre: o.Post, Post: o.Pre, Now: now[i], Why: why})
		}
	}
	return cs
}

// NeedsSession reports whether [Conflicts] needs the session: ops create or delete records with parents or children,
// or records of a session that they do not create.
func NeedsSession(ops []change.Op) bool {
	whole := slices.ContainsFunc(ops, func(o change.Op) bool { return o.Ref.Kind == change.KindSession && o.Post != nil })
	return slices.ContainsFunc(ops, func(o change.Op) bool {
		switch kind := o.Ref.Kind; {
		case kind == change.KindSession, kind == change.KindProject, kind == change.KindFolder, kind.WholeFiles():
			return false
		case kind == change.KindFile:
			return o.Pre == nil && !whole
		default:
			return o.Pre == nil || o.Post == nil
		}
	})
}

// contentConflict returns why the op cannot be applied to the current image, or "".
func contentConflict(o change.Op, now *change.Image) string {
	switch {
	case now.Equal(o.Pre), now.Equal(o.Post), keepAppended(o, now) != nil: // if it equals Post, nothing is left to do
		return ""
	case now == nil:
		return "deleted since"
	case o.Pre == nil:
		return "created again after the repair"
	}
	return "changed since"
}

// keepAppended returns the result of an op on a session file to which the agent has appended lines since: the result
// keeps these lines. It returns nil if the record is not such a file, or has other content.
func keepAppended(o change.Op, now *change.Image) *change.Image {
	if o.Ref.Kind != change.KindSession || o.Pre == nil || o.Post == nil || now == nil || now.Mode != o.Pre.Mode {
		return nil
	}
	before, after := o.Pre.Data, o.Post.Data
	added, ok := bytes.CutPrefix(now.Data, before)
	switch {
	case !ok || len(added) == 0 || !bytes.HasSuffix(before, newline):
		return nil
	case len(after) > len(before) && bytes.HasPrefix(now.Data, after): // already applied
		return now
	case len(after) > 0 && !bytes.HasSuffix(after, newline):
		added = slices.Concat(newline, added)
	}
	return &change.Image{Data: slices.Concat(after, added), Mode: o.Post.Mode}
}

var newline = []byte("\n")

// Moves reports whether ops move a record to another project: such a change can be reverted only as a whole.
func Moves(ops []change.Op) bool {
	created := map[change.Ref]bool{}
	for _, o := range ops {
		if o.Pre == nil && o.Ref.Kind != change.KindProject {
			created[o.Ref.WithoutProject()] = o.Ref.Project != ""
		}
	}
	return slices.ContainsFunc(ops, func(o change.Op) bool { return o.Post == nil && created[o.Ref.WithoutProject()] })
}

// relations say which parents and children records have once ops are applied.
type relations struct {
	gone       bool            // the session does not exist, and ops do not create it
	messages   map[string]bool // stored, or written by ops
	otherParts map[string]bool // messages with parts that ops do not delete
	// arrivals has the missing records that ops create, without their project. If another program has moved such a record
	// to a third project, creating it would leave it in two.
	arrivals map[change.Ref]bool
}

func newRelations(current []change.Ref, ops []change.Op, now []*change.Image) relations {
	r := relations{current == nil, map[string]bool{}, map[string]bool{}, map[change.Ref]bool{}}
	deleted := map[change.Ref]bool{}
	for i, o := range ops {
		switch {
		case o.Post == nil:
			deleted[o.Ref] = true
		case o.Ref.Kind == change.KindSession:
			r.gone = false
		case o.Ref.Kind == change.KindMessage:
			r.messages[o.Ref.Message] = true
		}
		if o.Pre == nil && o.Post != nil && now[i] == nil {
			r.arrivals[o.Ref.WithoutProject()] = true
		}
	}
	for _, ref := range current {
		switch {
		case ref.Kind == change.KindMessage:
			r.messages[ref.Message] = true
		case ref.Kind == change.KindPart && !deleted[ref]:
			r.otherParts[ref.Message] = true
		}
	}
	return r
}

// conflict returns why the record's parent or children prevent the op, or "".
func (r relations) conflict(o change.Op) string {
	switch {
	case o.Pre == nil && r.gone && o.Ref.Kind != change.KindProject && !o.Ref.Kind.WholeFiles():
		return "its session was deleted"
	case o.Pre == nil && o.Ref.Kind == change.KindPart && !r.messages[o.Ref.Message]:
		return "its message was deleted"
	case o.Post == nil && o.Ref.Kind == change.KindMessage && r.otherParts[o.Ref.Message]:
		return "it got parts after the repair"
	}
	return ""
}

// AddColumns returns ops with rows that have all columns of the rows in now: a column that the agent has added since
// keeps its value. now[i] belongs to ops[i]. A created row gets the values in defaults, by kind; there a required
// column without a default has the class 0.
func AddColumns(ops []change.Op, now []*change.Image, defaults map[change.Kind]change.Record) []change.Op {
	ops = slices.Clone(ops)
	for i := range ops {
		o := &ops[i]
		if row, ok := defaults[o.Ref.Kind]; ok && now[i] == nil {
			o.Post = addColumns(o.Post, row)
		}
		if now[i] != nil && now[i].Mode == 0 {
			if row, err := change.RowOf(o.Ref, now[i]); err == nil {
				o.Pre, o.Post = addColumns(o.Pre, row), addColumns(o.Post, row)
			}
		}
	}
	return ops
}

// addColumns returns the image of a row with the columns it lacks. It returns the image unchanged if now lacks one
// of its columns, or if it is not a row.
func addColumns(i *change.Image, now change.Record) *change.Image {
	if i == nil {
		return nil
	}
	r, err := change.RowOf(now.Ref, i)
	names := now.Cols.Names()
	if err != nil || slices.Equal(r.Cols.Names(), names) {
		return i
	}
	for _, name := range r.Cols.Names() {
		if !slices.Contains(names, name) {
			return i
		}
	}
	cols := make([]change.Col, 0, len(names))
	for c := range now.Cols.All {
		if own, ok := r.Col(c.Name); ok {
			c = own
		}
		if c.Class != 0 {
			cols = append(cols, c)
		}
	}
	r.Cols = change.NewCols(cols...)
	return change.ImageOf(&r)
}

// Rebase returns ops with each Pre replaced by the record's current content, so that they apply to the present
// store and the journal keeps the current bytes. It omits an op if its record already holds the Post. now[i] belongs
// to ops[i].
func Rebase(ops []change.Op, now []*change.Image) []change.Op {
	rebased := make([]change.Op, 0, len(ops))
	for i, o := range ops {
		if to := keepAppended(o, now[i]); to != nil {
			o.Post = to
		}
		done := o.Post.Equal(now[i])
		if o.Ref.Kind == change.KindFolder { // its mode is not compared
			done = (o.Post == nil) == (now[i] == nil)
		} else {
			o.Pre = now[i]
		}
		if !done {
			rebased = append(rebased, o)
		}
	}
	change.Sort(rebased)
	return rebased
}
