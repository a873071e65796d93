package sqlstore

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"mend/change"
	"mend/internal/atomicfile"
	"mend/internal/fail"
	"mend/internal/safedir"
	"mend/internal/stage"
)

// Whole folders beside the database go with one op of [change.KindTree] each: a folder is renamed into our own, .mend/OWNER/PARENT-NAME,
// and an undo renames it back. So nothing is copied, no space is needed, and each folder is in one place or the other, whole. The
// image says how many files it has, and has a hash of their names, sizes and times; their content is not read. The bytes are given
// back when the entry is forgotten. If a crash comes between two folders, Settle moves the others, too.

func isTrees(ops []change.Op) bool {
	return len(ops) > 0 && !slices.ContainsFunc(ops, func(o change.Op) bool { return o.Ref.Kind != change.KindTree })
}

const (
	treeVersion = "mend folder 1\n"
	maxDepth    = 100 // of folders in one another
)

// A Tree is what a folder beside the database has.
type Tree struct {
	Image *change.Image // nil: there is no such folder
	Files int64
	Bytes int64
}

// Tree returns what the folder of a ref of [change.KindTree] has.
func (s *Store) Tree(ctx context.Context, ref change.Ref) (t Tree, err error) {
	root, err := safedir.OpenRoot(filepath.Dir(s.id.Root))
	if err != nil {
		return t, err
	}
	defer root.Close()
	return treeAt(ctx, root, ref.Project, ref.Part)
}

// treeAt returns what the folder name in a folder below root has.
func treeAt(ctx context.Context, root *safedir.Dir, parent, name string) (t Tree, err error) {
	d, err := root.Sub(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	defer d.Close()
	e, err := d.Stat(name)
	if err != nil || !e.Exists {
		return t, err
	}
	if !e.IsDir() {
		return t, fmt.Errorf("%s is no folder", path.Join(parent, name))
	}
	h := sha256.New()
	if err := t.add(ctx, h, d, name, 0); err != nil {
		return t, err
	}
	t.Image = &change.Image{Data: fmt.Appendf(nil, "%sfiles %d bytes %d %x\n", treeVersion, t.Files, t.Bytes, h.Sum(nil)), Mode: e.Mode.Perm()}
	return t, nil
}

// add adds a folder. No link is followed.
func (t *Tree) add(ctx context.Context, h hash.Hash, parent *safedir.Dir, name string, depth int) error {
	d, err := parent.Sub(name)
	if err != nil {
		return err
	}
	defer d.Close()
	if depth > maxDepth {
		return fmt.Errorf("%s has too many folders in one another", d.Path)
	}
	names, err := d.Names()
	if err != nil {
		return err
	}
	slices.Sort(names)
	fmt.Fprintf(h, "%d\n", len(names))
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := d.Stat(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%q %v\n", name, e.Mode)
		if e.IsDir() {
			if err := t.add(ctx, h, d, name, depth+1); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(h, "%d %d\n", e.Size, e.Mtime)
		t.Files, t.Bytes = t.Files+1, t.Bytes+e.Size
	}
	return nil
}

// treesChange moves folders away, or back.
type treesChange struct {
	*exchange
	ops []change.Op
}

func (o *Owned) treesChange(ops []change.Op) (*treesChange, error) {
	x := &treesChange{&exchange{Owned: o, base: filepath.Base(o.id.Root)}, ops}
	for _, op := range ops {
		if err := op.Ref.Validate(); err != nil || (op.Pre == nil) == (op.Post == nil) {
			return nil, errors.Join(fmt.Errorf("%w: a folder is only moved", change.ErrInvalid), err)
		}
	}
	return x, x.open()
}

// keptTree returns the name that a folder has in our own.
func keptTree(ref change.Ref) string { return ref.Project + "-" + ref.Part }

// places returns where a folder of the change is before and after it, below the folder of the database.
func (x *treesChange) places(op change.Op) (from, to [2]string) {
	from, to = [2]string{op.Ref.Project, op.Ref.Part}, [2]string{x.own.OwnerDir(), keptTree(op.Ref)}
	if op.Pre == nil {
		from, to = to, from
	}
	return from, to
}

// check returns an error if a folder is not as the change expects, or its new place is taken.
func (x *treesChange) check(ctx context.Context) error {
	if err := x.CheckFree(ctx); err != nil {
		return err
	}
	var conflicts []change.Conflict
	for _, op := range x.ops {
		from, to := x.places(op)
		now, err := treeAt(ctx, x.own.Root, from[0], from[1])
		if err != nil {
			return err
		}
		there, err := treeAt(ctx, x.own.Root, to[0], to[1])
		if err != nil {
			return err
		}
		want := op.Pre
		if want == nil {
			want = op.Post
		}
		switch {
		case there.Image != nil && op.Pre != nil:
			return fail.New(fail.Refused, "\"mend log\" lists what was removed earlier; \"mend forget ID\" deletes it", "an earlier folder %s is still kept", op.Ref)
		case there.Image != nil:
			conflicts = append(conflicts, change.Conflict{Ref: op.Ref, Pre: op.Pre, Post: op.Post, Now: there.Image, Why: "it was made again"})
		case now.Image == nil && op.Pre == nil:
			return fail.New(fail.Refused, "", "the folder %s is no longer kept", op.Ref)
		case now.Image == nil || string(now.Image.Data) != string(want.Data):
			conflicts = append(conflicts, change.Conflict{Ref: op.Ref, Pre: op.Pre, Post: op.Post, Now: now.Image, Why: "it was changed since"})
		}
	}
	if len(conflicts) > 0 {
		return &change.ConflictError{Conflicts: conflicts}
	}
	return nil
}

func (o *Owned) prepareTrees(ctx context.Context, p change.Plan) (change.Staged, error) {
	st := change.Staged{Store: o.id, Ops: p.Ops}
	x, err := o.treesChange(p.Ops)
	if err != nil {
		return st, err
	}
	defer x.close()
	st.Dir = x.own.OwnerDir()
	if err := x.check(ctx); err != nil {
		return st, fmt.Errorf("preparing a change beside %s: %w", o.id.Root, err)
	}
	return st, nil
}

func (o *Owned) commitTrees(ctx context.Context, st change.Staged) (change.Outcome, error) {
	x, err := o.treesChange(st.Ops)
	if err != nil {
		return change.Outcome{State: change.Aborted, Cause: err}, nil
	}
	defer x.close()
	if err = x.check(ctx); err == nil {
		if err = x.move(ctx, false); err == nil {
			return change.Outcome{State: change.Committed}, nil
		}
	}
	if errBack := x.move(context.WithoutCancel(ctx), true); errBack != nil {
		return change.Outcome{}, errors.Join(err, errBack)
	}
	return change.Outcome{State: change.Aborted, Cause: err, Conflicts: conflictsIn(err)}, nil
}

// look reports whether the change of a folder is done. Only a change of ours puts a folder where it is kept, so that place decides,
// whatever the agent has made beside the database since. clash says that the place to which a kept folder has to go is taken.
func (x *treesChange) look(op change.Op) (done, clash bool, err error) {
	there, err := x.isThere([2]string{op.Ref.Project, op.Ref.Part})
	kept, errKept := x.isThere([2]string{x.own.OwnerDir(), keptTree(op.Ref)})
	if op.Post == nil {
		return kept, false, errors.Join(err, errKept)
	}
	return there && !kept, there && kept, errors.Join(err, errKept)
}

// move moves the folders that are not yet where they belong, durably; with back those that are there already to where they were.
func (x *treesChange) move(ctx context.Context, back bool) error {
	folders := []string{".", stage.Dir, x.own.OwnerDir()}
	for _, op := range x.ops {
		from, to := x.places(op)
		if back {
			from, to = to, from
		}
		done, _, err := x.look(op)
		there, errThere := x.isThere(from)
		if err := errors.Join(err, errThere); err != nil {
			return err
		}
		if there && done == back {
			if err := x.moveTree(from, to); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		folders = append(folders, op.Ref.Project)
	}
	own, err := x.own.Make(x.own.OwnerDir())
	if err != nil {
		return err
	}
	own.Close()
	if err := x.own.Sync(&atomicfile.Barrier{}, slices.Compact(folders)...); err != nil {
		return err
	}
	return x.own.RemoveEmpty(x.own.OwnerDir())
}

func (x *treesChange) isThere(place [2]string) (bool, error) {
	d, err := x.own.Root.Sub(place[0])
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer d.Close()
	e, err := d.Stat(place[1])
	return e.IsDir(), err
}

// moveTree moves one folder to where nothing is.
func (x *treesChange) moveTree(from, to [2]string) error {
	a, err := x.own.Root.Sub(from[0])
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := x.own.Make(to[0])
	if err != nil {
		return err
	}
	defer b.Close()
	if err := x.step("move " + path.Join(from[0], from[1])); err != nil {
		return err
	}
	return a.Move(from[1], b, to[1])
}

// settleTrees finds out by the places of the folders what became of a change. If one was moved, so are the others, unless the place of
// one is taken: then all go back to where they were.
func (o *Owned) settleTrees(ctx context.Context, st change.Staged) (out change.Outcome, err error) {
	x, err := o.treesChange(st.Ops)
	if err != nil {
		return out, err
	}
	defer x.close()
	out.State = change.Aborted
	for _, op := range x.ops {
		done, clash, err := x.look(op)
		if err != nil {
			return out, err
		}
		if done {
			out.State = change.Committed
		}
		if clash {
			out.Conflicts = append(out.Conflicts, change.Conflict{Ref: op.Ref, Pre: op.Pre, Post: op.Post, Why: "it was made again"})
		}
	}
	if len(out.Conflicts) > 0 {
		out.State = change.Aborted
	}
	if err := x.move(ctx, out.State == change.Aborted); err != nil {
		return out, fmt.Errorf("settling a change beside %s: %w", o.id.Root, err)
	}
	return out, nil
}

// removeAll removes a file, or a folder with all that is in it. It follows no link.
func (x *exchange) removeAll(d *safedir.Dir, name string) error {
	e, err := d.Stat(name)
	if err != nil || !e.Exists {
		return err
	}
	if e.IsDir() {
		sub, err := d.Sub(name)
		if err != nil {
			return err
		}
		defer sub.Close()
		names, err := sub.Names()
		for _, n := range names {
			err = errors.Join(err, x.removeAll(sub, n))
		}
		if err != nil {
			return err
		}
	}
	return x.own.Remove(d, name)
}

// readTrees returns what the folders of refs have.
func (s *Store) readTrees(ctx context.Context, refs []change.Ref) (images []*change.Image, err error) {
	for _, ref := range refs {
		t, err := s.Tree(ctx, ref)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		images = append(images, t.Image)
	}
	return images, nil
}
