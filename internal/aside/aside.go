package aside

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"mend/change"
	"mend/internal/atomicfile"
	"mend/internal/safedir"
	"mend/internal/stage"
)

// A Place is a name in a folder below the store's folder.
type Place struct{ Dir, Name string }

func (p Place) String() string { return p.Dir + "/" + p.Name }

// isPrivate reports whether only mend writes to the place.
func (p Place) isPrivate() bool { return p.Dir == stage.Dir || strings.HasPrefix(p.Dir, stage.Dir+"/") }

// A Move renames a file or a folder to a free place. A Move without a source does nothing.
type Move struct{ From, To Place }

// A Change is a change of whole files. Its moves and its commit point are carried out in order.
type Change interface {
	// Stage fills in what the change needs later: the Dir of st, and another Pre if that has changed.
	Stage(ctx context.Context, st *change.Staged) error
	// Check returns an error if the change cannot be made, a [*change.ConflictError] if the store differs from what it
	// expects.
	Check(ctx context.Context) error
	// MovesBeforeCommit returns the moves before the commit point. They are reverted unless it is reached.
	MovesBeforeCommit() []Move
	// Commit carries out the commit point; other programs see its effect at once.
	Commit(ctx context.Context) error
	// IsCommitted reports, by content and places alone, whether the commit point was reached.
	IsCommitted(ctx context.Context) (bool, error)
	// MovesAfterCommit returns the moves after the commit point.
	MovesAfterCommit(ctx context.Context) ([]Move, error)
	// Outcome returns the outcome after [Area.Settle] has made the moves after the commit point, if it has passed, or
	// has reverted the moves before it.
	Outcome(ctx context.Context, passed bool) (change.Outcome, error)
	// CheckKept returns an error unless everything that the change removed is kept complete.
	CheckKept(ctx context.Context) error
	// Close closes the folder.
	Close()
}

// An Area is a store's folder while one owner changes its content.
type Area struct {
	stage.Area
	sums *Sums
}

// Open opens the folder at path; owner is "" only while something is built. step may be nil.
func Open(path, owner string, step func(string) error, sums *Sums) (*Area, error) {
	if owner == "" {
		owner = builder
	}
	if err := stage.CheckOwner(owner); err != nil {
		return nil, err
	}
	root, err := safedir.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	if step == nil {
		step = func(string) error { return nil }
	}
	return &Area{stage.Area{Root: root, Path: path, Owner: owner, Step: step}, sums}, nil
}

// Close closes the folder.
func (a *Area) Close() { a.Root.Close() }

// Kept returns the place where the owner keeps name.
func (a *Area) Kept(name string) Place { return Place{a.OwnerDir(), name} }

// Dir returns the folder for [change.Staged].Dir, with the content that the change moves into the store: the build of
// that name, or the owner's folder if there is no such build or the owner already keeps the name, as for an undo.
func (a *Area) Dir(name string) (string, error) {
	kept, err := a.exists(a.Kept(name))
	built, errBuilt := a.exists(Place{builtDir, name})
	if err = errors.Join(err, errBuilt); err == nil && built && !kept {
		return builtDir + "/" + name, nil
	}
	return a.OwnerDir(), err
}

// FromBuilt returns the move that gives the build of that name to the owner, if [change.Staged].Dir is a build.
func (a *Area) FromBuilt(dir, name string) []Move {
	if dir != builtDir+"/"+name {
		return nil
	}
	return []Move{{Place{builtDir, name}, a.Kept(name)}}
}

// Run makes a change. After an error the outcome is unknown: call [Area.Settle].
func (a *Area) Run(ctx context.Context, c Change) (change.Outcome, error) {
	if err := c.Check(ctx); err != nil {
		return abortedOutcome(err), nil
	}
	err := a.MakeMoves(ctx, c.MovesBeforeCommit())
	if err == nil {
		err = c.Commit(ctx)
	}
	out, errSettle := a.Settle(context.WithoutCancel(ctx), c)
	if errSettle != nil {
		return change.Outcome{}, errors.Join(err, errSettle)
	}
	if out.State == change.Aborted && err != nil {
		out = abortedOutcome(err)
	}
	return out, nil
}

// abortedOutcome returns the outcome of a change that err prevented before anything was changed.
func abortedOutcome(err error) change.Outcome {
	out := change.Outcome{State: change.Aborted, Cause: err}
	if conflict, ok := errors.AsType[*change.ConflictError](err); ok {
		out.Conflicts = conflict.Conflicts
	}
	return out
}

// Settle finishes a change after its commit point, and reverts any other.
func (a *Area) Settle(ctx context.Context, c Change) (out change.Outcome, err error) {
	passed, err := c.IsCommitted(ctx)
	if err != nil {
		return out, err
	}
	var after []Move
	if !passed {
		err = a.RevertMoves(ctx, c.MovesBeforeCommit())
	} else if after, err = c.MovesAfterCommit(ctx); err == nil {
		err = a.MakeMoves(ctx, after)
	}
	if err != nil {
		return out, err
	}
	return c.Outcome(ctx, passed)
}

// MakeMoves durably makes the moves that are not made yet.
func (a *Area) MakeMoves(ctx context.Context, moves []Move) error {
	folders := []string{".", stage.Dir, a.OwnerDir()}
	for _, m := range moves {
		from, err := a.exists(m.From)
		to, errTo := a.exists(m.To)
		if err := errors.Join(err, errTo, ctx.Err()); err != nil {
			return err
		}
		if from && !to {
			if err := a.rename(m); err != nil {
				return err
			}
		}
		folders = append(folders, m.From.Dir, m.To.Dir)
	}
	if len(moves) == 0 {
		return nil
	}
	slices.Sort(folders)
	return a.Sync(&atomicfile.Barrier{}, slices.Compact(folders)...)
}

// RevertMoves durably reverts the moves that were made, last one first.
func (a *Area) RevertMoves(ctx context.Context, moves []Move) error {
	var back []Move
	for _, m := range slices.Backward(moves) {
		back = append(back, Move{m.To, m.From})
	}
	return a.MakeMoves(ctx, back)
}

// A progress counts the moves that were made, and has the ones that another program prevents, by index.
type progress struct {
	done    int
	taken   []int // moves that cannot be made: another program has created the target
	blocked []int // moves that cannot be reverted: another program has created the source again
}

// look returns the progress of moves. A private place shows whether a move was made, because only mend writes to it.
func (a *Area) look(moves []Move) (p progress, err error) {
	for i, m := range moves {
		from, err := a.exists(m.From)
		to, errTo := a.exists(m.To)
		if err := errors.Join(err, errTo); err != nil {
			return p, err
		}
		switch {
		case m.To.isPrivate() && !to, !m.To.isPrivate() && from && !to: // not made
		case !m.To.isPrivate() && from:
			p.taken = append(p.taken, i)
		default:
			p.done++
			if from {
				p.blocked = append(p.blocked, i)
			}
		}
	}
	return p, nil
}

// exists reports whether a place is taken.
func (a *Area) exists(p Place) (bool, error) {
	e, err := a.stat(p)
	return e.Exists, err
}

func (a *Area) stat(p Place) (e safedir.Entry, err error) {
	d, err := a.Root.Sub(p.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	if err != nil {
		return e, err
	}
	defer d.Close()
	return d.Stat(p.Name)
}

func (a *Area) rename(m Move) error {
	from, err := a.Root.Sub(m.From.Dir)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := a.folder(m.To.Dir)
	if err != nil {
		return err
	}
	defer to.Close()
	if err := a.Step("move " + m.From.String()); err != nil {
		return err
	}
	return from.Move(m.From.Name, to, m.To.Name)
}

// folder opens a folder, and makes it if it is missing.
func (a *Area) folder(p string) (*safedir.Dir, error) {
	if p == "." {
		return a.Root.Sub(p)
	}
	return a.Make(p)
}

// Discard removes the empty folders of a change, and files that killed processes have built.
func (a *Area) Discard() error {
	err := a.SweepBuilt()
	names, errNames := a.Names(a.OwnerDir())
	err = errors.Join(err, errNames)
	for _, name := range names {
		if strings.HasPrefix(name, setPrefix) {
			err = errors.Join(err, a.RemoveEmpty(a.OwnerDir()+"/"+name))
		}
	}
	return errors.Join(err, a.RemoveEmpty(a.OwnerDir()))
}
