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
	"mend/session"
)

// Prepare checks that every record holds its op's Pre, bytes and permissions,
// and writes every Post into the staging folder, durably. The Staged has one op
// more for each folder that a new record needs and that is missing.
//
// No record changes, and on an error nothing stays. A crash leaves a staging
// folder, which the next Prepare of the same owner removes.
//
// The error is, or wraps: a [*change.ConflictError] that lists all records which
// hold something else; [change.ErrInvalid] if an op has no place in the tree;
// [errors.ErrUnsupported] if the system has no calls for it.
func (s *Store) Prepare(ctx context.Context, ops []change.Op) (change.Staged, error) {
	if err := safedir.CanWrite(); err != nil {
		return change.Staged{}, err
	}
	st, err := s.prepare(ctx, ops)
	var conflict *change.ConflictError
	if err != nil && !errors.As(err, &conflict) {
		err = fmt.Errorf("preparing the change: %w", err)
	}
	return st, err
}

func (s *Store) prepare(ctx context.Context, ops []change.Op) (change.Staged, error) {
	if err := session.ValidateID(s.opt.Owner); err != nil || s.opt.Owner == path.Base(keptDir) {
		return change.Staged{}, fmt.Errorf("the owner %q names no folder", s.opt.Owner)
	}
	if err := change.Validate(ops); err != nil {
		return change.Staged{}, err
	}
	j, err := s.job(ops)
	if err != nil {
		return change.Staged{}, err
	}
	defer j.close()
	if err := j.sweep(); err != nil {
		return change.Staged{}, err
	}
	if err := j.check(ctx); err != nil {
		return change.Staged{}, err
	}
	if err := j.addFolders(); err != nil {
		return change.Staged{}, err
	}
	if err := j.stageAll(ctx); err != nil {
		return change.Staged{}, errors.Join(err, j.unstage())
	}
	st := change.Staged{Store: s.id, Dir: j.stageDir}
	for _, it := range j.items {
		st.Ops = append(st.Ops, it.op)
	}
	return st, nil
}

// check compares every record with its Pre.
func (j *job) check(ctx context.Context) error {
	home, err := j.root.Stat(".")
	if err != nil {
		return err
	}
	found := make([]*change.Conflict, len(j.items))
	err = j.share(len(j.items), func(b *safedir.Buffer, i int) error {
		err := ctx.Err()
		if err == nil {
			found[i], err = j.checkItem(b, &j.items[i], home.Dev)
		}
		return err
	})
	if err != nil {
		return err
	}
	var conflicts []change.Conflict
	for _, c := range found {
		if c != nil {
			conflicts = append(conflicts, *c)
		}
	}
	if len(conflicts) > 0 {
		return &change.ConflictError{Conflicts: conflicts}
	}
	return nil
}

// checkItem is check for one record, which must be on the device, and notes whom it
// belongs to.
func (j *job) checkItem(b *safedir.Buffer, it *item, device uint64) (*change.Conflict, error) {
	t, why, err := j.look(b, *it, j.opt.MaxRecord)
	on := t
	if err == nil && !t.Exists {
		on, err = j.nearest(it.dir)
	}
	if err != nil {
		return nil, err
	}
	if on.Dev != device {
		return nil, fmt.Errorf("%s is on another file system than %s: nothing can be exchanged between them", it.dir, j.id.Root)
	}
	if it.owned = t.Exists; it.owned {
		it.owner = t.Owner
	}
	c := j.differs(*it, &t, why)
	if c != nil && c.Now != nil {
		c.Now.Data = bytes.Clone(c.Now.Data) // from the buffer
	}
	return c, nil
}

// differs is the conflict if the target, as [job.look] found it, is not as the op
// expects it. A folder may be there or not, as long as nothing else has its name.
func (j *job) differs(it item, t *safedir.Entry, why string) *change.Conflict {
	switch {
	case it.isFolder():
		if !t.Exists || t.IsDir() {
			return nil
		}
	case (why == "" || why == whyNoFolder) && matches(t, it.op.Pre) && t.Links <= 1:
		return nil // a folder that is missing will be made
	}
	if why == "" {
		why = whyDiffers(it.op.Pre, t)
	}
	return &change.Conflict{Ref: it.op.Ref, Pre: it.op.Pre, Post: it.op.Post, Now: imageOf(t), Why: why}
}

// nearest is the folder at p, or the first one above it that is there.
func (j *job) nearest(p string) (safedir.Entry, error) {
	for ; ; p = path.Dir(p) {
		d, err := j.root.Sub(p)
		var strange *safedir.NotFolderError
		if err == nil {
			defer d.Close()
			return d.Stat(".")
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.As(err, &strange) || p == "." {
			return safedir.Entry{}, err
		}
	}
}

// addFolders adds an item for each folder that is missing, and puts folders
// where they belong: new ones in front, the outer first, and those that go
// behind, the inner first.
func (j *job) addFolders() error {
	for _, it := range slices.Clone(j.items) {
		if it.op.Pre != nil || it.isFolder() {
			continue
		}
		names := strings.Split(it.dir, "/")
		for n := range names {
			if err := j.addMissing(it, n+1, strings.Join(names[:n+1], "/")); err != nil {
				return err
			}
		}
	}
	slices.SortStableFunc(j.items, func(a, b item) int { return cmp.Compare(a.order(), b.order()) })
	return nil
}

func (j *job) addMissing(it item, n int, p string) error {
	if j.folders[p] {
		return nil
	}
	d, err := j.root.Sub(p)
	if err == nil {
		d.Close()
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if it.op.Ref.Kind == session.KindFile && n > strings.Count(it.dir, "/")+1-strings.Count(it.op.Ref.Part, "/") {
		return fmt.Errorf("the folder %s, in which the file was, is gone: make it again first", p)
	}
	above, err := j.nearest(path.Dir(p))
	if err != nil {
		return err
	}
	folder, err := j.place(change.Op{
		Ref:  j.layout.folderRef(it.op.Ref, n),
		Post: &change.Image{Mode: fs.ModeDir | above.Mode.Perm()},
	})
	if err != nil {
		return err
	}
	j.add(folder)
	return nil
}

func (it item) order() int {
	depth := strings.Count(it.path, "/") + 1
	switch {
	case !it.isFolder():
		return 0
	case it.op.Post == nil:
		return 1000 - depth
	}
	return depth - 1000
}
