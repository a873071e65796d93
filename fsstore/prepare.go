package fsstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"mend/change"
	"mend/internal/safedir"
	"mend/internal/stage"
)

// Prepare checks that every record holds its op's Pre, content and permissions, and durably writes every Post
// into the staging folder. The Staged has one more op for each missing folder that a new record needs.
//
// No record changes, and after an error nothing stays staged. A crash leaves a staging folder, which the next
// Prepare of the same owner removes.
//
// The error is or wraps a [*change.ConflictError] with all records that hold something else, or wraps
// [change.ErrInvalid] if the layout has no path for an op.
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
	if err := tx.cleanUp(p.Undecided); err != nil {
		return st, err
	}
	if err := tx.compareAll(ctx); err != nil {
		return st, err
	}
	tx.keepTimes()
	if err := tx.addFolders(); err != nil {
		return st, err
	}
	if err := tx.stageAll(ctx); err != nil {
		return st, errors.Join(err, tx.cleanStage(tx.stagePath+stage.Unfinished))
	}
	st = change.Staged{Store: s.id, Dir: tx.stagePath, Ops: make([]change.Op, 0, len(tx.ops))}
	for _, op := range tx.ops {
		st.Ops = append(st.Ops, op.withTime(p.Fresh))
	}
	return st, nil
}

// compareAll compares every record with its Pre, and records its mtime. All records must be on one file system. The
// error is a [*change.ConflictError] if one differs.
func (tx *transaction) compareAll(ctx context.Context) error {
	home, err := tx.root.Stat(".")
	if err != nil {
		return err
	}
	var conflicts []change.Conflict
	for i := range tx.ops {
		op := &tx.ops[i]
		e, why, err := tx.readTarget(*op, change.MaxText)
		existing := e
		if err == nil && !e.Exists {
			existing, err = tx.nearestDir(op.dir())
		}
		if err = cmp.Or(ctx.Err(), err); err != nil {
			return err
		}
		if existing.Dev != home.Dev {
			return fmt.Errorf("%s and %s are on different file systems: files cannot be exchanged between them", op.dir(), tx.id.Root)
		}
		op.mtime = e.Mtime
		if !op.accepts(&e, why) {
			conflicts = append(conflicts, op.conflict(&e, why))
		}
	}
	if len(conflicts) > 0 {
		return &change.ConflictError{Conflicts: conflicts}
	}
	return nil
}

// accepts reports whether the target, as [transaction.readTarget] returned it, is what the op expects. A folder may exist
// or not, as long as nothing else has its name.
func (op fileOp) accepts(e *safedir.Entry, why string) bool {
	if op.isFolder() {
		return !e.Exists || e.IsDir()
	}
	return (why == "" || why == whyFolderMissing) && matches(e, op.Pre) && e.Links <= 1 // a missing folder will be made
}

// keepTimes finds files that the change moves to another folder: a new file and a removed file of the same name, where
// the content of one begins with the content of the other. The new file gets the time of the removed one.
func (tx *transaction) keepTimes() {
	removed := map[string][]*fileOp{}
	for i := range tx.ops {
		if op := &tx.ops[i]; op.Post == nil && !op.isFolder() {
			removed[op.name()] = append(removed[op.name()], op)
		}
	}
	for i := range tx.ops {
		op := &tx.ops[i]
		if op.Pre != nil || op.isFolder() {
			continue
		}
		for _, r := range removed[op.name()] {
			if bytes.HasPrefix(op.Post.Data, r.Pre.Data) || bytes.HasPrefix(r.Pre.Data, op.Post.Data) {
				op.newTime = r.mtime
			}
		}
	}
}

// nearestDir returns the entry of the folder at p, or of its nearest existing parent.
func (tx *transaction) nearestDir(p string) (safedir.Entry, error) {
	for ; ; p = path.Dir(p) {
		d, err := tx.root.Sub(p)
		if err == nil {
			defer d.Close()
			return d.Stat(".")
		}
		if !safedir.IsMissing(err) || p == "." {
			return safedir.Entry{}, err
		}
	}
}

// addFolders adds an op for each missing folder, and sorts the ops: new folders first, parents before
// children; removed folders last, children before parents.
func (tx *transaction) addFolders() error {
	for _, op := range tx.ops { // not the added ones
		if op.Pre != nil || op.isFolder() {
			continue
		}
		names := strings.Split(op.dir(), "/")
		for n := range names {
			if err := tx.addMissing(op, n+1, strings.Join(names[:n+1], "/")); err != nil {
				return err
			}
		}
	}
	slices.SortStableFunc(tx.ops, func(a, b fileOp) int { return cmp.Compare(a.sortOrder(), b.sortOrder()) })
	return nil
}

func (tx *transaction) addMissing(op fileOp, n int, p string) error {
	if tx.folders[p] {
		return nil
	}
	d, err := tx.root.Sub(p)
	if err == nil {
		d.Close()
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	ref, ok := tx.layout.Folder(op.Ref, n)
	if !ok {
		return fmt.Errorf("the file's folder %s no longer exists: create it first", p)
	}
	above, err := tx.nearestDir(path.Dir(p))
	if err != nil {
		return err
	}
	folder, err := tx.locate(&change.Op{
		Ref:  ref,
		Post: &change.Image{Mode: fs.ModeDir | above.Mode.Perm()},
	})
	if err != nil {
		return err
	}
	tx.add(folder)
	return nil
}

func (op fileOp) sortOrder() int {
	depth := strings.Count(op.path, "/")
	switch {
	case !op.isFolder():
		return 0
	case op.Post == nil:
		return 1000 - depth
	}
	return depth - 1000
}
