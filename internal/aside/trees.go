package aside

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"slices"

	"mend/change"
	"mend/internal/fail"
	"mend/internal/safedir"
)

// One op of [change.KindTree] changes a whole folder beside the store: it is moved to .mend/OWNER/PARENT-NAME, and an
// undo moves it back. The image has the number of its files, and a hash of their names, sizes and times; their content
// is not read.

const (
	treeVersion = "mend folder 1\n"
	maxDepth    = 100 // of nested folders
)

// A Tree describes a folder and its content.
type Tree struct {
	Image *change.Image // nil: the folder does not exist
	Files int64
	Bytes int64
}

// TreeOf describes the folder of a ref of [change.KindTree].
func (a *Area) TreeOf(ctx context.Context, ref change.Ref) (Tree, error) {
	return a.Tree(ctx, source(ref))
}

// Tree describes the folder in a place.
func (a *Area) Tree(ctx context.Context, p Place) (t Tree, err error) {
	e, err := a.stat(p)
	if err != nil || !e.Exists {
		return t, err
	}
	if !e.IsDir() {
		return t, fmt.Errorf("%s is not a folder", p)
	}
	d, err := a.Root.Sub(p.Dir)
	if err != nil {
		return t, err
	}
	defer d.Close()
	h := sha256.New()
	if err := t.add(ctx, h, d, p.Name, 0); err != nil {
		return t, err
	}
	t.Image = &change.Image{Data: fmt.Appendf(nil, "%sfiles %d bytes %d %x\n", treeVersion, t.Files, t.Bytes, h.Sum(nil)), Mode: e.Mode.Perm()}
	return t, nil
}

// add adds a folder. It follows no link.
func (t *Tree) add(ctx context.Context, h hash.Hash, parent *safedir.Dir, name string, depth int) error {
	d, err := parent.Sub(name)
	if err != nil {
		return err
	}
	defer d.Close()
	if depth > maxDepth {
		return fmt.Errorf("%s has folders that are nested too deeply", d.Path)
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

// trees is a change that moves folders away, or back. The commit point is the last move.
type trees struct {
	*Area
	ops       []change.Op
	moves     []Move
	checkFree func(ctx context.Context) error
}

// NewTrees returns the change of ops on folders. The function checkFree returns an error that names the processes that
// use the store.
func NewTrees(a *Area, checkFree func(ctx context.Context) error, ops []change.Op) (Change, error) {
	x := &trees{a, ops, nil, checkFree}
	for _, op := range ops {
		if err := op.Ref.Validate(); err != nil || op.Ref.Kind != change.KindTree || (op.Pre == nil) == (op.Post == nil) {
			return nil, errors.Join(fmt.Errorf("%w: a folder can only be moved", change.ErrInvalid), err)
		}
		m := Move{source(op.Ref), a.Kept(treeName(op.Ref))}
		if op.Pre == nil {
			m = Move{m.To, m.From}
		}
		x.moves = append(x.moves, m)
	}
	return x, nil
}

func source(ref change.Ref) Place { return Place{ref.Project, ref.Part} }

// treeName returns the name under which the folder of a ref is kept.
func treeName(ref change.Ref) string { return ref.Project + "-" + ref.Part }

// Stage implements [Change].
func (x *trees) Stage(_ context.Context, st *change.Staged) error {
	st.Dir = x.OwnerDir()
	return nil
}

func (x *trees) Check(ctx context.Context) error {
	if err := x.checkFree(ctx); err != nil {
		return err
	}
	var conflicts []change.Conflict
	for i, op := range x.ops {
		from, err := x.Tree(ctx, x.moves[i].From)
		to, errTo := x.Tree(ctx, x.moves[i].To)
		if err := errors.Join(err, errTo); err != nil {
			return err
		}
		want := cmp.Or(op.Pre, op.Post)
		conflict := change.Conflict{Ref: op.Ref, Pre: op.Pre, Post: op.Post}
		switch {
		case to.Image != nil && op.Pre != nil:
			return fail.New(fail.Refused, "\"mend log\" lists what was removed earlier; \"mend forget ID\" deletes it", "an earlier folder %s is still kept", op.Ref)
		case to.Image != nil:
			conflict.Now, conflict.Why = to.Image, "it was created again"
		case from.Image == nil && op.Pre == nil:
			return fail.New(fail.Refused, "", "the folder %s is no longer kept", op.Ref)
		case from.Image == nil || !bytes.Equal(from.Image.Data, want.Data):
			conflict.Now, conflict.Why = from.Image, "it was changed since"
		default:
			continue
		}
		conflicts = append(conflicts, conflict)
	}
	if len(conflicts) > 0 {
		return &change.ConflictError{Conflicts: conflicts}
	}
	return nil
}

func (x *trees) MovesBeforeCommit() []Move                        { return x.moves }
func (x *trees) Commit(context.Context) error                     { return nil }
func (x *trees) MovesAfterCommit(context.Context) ([]Move, error) { return x.moves, nil }

// IsCommitted reports whether all folders are moved, or whether the agent has created a moved folder again, so that it
// cannot go back.
func (x *trees) IsCommitted(context.Context) (bool, error) {
	p, err := x.look(x.moves)
	return p.done == len(x.moves) || len(p.blocked) > 0, err
}

func (x *trees) Outcome(_ context.Context, passed bool) (change.Outcome, error) {
	if passed {
		return change.Outcome{State: change.Committed}, nil
	}
	out := change.Outcome{State: change.Aborted}
	p, err := x.look(x.moves)
	for _, i := range p.taken {
		op := x.ops[i]
		out.Conflicts = append(out.Conflicts, change.Conflict{Ref: op.Ref, Pre: op.Pre, Post: op.Post, Why: "it was created again"})
	}
	return out, err
}

func (x *trees) CheckKept(ctx context.Context) error {
	for _, op := range x.ops {
		kept, err := x.Tree(ctx, x.Kept(treeName(op.Ref)))
		if err != nil {
			return err
		}
		if op.Pre != nil && (kept.Image == nil || !bytes.Equal(kept.Image.Data, op.Pre.Data)) {
			return fail.New(fail.Unusable, "", "the folder %s is no longer kept as it was", op.Ref)
		}
	}
	return nil
}
