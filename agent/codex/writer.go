package codex

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"mend/change"
	"mend/fsstore"
	"mend/internal/ownfile"
	"mend/internal/processes"
	"mend/linestore"
	"mend/txn"
)

// locks is the folder with a file for each session, on which Codex holds a lock while it has the session open.
const locks = "thread-writer-locks"

// coordination is the lock that Codex holds while it takes or removes one of a session.
const coordination = ".coordination.lock"

// whyBusy returns why a session must not be changed now: a process holds its lock. It takes no lock where the system lists
// them, so that a Codex which starts now finds none.
func (s *store) whyBusy(id string) string {
	root, err := s.lines.OpenRoot()
	if err != nil || change.ValidateSessionID(id) != nil {
		return ""
	}
	defer root.Close()
	d, err := root.Sub(locks)
	if err != nil {
		return ""
	}
	defer d.Close()
	e, err := d.Stat(id + ".lock")
	if err != nil || !e.IsFile() {
		return ""
	}
	held, err := processes.Locking(e.Ino, 0)
	if err != nil {
		l, lerr := ownfile.Acquire(filepath.Join(s.ID().Root, locks, id+".lock"), os.O_RDWR, true, 0)
		if l != nil {
			_ = l.Close() // it was not written
		}
		if errors.Is(lerr, ownfile.ErrLocked) {
			held = append(held, 0)
		}
	}
	if len(held) == 0 {
		return ""
	}
	return fmt.Sprintf("Codex has it open as process %d; end that first", held[0])
}

// lock takes the lock of a session as Codex does, and returns what removes it. The error wraps [change.ErrInUse] if a process has it.
func (s *store) lock(id string) (unlock func(), err error) {
	folder := filepath.Join(s.ID().Root, locks)
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	coordinate := func() (*ownfile.Lock, error) {
		return ownfile.Acquire(filepath.Join(folder, coordination), os.O_RDWR|os.O_CREATE, false, 5*time.Second)
	}
	all, err := coordinate()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", change.ErrInUse, err)
	}
	defer func() { _ = all.Close() }() // nothing is written to a lock
	file := filepath.Join(folder, id+".lock")
	l, err := ownfile.Acquire(file, os.O_RDWR|os.O_CREATE, false, 0)
	if errors.Is(err, ownfile.ErrLocked) {
		return nil, fmt.Errorf("%w: Codex has session %s open", change.ErrInUse, id)
	}
	return func() {
		if all, err := coordinate(); err == nil { // else the file stays, as that of a process that was killed
			_ = os.Remove(file)
			_ = all.Close()
		}
		_ = l.Close()
	}, err
}

// A writer changes rollouts, and rows of the index. A rollout comes first: what of a change concerns the index, Codex would find out by
// itself.
type writer struct {
	store *store
	lines *linestore.Store
	files *fsstore.Store
}

var _ txn.Store = (*writer)(nil)

func isRow(o change.Op) bool { return o.Ref.Kind == change.KindIndex }

// split returns the ops on files, and those on rows.
func split(ops []change.Op) (files, rows []change.Op) {
	return slices.DeleteFunc(slices.Clone(ops), isRow), slices.DeleteFunc(slices.Clone(ops), func(o change.Op) bool { return !isRow(o) })
}

// of returns the store for ops on files: a single rollout that gets other bytes is replaced as lines are, so that what is appended meanwhile
// is carried over.
func (w *writer) of(files []change.Op) txn.Store {
	if len(files) == 1 && files[0].Ref.Kind == change.KindSession && files[0].Pre != nil && files[0].Post != nil {
		return w.lines
	}
	return w.files
}

// staged returns the part of a change that is on files.
func (w *writer) staged(st change.Staged, files []change.Op) (txn.Store, change.Staged) {
	to := w.of(files)
	st.Ops = files
	if to == txn.Store(w.files) {
		st.Store = w.files.ID()
	}
	return to, st
}

// rows returns the store of the index, and the part of a change that is on it.
func (w *writer) rows(st change.Staged, rows []change.Op) (txn.Store, change.Staged, error) {
	db, err := w.store.openIndex()
	if err != nil || db == nil {
		return nil, st, errors.Join(err, fmt.Errorf("%w: the index of Codex is gone", change.ErrInvalid))
	}
	return db, change.Staged{Store: db.ID(), Ops: rows}, nil
}

// locked runs f while this process has the locks of the sessions of ops. The error wraps [change.ErrInUse] if another process has one.
func (w *writer) locked(ops []change.Op, f func() error) error {
	var ids []string
	for _, o := range ops {
		if !slices.Contains(ids, o.Ref.Session) {
			ids = append(ids, o.Ref.Session)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		unlock, err := w.store.lock(id)
		if err != nil {
			return err
		}
		defer unlock()
	}
	return f()
}

// Prepare implements [txn.Store].
func (w *writer) Prepare(ctx context.Context, p change.Plan) (st change.Staged, err error) {
	err = w.locked(p.Ops, func() error {
		files, rows := split(p.Ops)
		st = change.Staged{Store: w.lines.ID()}
		if len(rows) > 0 {
			db, _, err := w.rows(st, rows)
			if err != nil {
				return err
			}
			part := p
			part.Ops = rows
			if _, err := db.Prepare(ctx, part); err != nil {
				return err
			}
		}
		if len(files) > 0 {
			to := w.of(files)
			p.Ops, p.Force = w.withModes(ctx, to, files), true // the lock says that none has it open
			if st, err = to.Prepare(ctx, p); err != nil {
				return err
			}
			st.Store = w.lines.ID()
		}
		st.Ops = append(st.Ops, rows...)
		return nil
	})
	return st, err
}

// withModes returns ops whose Pre have the modes of the files.
func (w *writer) withModes(ctx context.Context, to txn.Store, ops []change.Op) []change.Op {
	if to == txn.Store(w.lines) {
		return ops
	}
	ops = slices.Clone(ops)
	for i, o := range ops {
		if now, err := w.files.Read(ctx, []change.Ref{o.Ref}); err == nil && now[0] != nil && o.Pre != nil {
			pre := *o.Pre
			pre.Mode = now[0].Mode
			ops[i].Pre = &pre
		}
	}
	return ops
}

// Commit implements [txn.Store].
func (w *writer) Commit(ctx context.Context, st change.Staged) (out change.Outcome, err error) {
	run := false
	lerr := w.locked(st.Ops, func() error {
		run = true
		out, err = w.commit(ctx, st)
		return nil
	})
	if !run {
		return change.Outcome{State: change.Aborted, Cause: lerr}, nil
	}
	return out, err
}

func (w *writer) commit(ctx context.Context, st change.Staged) (out change.Outcome, err error) {
	files, rows := split(st.Ops)
	if len(files) > 0 {
		to, part := w.staged(st, files)
		if out, err = to.Commit(ctx, part); err != nil || out.State != change.Committed {
			return out, err
		}
	}
	if len(rows) == 0 {
		return out, nil
	}
	db, part, err := w.rows(st, rows)
	if err != nil {
		return out, err
	}
	of, err := db.Commit(ctx, part)
	if err == nil && len(files) > 0 {
		err = undecided(of)
	}
	if err != nil {
		return change.Outcome{}, err
	}
	return w.both(len(files) > 0, out, of), nil
}

// undecided returns an error for rows that stay as they were for another reason than what they hold: the rollout is changed, and Settle
// goes on with them.
func undecided(rows change.Outcome) error {
	if rows.State == change.Committed || len(rows.Conflicts) > 0 {
		return nil
	}
	return fmt.Errorf("the rollout is changed, and its row is not: %w", rows.Cause)
}

// both returns the outcome of a change of files, which came first, and rows.
func (w *writer) both(files bool, out, rows change.Outcome) change.Outcome {
	if !files || rows.State == change.Committed {
		rows.Kept = append(rows.Kept, out.Kept...)
		return rows
	}
	// The rollout is as it should be; another process wrote to the index.
	out.State, out.Conflicts, out.Cause = change.Conflicted, append(out.Conflicts, rows.Conflicts...), rows.Cause
	return out
}

// Settle implements [txn.Store]. Where the rollout is changed, so is the index.
func (w *writer) Settle(ctx context.Context, st change.Staged) (out change.Outcome, err error) {
	err = w.locked(st.Ops, func() error {
		files, rows := split(st.Ops)
		if len(files) > 0 {
			to, part := w.staged(st, files)
			if out, err = to.Settle(ctx, part); err != nil || len(rows) == 0 {
				return err
			}
		}
		if len(rows) == 0 {
			return nil
		}
		db, part, err := w.rows(st, rows)
		if err != nil {
			return err
		}
		of, err := db.Settle(ctx, part)
		if err != nil || len(files) > 0 && out.State != change.Committed {
			return err
		}
		if len(files) > 0 && of.State == change.Aborted && len(of.Conflicts) == 0 {
			if of, err = db.Commit(ctx, part); err == nil {
				err = undecided(of)
			}
			if err != nil {
				return err
			}
		}
		out = w.both(len(files) > 0, out, of)
		return nil
	})
	return out, err
}

// Discard implements [txn.Store].
func (w *writer) Discard(ctx context.Context, st change.Staged) error {
	if st.Dir == "" {
		if len(st.Ops) > 0 { // rows alone
			return nil
		}
		return errors.Join(w.files.Discard(ctx, st), w.lines.Discard(ctx, st))
	}
	files, _ := split(st.Ops)
	to, part := w.staged(st, files)
	return to.Discard(ctx, part)
}
