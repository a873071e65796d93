package linestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mend/change"
	"mend/internal/stage"
)

// Prepare checks that every record holds its op's Pre. For a replacement it durably stages the new transcript; an
// append needs no staging. The Staged has one more op if the first new line needs a newline before it.
//
// No transcript changes, and after an error nothing stays staged. A crash leaves a staging folder, which the next
// Prepare of the same owner removes.
//
// The error is or wraps a [*change.ConflictError]; [change.ErrInvalid] if the layout has no path for an op;
// [change.ErrInUse] if the transcript must be replaced and a process uses it; a [*change.LinkedError] if the transcript
// cannot be changed, or the change could not be undone.
func (s *Store) Prepare(ctx context.Context, p change.Plan) (st change.Staged, err error) {
	defer stage.Describe(&err, "preparing a change of "+s.id.Root)
	if err := cmp.Or(stage.CheckOwner(s.opt.Owner), change.Validate(p.Ops)); err != nil {
		return st, err
	}
	tx, err := s.begin(p.Ops)
	if err != nil {
		return st, err
	}
	defer tx.close()
	tx.reverts, tx.force = p.Reverts, p.Force
	if err := errors.Join(ctx.Err(), tx.own.Clean(p.Undecided, isStage, tx.removeStage)); err != nil {
		return st, err
	}
	e, err := tx.readTarget()
	if err != nil {
		return st, err
	}
	t, conflicts := tx.conflicts(&e)
	if len(conflicts) > 0 {
		return st, &change.ConflictError{Conflicts: conflicts}
	}
	if why, err := tx.root.WriteProblem(tx.path); err != nil {
		return st, err
	} else if why != "" {
		ref := tx.ops[0].Ref
		ref.Kind = change.KindSession
		return st, &change.LinkedError{Ref: ref, Why: why}
	}
	use := s.opt.InUse(tx.path)
	appendOnly := use != "" && p.Force
	plan, bad, why := tx.edit(t, appendOnly)
	if bad != nil {
		return st, &change.ConflictError{Conflicts: []change.Conflict{tx.conflict(bad, t.image(bad), why)}}
	}
	st.Store = s.id
	mtime := e.Mtime
	if plan.replaces() {
		if p.Fresh {
			e.Mtime = time.Now().UnixNano()
		}
		for _, op := range tx.ops {
			if op.Post != nil && op.Post.Time != 0 {
				e.Mtime = op.Post.Time
			}
		}
		if use != "" && !p.Force {
			return st, fmt.Errorf("%w: %s", change.ErrInUse, use)
		}
		if st.Dir, err = tx.stage(t.data, plan.apply(t.data, true), e); err != nil {
			return st, err
		}
	} else {
		st.Append = &change.AppendPoint{Size: e.Size, Mtime: e.Mtime}
		st.Dir = fmt.Sprintf("%s/%s%d-%d", tx.own.OwnerDir(), appendPrefix, e.Size, e.Mtime)
	}
	if appendOnly && slices.ContainsFunc(tx.ops, func(op lineOp) bool { return op.Pre != nil && op.Post != nil && t.isPostPrevious(&op) }) {
		tx.opt.Note("a process uses the transcript, so the old lines are appended again: the transcript does not get its old bytes back")
	}
	tx.addNewline(plan)
	for _, op := range tx.ops {
		if op.Pre != nil && e.Mtime != mtime {
			pre := *op.Pre
			pre.Time, op.Pre = mtime, &pre
		}
		st.Ops = append(st.Ops, op.Op)
	}
	return st, nil
}

// addNewline adds the missing op for the newline that begins the block, or removes the op if no newline begins it.
func (tx *transaction) addNewline(e edit) {
	if e.beginsWithNewline() == tx.hasNewline() {
		return
	}
	if !e.beginsWithNewline() {
		tx.ops = slices.DeleteFunc(tx.ops, func(op lineOp) bool { return op.newline != "" && op.Post != nil })
		return
	}
	for _, op := range tx.ops {
		if op.newline != "" || op.Post == nil {
			continue
		}
		ref := op.Ref
		ref.Kind, ref.Part = change.KindPart, newlinePart+lineHash(op.Post.Data)
		o := change.Op{Ref: ref, Post: &change.Image{Data: []byte("\n"), Mode: Mode}}
		tx.ops = append(tx.ops, lineOp{Op: o, key: op.key, newline: lineHash(op.Post.Data)})
		return
	}
}

// appendPrefix begins the name of the folder of an append, which Prepare does not make. Size and time follow, so that two
// pending appends have different folders.
const appendPrefix = "append-"
