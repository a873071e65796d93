package mend

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"mend/agent"
	"mend/change"
	"mend/journal"
	"mend/txn"
	"mend/undo"
)

// Apply carries out a plan: journaled first, then put in place atomically. It
// finishes what a crash left in this store before it begins. The entry is
// committed if and only if the error is nil; the errors are those of [txn.Run]
// and of opening journal and store.
func (c *Client) Apply(ctx context.Context, p change.Plan) (e change.Entry, err error) {
	err = c.writing(func(j *journal.Journal, st txn.Store) error {
		if _, err := c.recover(ctx, j, st); err != nil {
			return err
		}
		c.cache().Forget(p.Session)
		e, err = txn.Run(ctx, j, st, p)
		return err
	})
	return e, err
}

// Recover finishes what a crash left in this store and returns the entries with
// their new states; none is the usual answer, and then nothing is written. The
// error is a [*txn.PendingError] for an entry that could not be decided.
func (c *Client) Recover(ctx context.Context) (done []change.Entry, err error) {
	pending, err := c.Pending()
	if err != nil || len(pending) == 0 {
		return nil, err
	}
	err = c.writing(func(j *journal.Journal, st txn.Store) error {
		done, err = c.recover(ctx, j, st)
		return err
	})
	return done, err
}

func (c *Client) recover(ctx context.Context, j *journal.Journal, st txn.Store) ([]change.Entry, error) {
	id := c.store.ID()
	pending, err := j.List(journal.Query{Store: &id, State: change.Pending})
	if err != nil {
		return nil, err
	}
	for _, e := range pending {
		c.cache().Forget(e.Session)
	}
	return txn.Recover(ctx, j, st, id)
}

// Sweep removes what a crash left beside the store and the journal, and which no
// entry needs. Where mend never wrote a journal, nothing is written. It finishes
// what is pending first, with the errors of [Client.Recover].
func (c *Client) Sweep(ctx context.Context) error {
	dir, err := c.opt.JournalDir()
	if err != nil {
		return err
	}
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return c.writing(func(j *journal.Journal, st txn.Store) error {
		_, err := c.recover(ctx, j, st)
		return err
	})
}

// Pending lists the entries of this store that a crash left undecided.
func (c *Client) Pending() ([]change.Entry, error) {
	id := c.store.ID()
	return c.opt.Log(journal.Query{Store: &id, State: change.Pending})
}

// Abandoned lists, below the store, what changes of another journal have staged
// there: of one that is at work, or of one that was cut and whose journal is gone.
// mend leaves that alone.
func (c *Client) Abandoned() (found []string, err error) {
	st, ok := c.store.(agent.Stager)
	if !ok {
		return nil, nil
	}
	err = c.opt.read(func(j *journal.Journal) error {
		found, err = st.Abandoned(j.ID())
		return err
	})
	return found, err
}

// Conflicted lists the entries of this store whose conflict nobody has decided.
func (c *Client) Conflicted() ([]change.Entry, error) {
	id := c.store.ID()
	return c.opt.Log(journal.Query{Store: &id, State: change.Conflicted})
}

// An UndoRequest says what shall be taken back: the entry ID, or all repairs of
// Session that are in force.
type UndoRequest struct {
	ID      string
	Session string
	Only    []string // of the entry's records, those named; nil for all
	Force   bool     // although records no longer hold what the repair left
}

// Errors of undo, redo and resolve.
var (
	ErrUndone       = errors.New("already undone")
	ErrNothingToDo  = errors.New("nothing to do")
	ErrNotCommitted = errors.New("only a committed repair can be undone")
	ErrNoConflict   = errors.New("not in conflict")
	ErrOtherStore   = errors.New("belongs to another store")
)

// ProposeUndo plans what takes entries back. It reads only; [Client.Apply]
// carries the plan out. A [*change.ConflictError] lists the records that no
// longer hold what the repair left.
func (c *Client) ProposeUndo(ctx context.Context, r UndoRequest) (p change.Plan, err error) {
	err = c.opt.read(func(j *journal.Journal) error {
		es, err := c.undoable(ctx, j, r)
		if err != nil {
			return err
		}
		p, err = c.revert(ctx, j, es, change.Cause{Kind: change.CauseUndo, Partial: r.Only != nil}, r)
		return err
	})
	return p, err
}

// undoable is the entries that the request means, oldest first.
func (c *Client) undoable(ctx context.Context, j *journal.Journal, r UndoRequest) ([]change.Entry, error) {
	if r.Session != "" {
		known, err := j.List(journal.Query{Session: r.Session, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(known) == 0 { // the beginning of an id is enough
			h, err := c.Session(ctx, r.Session)
			if err != nil {
				return nil, err
			}
			r.Session = h.ID
		}
		id := c.store.ID()
		es, err := j.List(journal.Query{Store: &id, Session: r.Session, State: change.Committed, InForce: true})
		if err != nil {
			return nil, err
		}
		if len(es) == 0 {
			return nil, fmt.Errorf("undoing the repairs of session %s: %w: none is in force", r.Session, ErrNothingToDo)
		}
		slices.Reverse(es)
		return es, nil
	}
	e, err := j.Get(r.ID)
	if err != nil {
		return nil, err
	}
	switch {
	case e.State != change.Committed:
		return nil, fmt.Errorf("undoing repair %s: %w: it is %s", e.ID, ErrNotCommitted, e.State)
	case e.UndoneBy != "":
		return nil, fmt.Errorf("undoing repair %s: %w by %s", e.ID, ErrUndone, e.UndoneBy)
	}
	return []change.Entry{e}, nil
}

// revert is the plan that takes back the entries, given oldest first.
func (c *Client) revert(ctx context.Context, j *journal.Journal, es []change.Entry, cause change.Cause, r UndoRequest) (change.Plan, error) {
	lists := make([][]change.Op, len(es))
	for i, e := range es {
		if !e.Store.Same(c.store.ID()) {
			return change.Plan{}, fmt.Errorf("repair %s: %w: %s", e.ID, ErrOtherStore, e.Store.Root)
		}
		ops, err := j.Ops(e)
		if err != nil {
			return change.Plan{}, fmt.Errorf("repair %s: %w", e.ID, err)
		}
		lists[i] = ops
		cause.Entries = append(cause.Entries, e.Seq)
	}
	ops, err := undo.Revert(lists...)
	var gap *change.ConflictError
	if err != nil && (!r.Force || !errors.As(err, &gap)) {
		return change.Plan{}, err
	}
	if r.Only != nil {
		if ops, err = undo.Select(ops, r.Only); err != nil {
			return change.Plan{}, err
		}
	}
	return c.rebase(ctx, j, es[len(es)-1], change.Plan{Session: es[0].Session, Cause: cause, Ops: ops}, r.Force)
}

// rebase fits the plan to what the records hold now, or tells why it does not
// fit. newest is the latest entry that the plan is about.
func (c *Client) rebase(ctx context.Context, j *journal.Journal, newest change.Entry, p change.Plan, force bool) (change.Plan, error) {
	now, current, err := c.current(ctx, p.Session, p.Ops)
	if err != nil {
		return change.Plan{}, err
	}
	if about, err := aboutOrphans(j, p.Cause); err != nil {
		return change.Plan{}, err
	} else if about {
		p.AllowMissingParent = true
		current = withParents(current, p.Ops)
	}
	if cs := undo.Conflicts(p.Ops, now, current); len(cs) > 0 && !force {
		return change.Plan{}, errors.Join(&change.ConflictError{Conflicts: cs}, later(j, cs, newest.Seq))
	}
	p.Ops = undo.Rebase(p.Ops, now)
	if len(p.Ops) == 0 {
		return change.Plan{}, fmt.Errorf("repair %s: %w: every record holds that already", newest.ID, ErrNothingToDo)
	}
	return p, nil
}

// later fills in which later repairs touched the records in conflict.
func later(j *journal.Journal, cs []change.Conflict, after uint64) error {
	for i := range cs {
		es, err := j.ListByRecord(cs[i].Ref, after)
		if err != nil {
			return err
		}
		for _, e := range es {
			cs[i].Later = append(cs[i].Later, e.ID)
		}
	}
	return nil
}

// ProposeRedo plans what takes back the undo that is in force for the entry. It
// reads only. Errors as of [Client.ProposeUndo].
func (c *Client) ProposeRedo(ctx context.Context, id string, force bool) (p change.Plan, err error) {
	err = c.opt.read(func(j *journal.Journal) error {
		e, err := j.Get(id)
		if err != nil {
			return err
		}
		if e.UndoneBy == "" {
			return fmt.Errorf("redoing repair %s: %w: it is not undone", e.ID, ErrNothingToDo)
		}
		u, err := j.Get(e.UndoneBy)
		if err != nil {
			return err
		}
		p, err = c.revert(ctx, j, []change.Entry{u}, change.Cause{Kind: change.CauseRedo}, UndoRequest{Force: force})
		return err
	})
	return p, err
}

// A Decision is what a user wants of a conflict.
type Decision string

// The decisions.
const (
	Keep    Decision = "keep"    // what is there stays
	Back    Decision = "back"    // what was there before the repair
	Forward Decision = "forward" // what the repair would have written
)

// ProposeResolve plans what carries out the decision on a conflicted entry. It
// reads only. A decision that needs no change, as Keep, gives an empty plan for
// [Client.Settle].
func (c *Client) ProposeResolve(ctx context.Context, id string, d Decision) (e change.Entry, p change.Plan, err error) {
	err = c.opt.read(func(j *journal.Journal) error {
		if e, err = j.Get(id); err != nil {
			return err
		}
		if e.State != change.Conflicted {
			return fmt.Errorf("resolving repair %s: %w: it is %s", e.ID, ErrNoConflict, e.State)
		}
		if !e.Store.Same(c.store.ID()) {
			return fmt.Errorf("resolving repair %s: %w: %s", e.ID, ErrOtherStore, e.Store.Root)
		}
		p = change.Plan{Session: e.Session, Cause: change.Cause{Kind: change.CauseResolve, Entries: []uint64{e.Seq}, Text: string(d)}}
		ops, err := j.Ops(e)
		if err != nil || d == Keep {
			return err
		}
		if d == Back {
			ops = change.Inverse(ops)
		}
		full := p
		full.Ops = ops
		if full, err = c.rebase(ctx, j, e, full, true); err == nil {
			p = full
		} else if errors.Is(err, ErrNothingToDo) {
			err = nil
		}
		return err
	})
	return e, p, err
}

// Resolve notes in the journal that the conflict of the entry is decided, by the
// entry named, or by leaving things as they are if by is "".
func (c *Client) Resolve(e change.Entry, d Decision, by string) (done change.Entry, err error) {
	err = c.opt.write(func(j *journal.Journal) error {
		done, err = j.Resolve(e, string(d), by)
		return err
	})
	return done, err
}
