package aside

import (
	"context"
	"fmt"

	"mend/change"
)

// A Store has files that are changed whole.
type Store interface {
	ID() change.StoreID
	// Area opens the store's folder for an owner; the owner is "" while something is built.
	Area(owner string) (*Area, error)
	// WholeChange returns the change of the ops. Its Close closes the area.
	WholeChange(a *Area, st change.Staged) (Change, error)
}

// A Writer makes changes of a store's whole files for the journal that owns them. It is a [mend/txn.Store].
type Writer struct {
	Store
	Owner string
}

// open returns the area and the change of the ops.
func (w Writer) open(st change.Staged) (*Area, Change, error) {
	a, err := w.Area(w.Owner)
	if err != nil {
		return nil, nil, err
	}
	c, err := w.WholeChange(a, st)
	if err != nil {
		a.Close()
		return nil, nil, err
	}
	return a, c, nil
}

// Prepare checks and stages a change.
func (w Writer) Prepare(ctx context.Context, p change.Plan) (change.Staged, error) {
	st := change.Staged{Store: w.ID(), Ops: p.Ops}
	_, c, err := w.open(st)
	if err == nil {
		defer c.Close()
		if err = c.Stage(ctx, &st); err == nil {
			err = c.Check(ctx)
		}
	}
	if err != nil {
		err = fmt.Errorf("preparing a change of %s: %w", w.ID().Root, err)
	}
	return st, err
}

// Commit makes a change.
func (w Writer) Commit(ctx context.Context, st change.Staged) (change.Outcome, error) {
	a, c, err := w.open(st)
	if err != nil {
		return change.Outcome{State: change.Aborted, Cause: err}, nil
	}
	defer c.Close()
	out, err := a.Run(ctx, c)
	if out.Cause != nil {
		out.Cause = fmt.Errorf("changing %s: %w", w.ID().Root, out.Cause)
	}
	return out, err
}

// Settle determines how far a change came, and finishes or reverts it.
func (w Writer) Settle(ctx context.Context, st change.Staged) (out change.Outcome, err error) {
	a, c, err := w.open(st)
	if err == nil {
		defer c.Close()
		out, err = a.Settle(ctx, c)
	}
	if err != nil {
		err = fmt.Errorf("settling a change of %s: %w", w.ID().Root, err)
	}
	return out, err
}

// Discard removes the empty folders of a change, and files that killed processes have built. Kept files stay.
func (w Writer) Discard(context.Context, change.Staged) error {
	a, err := w.Area(w.Owner)
	if err != nil {
		return err
	}
	defer a.Close()
	return a.Discard()
}

// Sweep removes the files beside the store that the owner keeps for unneeded ops, except those that needed ops also
// use, and returns their size in bytes. It also removes files that a killed process has built.
func (w Writer) Sweep(ctx context.Context, needed, unneeded []change.OpInfo) (freed int64, err error) {
	a, err := w.Area(w.Owner)
	if err != nil {
		return 0, err
	}
	defer a.Close()
	return a.Sweep(ctx, needed, unneeded)
}

// CheckKept returns an error unless everything that ops removed is kept complete beside the store.
func (w Writer) CheckKept(ctx context.Context, ops []change.Op) error {
	_, c, err := w.open(change.Staged{Store: w.ID(), Ops: ops})
	if err != nil {
		return err
	}
	defer c.Close()
	return c.CheckKept(ctx)
}

// Keeps reports whether the content that an op removed or restored is kept beside the store, by any owner.
func (w Writer) Keeps(op change.OpInfo) bool {
	a, err := w.Area("")
	if err != nil {
		return false
	}
	defer a.Close()
	return a.Keeps(op)
}
