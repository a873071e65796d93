package sessionfile

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"mend/change"
	"mend/fsstore"
	"mend/internal/aside"
	"mend/linestore"
	"mend/txn"
)

// A writer changes lines, whole files and rows. Files come first, because the agent can rebuild the index from
// them.
type writer struct {
	*Store
	lines *linestore.Store
	files *fsstore.Store
	aside aside.Writer
}

var _ txn.Store = writer{}

// Writer returns the store for the changes of a journal.
func (s *Store) Writer(journal string) (txn.Store, error) {
	lines, err := linestore.New(s.ID().Root, s.layout, linestore.Options{
		Owner: journal, Note: s.opt.Note,
		InUse: s.opt.InUse, Step: s.opt.Step,
	})
	if err != nil {
		return nil, err
	}
	files, err := fsstore.New(s.ID().Root, s.layout, fsstore.Options{Owner: journal, Note: s.opt.Note, Step: s.opt.Step})
	return writer{s, lines, files, s.wholeFiles(journal)}, err
}

// A part is the part of a change that one store makes.
type part struct {
	store txn.Store
	change.Staged
}

// split divides a change into a part for files or lines and a part for rows; each may have no ops. Ops on histories
// are in neither. A single file with new content is replaced in the same way as lines, so that lines that the agent
// appends meanwhile are kept.
func (w writer) split(st change.Staged) (files, rows part) {
	files, rows = part{w.lines, st}, part{Staged: st}
	files.Ops, rows.Ops = nil, nil
	ops := slices.DeleteFunc(slices.Clone(st.Ops), func(o change.Op) bool { return isHistory(o.Ref) })
	if len(ops) > 0 && isAside(ops[0].Ref) {
		files.store, files.Ops = w.aside, ops
		return files, rows
	}
	whole := false
	for _, o := range ops {
		if isRow(o.Ref) {
			rows.Ops = append(rows.Ops, o)
			continue
		}
		files.Ops = append(files.Ops, o)
		whole = whole || isFile(o.Ref) || o.Ref.Kind == change.KindSession && (o.Pre == nil || o.Post == nil ||
			len(files.Ops) > 1)
	}
	whole = whole || len(files.Ops) > 1 && files.Ops[0].Ref.Kind == change.KindSession
	if whole {
		files.store = w.files
		if st.Store.Same(w.ID()) {
			files.Store = w.files.ID()
		}
	}
	return files, rows
}

// open opens the index for the part of a change to rows.
func (w writer) open(rows part) (part, error) {
	db, err := openDatabase(w.opt.Index)
	if err != nil || db == nil {
		return rows, errors.Join(err, fmt.Errorf("%w: the index of the sessions is gone", change.ErrInvalid))
	}
	return part{db, change.Staged{Store: db.ID(), Ops: rows.Ops}}, nil
}

// withLocks runs f while this process holds the locks of the sessions of ops.
func (w writer) withLocks(ops []change.Op, f func() error) error {
	var ids []string
	for _, o := range ops {
		ids = append(ids, o.Ref.Session)
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if w.opt.Lock == nil || id == "" { // a database belongs to no session
			continue
		}
		unlock, err := w.opt.Lock(id)
		if err != nil {
			return err
		}
		defer unlock()
	}
	return f()
}

func (w writer) Prepare(ctx context.Context, p change.Plan) (st change.Staged, err error) {
	err = w.withLocks(p.Ops, func() error {
		histories := w.histories(ctx, p)
		files, rows := w.split(change.Staged{Store: w.ID(), Ops: p.Ops})
		st = change.Staged{Store: w.ID()}
		if p.Ops = rows.Ops; len(rows.Ops) > 0 {
			if rows, err = w.open(rows); err == nil {
				_, err = rows.store.Prepare(ctx, p)
			}
			if err != nil {
				return err
			}
		}
		if p.Ops = files.Ops; len(files.Ops) > 0 {
			p.Force = p.Force || w.opt.Lock != nil // the lock shows that no process has the session open
			if files.store == txn.Store(w.files) {
				if p.Ops, err = w.withModes(ctx, p); err != nil {
					return fmt.Errorf("preparing a change of %s: %w", w.ID().Root, err)
				}
			}
			if st, err = files.store.Prepare(ctx, p); err != nil {
				return err
			}
			st.Store = w.ID()
		}
		st.Ops = slices.Concat(st.Ops, rows.Ops, histories)
		return nil
	})
	return st, err
}

// histories returns the ops of a plan on histories. For each session whose file gets another beginning it adds an op
// that deletes the history, because the agent continues the history from an offset in the file. It adds no op for a
// history that cannot be read, nor to an undo of a whole change or a decision on a conflict: their plans have the ops
// they need.
func (w writer) histories(ctx context.Context, p change.Plan) (all []change.Op) {
	type content struct{ before, after *change.Image }
	files := map[string]content{}
	for _, o := range p.Ops {
		switch c := files[o.Ref.Session]; {
		case isHistory(o.Ref):
			all = append(all, o)
		case o.Ref.Kind == change.KindSession: // two ops move the file
			files[o.Ref.Session] = content{cmp.Or(c.before, o.Pre), cmp.Or(c.after, o.Post)}
		}
	}
	reverts := slices.Contains([]change.CauseKind{change.CauseUndo, change.CauseRedo, change.CauseResolve}, p.Cause.Kind)
	if w.opt.History == nil || reverts && !p.Cause.Partial {
		return all
	}
	for id, c := range files {
		ref := change.Ref{Kind: change.KindHistory, Session: id}
		named := slices.ContainsFunc(all, func(o change.Op) bool { return o.Ref == ref })
		if named || c.after == nil || c.before != nil && bytes.HasPrefix(c.after.Data, c.before.Data) {
			continue
		}
		if now, err := w.readHistory(ctx, []change.Ref{ref}); err == nil && now != nil && now[0] != nil {
			all = append(all, change.Op{Ref: ref, Pre: now[0]})
		}
	}
	return all
}

// setHistories makes the ops on histories of a committed change. The agent can derive a history from the file, so an
// error does not undo the change.
func (w writer) setHistories(ctx context.Context, st change.Staged) {
	ops := slices.DeleteFunc(slices.Clone(st.Ops), func(o change.Op) bool { return !isHistory(o.Ref) })
	if len(ops) == 0 {
		return
	}
	db, err := openDatabase(w.opt.History)
	var out change.Outcome
	if db != nil && err == nil {
		out, err = db.Commit(ctx, change.Staged{Store: db.ID(), Ops: ops})
	}
	if err = errors.Join(err, out.Cause); err != nil && w.opt.Note != nil {
		w.opt.Note(fmt.Sprintf("what the agent shows of session %s may be out of date: %v", ops[0].Ref.Session, err))
	}
}

// withModes returns the ops of a plan with the current modes of the files. The error wraps [change.ErrInUse] if a
// session is in use.
func (w writer) withModes(ctx context.Context, p change.Plan) ([]change.Op, error) {
	ops := slices.Clone(p.Ops)
	for i, o := range ops {
		if o.Ref.Kind != change.KindSession {
			continue
		}
		at, _, err := w.layout.Path(o.Ref)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", change.ErrInvalid, err)
		}
		if use := w.opt.InUse(at); use != "" && !p.Force {
			return nil, fmt.Errorf("%w: %s", change.ErrInUse, use)
		}
		if now, err := w.files.Read(ctx, []change.Ref{o.Ref}); err == nil && now[0] != nil && o.Pre != nil &&
			bytes.Equal(now[0].Data, o.Pre.Data) {
			ops[i].Pre = now[0]
		}
	}
	return ops, nil
}

func (w writer) Commit(ctx context.Context, st change.Staged) (out change.Outcome, err error) {
	locked := false
	lockErr := w.withLocks(st.Ops, func() error {
		locked = true
		if out, err = w.commit(ctx, st); err == nil && out.State == change.Committed {
			w.setHistories(ctx, st)
		}
		return nil
	})
	if !locked {
		return change.Outcome{State: change.Aborted, Cause: lockErr}, nil
	}
	return out, err
}

func (w writer) commit(ctx context.Context, st change.Staged) (out change.Outcome, err error) {
	files, rows := w.split(st)
	if len(files.Ops)+len(rows.Ops) == 0 { // only shown histories
		return change.Outcome{State: change.Committed}, nil
	}
	if len(files.Ops) > 0 {
		out, err = files.store.Commit(ctx, files.Staged)
		if err != nil || out.State != change.Committed || len(rows.Ops) == 0 {
			return out, err
		}
	}
	if rows, err = w.open(rows); err != nil {
		return out, err
	}
	outcome, err := rows.store.Commit(ctx, rows.Staged)
	if err == nil && len(files.Ops) > 0 {
		err = undecidedError(outcome)
	}
	if err != nil {
		return change.Outcome{}, err
	}
	return merge(len(files.Ops) > 0, out, outcome), nil
}

// undecidedError returns an error if the rows did not change, for a reason other than their content: they do not match
// the file yet, and Settle must be called again.
func undecidedError(rows change.Outcome) error {
	if rows.State == change.Committed || len(rows.Conflicts) > 0 {
		return nil
	}
	return fmt.Errorf("the row in the index was not changed with its file: %w", rows.Cause)
}

// merge returns the outcome of a change of files, which came first, and of rows.
func merge(files bool, out, rows change.Outcome) change.Outcome {
	if !files || rows.State == change.Committed {
		rows.Kept = append(rows.Kept, out.Kept...)
		return rows
	}
	// The file is as it should be; another process wrote to the index.
	out.State, out.Conflicts, out.Cause = change.Conflicted, append(out.Conflicts, rows.Conflicts...), rows.Cause
	return out
}

// Settle implements [txn.Store]. If the file was changed, it changes the index, too; otherwise it reverts the
// row.
func (w writer) Settle(ctx context.Context, st change.Staged) (out change.Outcome, err error) {
	err = w.withLocks(st.Ops, func() error {
		if out, err = w.settle(ctx, st); err == nil && out.State == change.Committed {
			w.setHistories(ctx, st)
		}
		return err
	})
	return out, err
}

func (w writer) settle(ctx context.Context, st change.Staged) (out change.Outcome, err error) {
	files, rows := w.split(st)
	if len(st.Ops) > 0 && len(files.Ops)+len(rows.Ops) == 0 { // only shown histories
		return change.Outcome{State: change.Committed}, nil
	}
	if len(files.Ops) > 0 || len(rows.Ops) == 0 {
		if out, err = files.store.Settle(ctx, files.Staged); err != nil || len(rows.Ops) == 0 {
			return out, err
		}
	}
	if rows, err = w.open(rows); err != nil {
		return out, err
	}
	outcome, err := rows.store.Settle(ctx, rows.Staged)
	if err != nil {
		return out, err
	}
	if len(files.Ops) > 0 && out.State != change.Committed {
		if outcome.State == change.Committed {
			rows.Ops = change.Inverse(rows.Ops)
			if outcome, err = rows.store.Commit(ctx, rows.Staged); err == nil {
				err = undecidedError(outcome)
			}
		}
		return out, err
	}
	if len(files.Ops) > 0 && outcome.State == change.Aborted && len(outcome.Conflicts) == 0 {
		if outcome, err = rows.store.Commit(ctx, rows.Staged); err == nil {
			err = undecidedError(outcome)
		}
		if err != nil {
			return out, err
		}
	}
	return merge(len(files.Ops) > 0, out, outcome), nil
}

func (w writer) Discard(ctx context.Context, st change.Staged) error {
	files, rows := w.split(st)
	switch {
	case len(files.Ops) > 0:
		return files.store.Discard(ctx, files.Staged)
	case len(rows.Ops) > 0: // rows stage nothing
		return nil
	}
	return errors.Join(w.files.Discard(ctx, st), w.lines.Discard(ctx, st), w.aside.Discard(ctx, st))
}
