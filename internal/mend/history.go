package mend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"mend/change"
	"mend/internal/fail"
	"mend/journal"
	"mend/txn"
	"mend/undo"
)

// Apply writes a plan to the journal and applies it atomically. First it recovers this store after a crash;
// entries that cannot be recovered block only plans for the same records. The entry is committed if and only
// if the error is nil. The error is one of [txn.Run] or [Store.Recover], or of opening the journal or the
// store, or a [*StaleError] if another process of mend changed the session after the plan was made.
func (c *Store) Apply(ctx context.Context, p change.Plan) (e change.Entry, err error) {
	err = c.withWriter(p.AgentVersion, func(j *journal.Journal, st txn.Store) error {
		_, err := c.recover(ctx, j, st)
		var left txn.UndecidedError
		if err != nil && !errors.As(err, &left) {
			return err
		}
		for _, l := range left {
			if l.Entry.Blocks(p) {
				return txn.UndecidedError{l}
			}
			p.Undecided = append(p.Undecided, l.Entry.Dir)
		}
		if err := checkSeen(j, c.store.ID(), p); err != nil {
			return err
		}
		if err := c.checkProject(ctx, j, p); err != nil {
			return err
		}
		c.cache().Forget(p.Session)
		p.Operation = c.journal.operation
		e, err = txn.Run(ctx, j, st, p)
		if l := c.journal; l.joins && l.operation == 0 {
			l.operation = e.Operation // 0 after an error
		}
		return err
	})
	return e, err
}

// A StaleError reports that the journal has a newer change of the session than the plan. The planned change may already
// have been made, or undone, even if every record is unchanged. Nothing was changed.
type StaleError struct{ Entry change.Entry }

func (e *StaleError) Error() string {
	return "mend changed the session meanwhile: its newest change is " + e.Entry.ID
}

// Failure gives the error its exit code and its hint, see [fail.Classify].
func (e *StaleError) Failure() (fail.Code, string) {
	return fail.Conflict, fmt.Sprintf("nothing was changed: \"mend log %s\" shows that change; run the command again to "+
		"plan after it", e.Entry.ID)
}

// checkSeen returns a [*StaleError] if the journal has a change of the plan's session that is newer than the plan.
func checkSeen(j *journal.Journal, store change.StoreID, p change.Plan) error {
	if p.Seen == nil {
		return nil
	}
	e, found, err := j.ChangedSince(*p.Seen, store, p.Session)
	if found {
		err = &StaleError{e}
	}
	return err
}

// newestEvent returns [change.Plan.Seen] for a new plan. It ignores a journal that cannot be read, because a dry run
// needs none; Apply reports that error.
func (c *Store) newestEvent() *uint64 {
	var n uint64
	if c.journal.readJournal(true, func(j *journal.Journal) error { n = j.NewestEvent(); return nil }) != nil {
		return nil
	}
	return &n
}

// Recover finishes or reverts the changes in this store that a crash interrupted, and returns their entries with the
// new states. If there are none, it writes nothing; but with sweep it removes files beside the store and the journal
// that no entry needs. The error is a [txn.UndecidedError] with the undecided entries.
func (c *Store) Recover(ctx context.Context, sweep bool) (done []change.Entry, err error) {
	if sweep {
		dir, err := c.journal.Folder()
		if err != nil {
			return nil, err
		}
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) { // do not create a journal
			_, err := c.Sweep(ctx) // the files of a process that was killed before its first change
			return nil, err
		}
	} else if pending, err := c.Log(ctx, journal.Query{State: change.Pending}); err != nil || len(pending) == 0 {
		return nil, err
	}
	err = c.withWriter("", func(j *journal.Journal, st txn.Store) error {
		done, err = c.recover(ctx, j, st)
		return err
	})
	return done, err
}

func (c *Store) recover(ctx context.Context, j *journal.Journal, st txn.Store) ([]change.Entry, error) {
	pending, err := j.List(journal.Query{State: change.Pending})
	if err != nil {
		return nil, err
	}
	pending = c.OwnedEntries(ctx, pending)
	for _, e := range pending {
		c.cache().Forget(e.Session)
	}
	return txn.Recover(ctx, j, st, c.store.ID(), pending)
}

// An UndoRequest selects the entries to undo, all of one session.
type UndoRequest struct {
	IDs   []string
	Only  []string // undo only these records; nil: all
	Force bool     // even if records have changed since the repair
	Redo  bool     // undo the newest undo of each entry instead
	Named bool     // the user named the store: it is enough that it resembles the missing store of the entries
}

// Errors that undo, redo and resolve return.
var (
	ErrUndone      error = fail.New(fail.Refused, `"mend undo --redo ID" applies it again`, "already undone")
	ErrNothingToDo error = fail.New(fail.Refused, "", "nothing to do")
	errElsewhere         = errors.New("is in another folder now")
	errOtherStore  error = fail.New(fail.Refused,
		"leave out --store to use that one. A copy is used only when it is gone", "belongs to another store")
)

// ProposeUndo plans the undo of entries. It only reads: [Store.Apply] applies the plan. A
// [*change.ConflictError] lists the records that have changed since the repair.
func (c *Store) ProposeUndo(ctx context.Context, r UndoRequest) (p change.Plan, err error) {
	if err := c.Changeable(ctx); err != nil {
		return p, err
	}
	valid, moved := 0, false
	err = c.journal.read(func(j *journal.Journal) error {
		if r.Redo {
			p, valid, err = c.redo(ctx, j, r)
			return err
		}
		es, err := undoable(j, r)
		if errors.Is(err, ErrUndone) {
			return fmt.Errorf("%w; %s", err, c.secondUndo(ctx, j, r))
		}
		if err != nil {
			return err
		}
		cause := change.Cause{Kind: change.CauseUndo, Partial: r.Only != nil}
		if !cause.Partial && !slices.ContainsFunc(es, func(e change.Entry) bool { return !e.IsUndo() }) {
			cause = redoCause(es)
		}
		valid = countSpoiled(es)
		moved = !slices.ContainsFunc(es, func(e change.Entry) bool { return e.Cause.Kind != change.CauseMove })
		p, err = c.revert(ctx, j, es, cause, r)
		if err == nil && cause.Kind == change.CauseUndo && !r.Force {
			err = checkAgain(j, es[len(es)-1], p)
		}
		return err
	})
	if err == nil && !moved { // a move changes no conversation
		p.Cause.Bound = c.spoiledThinking(ctx, p, valid, nil)
	}
	return p, err
}

// secondUndo describes the effect of undoing an entry again.
func (c *Store) secondUndo(ctx context.Context, j *journal.Journal, r UndoRequest) string {
	es, err := entriesOf(j, r.IDs)
	var p change.Plan
	if err == nil {
		p, err = c.revert(ctx, j, es, change.Cause{Kind: change.CauseUndo}, UndoRequest{})
	}
	var conflict *change.ConflictError
	switch {
	case errors.Is(err, ErrNothingToDo):
		return "a second undo would change nothing: every record is as before the repair"
	case errors.As(err, &conflict):
		return fmt.Sprintf("a second undo would not be possible, because records have changed since (%d)", len(conflict.Conflicts))
	case err != nil:
		return fmt.Sprintf("the effect of a second undo is unknown: %v", err)
	}
	return fmt.Sprintf("a second undo would take effect: records hold again what the repair wrote (%d)", len(p.Ops))
}

// undoable returns the entries of the request, oldest first.
func undoable(j *journal.Journal, r UndoRequest) ([]change.Entry, error) {
	es, err := entriesOf(j, r.IDs)
	for _, e := range es {
		switch {
		case e.State != change.Committed:
			return nil, fail.New(fail.Refused, `"mend log ID" shows its state; "mend recover ID" resolves a conflict`,
				"undoing repair %s: only a repair that is done can be undone: it is %s", e.ID, StateWord(e.State))
		case e.UndoneBy != "":
			return nil, fmt.Errorf("undoing repair %s: %w by %s", e.ID, ErrUndone, e.UndoneBy)
		}
	}
	return es, err
}

// entriesOf returns the entries with the ids, oldest first, each once.
func entriesOf(j *journal.Journal, ids []string) ([]change.Entry, error) {
	var es []change.Entry
	for _, id := range ids {
		e, err := j.Get(id)
		if err != nil {
			return nil, err
		}
		es = append(es, e)
	}
	slices.SortFunc(es, func(a, b change.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	return slices.CompactFunc(es, func(a, b change.Entry) bool { return a.Seq == b.Seq }), nil
}

// revert returns the plan that undoes the entries, which are oldest first.
func (c *Store) revert(
	ctx context.Context, j *journal.Journal, es []change.Entry, cause change.Cause, r UndoRequest,
) (change.Plan, error) {
	lists, reverts, version := make([][]change.Op, len(es)), []*change.AppendPoint(nil), ""
	archive := false // the data is in an archive, which is restored as a whole and overwrites nothing
	for i, e := range es {
		archive = archive || e.Kind() == change.KindRows || e.Kind() == change.KindTree
		if owns, likely := c.owns(ctx, e); !owns && (!r.Named || !likely) {
			return change.Plan{}, fmt.Errorf("repair %s: %w: %s", e.ID, errOtherStore, e.Store.Root)
		}
		ops, err := j.Ops(e)
		if err != nil {
			return change.Plan{}, fmt.Errorf("repair %s: %w", e.ID, err)
		}
		lists[i] = ops
		reverts = append(reverts, e.Append)
		cause.Entries = append(cause.Entries, e.Seq)
		cause.Title, cause.Folder = e.Cause.Title, e.Cause.Folder
		if e.Actor != nil {
			version = e.Actor.AgentVersion
		}
		es[i].Ops, es[i].Cause = nil, change.Cause{} // no longer needed, and large
	}
	ops, err := undo.Revert(lists...)
	var gap *change.ConflictError
	if err != nil && (!r.Force || !errors.As(err, &gap)) {
		return change.Plan{}, err
	}
	if r.Only != nil {
		if undo.Moves(ops) {
			return change.Plan{}, fail.New(fail.Refused, "without --only all of it is reverted",
				"repair %s moved a session and all files beside it: they cannot be reverted separately", es[len(es)-1].ID)
		}
		if ops, err = undo.Select(ops, r.Only); err != nil {
			return change.Plan{}, err
		}
	}
	seen := j.NewestEvent()
	return c.rebase(ctx, j, es[len(es)-1],
		change.Plan{
			Session: es[0].Session, Cause: cause, Ops: ops, Force: r.Force, AgentVersion: version, Seen: &seen,
			Reverts: reverts,
		}, r.Force && !archive)
}

// rebase adapts the plan to the current records. The error names the reason if that is not possible, and the
// later changes that prevent it. newest is the newest entry of the plan.
func (c *Store) rebase(
	ctx context.Context, j *journal.Journal, newest change.Entry, p change.Plan, force bool,
) (change.Plan, error) {
	var err error
	if p.AllowMissingParent, err = changesOrphans(j, p.Cause); err != nil {
		return change.Plan{}, err
	}
	nothing := fmt.Errorf("repair %s: %w: every record already has that content", newest.ID, ErrNothingToDo)
	if len(p.Ops) == 0 {
		return change.Plan{}, nothing
	}
	done, err := c.adapt(ctx, p, force)
	if err == nil && len(done.Ops) == 0 {
		err = nothing
	}
	late := p.Ops[0].Ref.Kind == change.KindRows || p.Session == change.NoSession // a later change may prevent it
	if _, conflict := errors.AsType[*change.ConflictError](err); !late && !conflict && !errors.Is(err, ErrNothingToDo) &&
		!errors.Is(err, errElsewhere) {
		return done, err
	}
	later, errLater := c.later(ctx, j, newest, p)
	switch {
	case errLater != nil:
		return change.Plan{}, errors.Join(err, errLater)
	case err != nil:
		return done, nameLater(err, p, later)
	}
	return done, checkOrder(newest, p, later)
}

// adapt returns the plan for the current records, without ops if every record already has the planned
// content.
func (c *Store) adapt(ctx context.Context, p change.Plan, force bool) (change.Plan, error) {
	now, current, err := c.current(ctx, p.Session, p.Ops)
	if err != nil {
		return change.Plan{}, err
	}
	if p.AllowMissingParent {
		current = withParents(current, p.Ops)
	}
	if p.Session == change.NoSession && current == nil {
		current = []change.Ref{} // not nil: no session is missing
	}
	defaults, err := c.defaultRows(ctx, p.Ops, now)
	if err != nil {
		return change.Plan{}, err
	}
	p.Ops = undo.AddColumns(p.Ops, now, defaults)
	if cs := undo.Conflicts(p.Ops, now, current); len(cs) > 0 && !force {
		return change.Plan{}, &change.ConflictError{Conflicts: cs}
	}
	if err := c.checkElsewhere(ctx, p.Ops, now); err != nil {
		return change.Plan{}, err
	}
	p.Ops = undo.Rebase(p.Ops, now)
	return p, c.checkLinks(ctx, p)
}

// checkElsewhere returns an error if a session of the ops is in another folder now: the ops would create it twice, or
// leave its record behind. now[i] is the current content of the record of ops[i].
func (c *Store) checkElsewhere(ctx context.Context, ops []change.Op, now []*change.Image) error {
	present := map[string]bool{} // sessions with a record at one of the paths of the ops
	for i, o := range ops {
		if o.Ref.Kind == change.KindSession {
			present[o.Ref.Session] = present[o.Ref.Session] || now[i] != nil
		}
	}
	for _, o := range ops {
		if o.Ref.Kind != change.KindSession || present[o.Ref.Session] {
			continue
		}
		head, found, err := c.find(ctx, o.Ref.Session)
		if err != nil {
			return err
		}
		if !found || head.Ref.Session == "" {
			continue
		}
		return fail.New(fail.Refused, fmt.Sprintf("\"mend log %s\" lists what was done since: undo the newest first",
			o.Ref.Session),
			"session %s %w (%s): its record there would stay", o.Ref.Session, errElsewhere, head.Directory)
	}
	return nil
}

// defaultRows returns the default rows of the tables of records that ops create.
func (c *Store) defaultRows(
	ctx context.Context, ops []change.Op, now []*change.Image,
) (map[change.Kind]change.Record, error) {
	rows := map[change.Kind]change.Record{}
	for i, o := range ops {
		if _, known := rows[o.Ref.Kind]; known || now[i] != nil || o.Post == nil {
			continue
		}
		row, err := c.store.DefaultRow(ctx, o.Ref.Kind)
		if err != nil {
			return nil, err
		}
		rows[o.Ref.Kind] = row
	}
	return rows, nil
}

// redo plans the undo of the newest undo of each entry.
func (c *Store) redo(ctx context.Context, j *journal.Journal, r UndoRequest) (p change.Plan, valid int, err error) {
	es, err := entriesOf(j, r.IDs)
	if err != nil {
		return p, 0, err
	}
	var undos []string
	for _, e := range es {
		if e.UndoneBy == "" {
			return p, 0, fmt.Errorf("redoing repair %s: %w: it is not undone", e.ID, ErrNothingToDo)
		}
		undos = append(undos, e.UndoneBy)
	}
	if es, err = entriesOf(j, undos); err != nil {
		return p, 0, err
	}
	valid = countSpoiled(es)
	p, err = c.revert(ctx, j, es, redoCause(es), UndoRequest{Force: r.Force, Named: r.Named})
	return p, valid, err
}

// redoCause returns the cause of a change that reverts undos. Its text names the repairs, for the log.
func redoCause(undos []change.Entry) change.Cause {
	var redone []string
	for _, u := range undos {
		for _, seq := range u.Cause.Entries {
			redone = append(redone, journal.IDOf(seq))
		}
	}
	return change.Cause{Kind: change.CauseRedo, Text: strings.Join(redone, ", ")}
}

// A Decision resolves a conflict.
type Decision string

// The decisions.
const (
	Keep    Decision = "keep"    // the records stay unchanged
	Back    Decision = "back"    // restore the content before the repair
	Forward Decision = "forward" // write the content that the repair planned
)

// ProposeResolve plans a decision on an entry that is in conflict, or that [Store.Recover] could not decide. It only
// reads. The plan is empty if the decision changes nothing, as with Keep. Call [Journal.GiveUp] before applying the
// plan, and [Journal.Resolve] to end the conflict.
func (c *Store) ProposeResolve(ctx context.Context, id string, d Decision) (e change.Entry, p change.Plan, err error) {
	if err := c.Changeable(ctx); err != nil && d != Keep {
		return e, p, err
	}
	err = c.journal.read(func(j *journal.Journal) error {
		if e, err = findUnresolved(j, id); err != nil {
			return err
		}
		if !c.Owns(ctx, e) {
			return fmt.Errorf("resolving repair %s: %w: %s", e.ID, errOtherStore, e.Store.Root)
		}
		seen := j.NewestEvent()
		p = change.Plan{
			Session: e.Session,
			Cause: change.Cause{
				Kind: change.CauseResolve, Entries: []uint64{e.Seq}, Text: string(d), Title: e.Cause.Title, Folder: e.Cause.Folder,
			},
			Seen: &seen,
		}
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

// FindUnresolved returns the entry with that id if it is pending or in conflict.
func (l *Journal) FindUnresolved(id string) (change.Entry, error) {
	return readOf(l, func(j *journal.Journal) (change.Entry, error) { return findUnresolved(j, id) })
}

func findUnresolved(j *journal.Journal, id string) (change.Entry, error) {
	e, err := j.Get(id)
	if err == nil && e.State != change.Conflicted && e.State != change.Pending {
		err = notInConflict(e.ID, e.State)
	}
	return e, err
}

// GiveUp marks a pending entry as in conflict, so that recovery skips it, and returns the updated entry and plan.
// Other entries stay unchanged.
func (l *Journal) GiveUp(e change.Entry, p change.Plan) (change.Entry, change.Plan, error) {
	if e.State != change.Pending {
		return e, p, nil
	}
	err := l.write(l.Actor, nil, func(j *journal.Journal) (err error) {
		if err = checkSeen(j, e.Store, p); err != nil {
			return err
		}
		e, err = j.Finish(e, change.Outcome{State: change.Conflicted})
		n := j.NewestEvent()
		p.Seen = &n
		return err
	})
	return e, p, err
}

// Resolve records in the journal that the conflict is resolved: by the entry with the id by, or without a
// change if by is "".
func (l *Journal) Resolve(e change.Entry, d Decision, by string) (done change.Entry, err error) {
	err = l.write(l.Actor, nil, func(j *journal.Journal) error {
		done, err = j.Resolve(e, string(d), by)
		var state *journal.StateError
		if errors.As(err, &state) {
			err = notInConflict(e.ID, state.State)
		}
		return err
	})
	return done, err
}

// StateWord returns the word for a state of an entry in output.
func StateWord(s change.State) string {
	if s == change.Committed {
		return "done"
	}
	return string(s)
}

func notInConflict(id string, state change.State) error {
	return fail.New(fail.Refused, "", "resolving repair %s: not in conflict: it is %s", id, StateWord(state))
}

// changesOrphans reports whether a plan with that cause undoes or redoes a removal by "mend fix --orphans" of
// earlier versions: records without a session.
func changesOrphans(j *journal.Journal, cause change.Cause) (bool, error) {
	if cause.Kind == change.CauseOrphans {
		return true, nil
	}
	for _, seq := range cause.Entries {
		earlier, err := j.CauseOf(seq)
		if err != nil {
			return false, err
		}
		if orphans, err := changesOrphans(j, earlier); orphans || err != nil {
			return orphans, err
		}
	}
	return false, nil
}

// withParents returns current and the refs of the messages that the ops' records belong to. The result is not nil,
// because nil means that the session does not exist.
func withParents(current []change.Ref, ops []change.Op) []change.Ref {
	all := append([]change.Ref{}, current...)
	seen := map[string]bool{}
	for _, r := range all {
		seen[r.Message] = seen[r.Message] || r.Kind == change.KindMessage
	}
	for _, o := range ops {
		if m := o.Ref.Message; m != "" && !seen[m] {
			seen[m] = true
			all = append(all, change.Ref{Kind: change.KindMessage, Session: o.Ref.Session, Message: m})
		}
	}
	return all
}
