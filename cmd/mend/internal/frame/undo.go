package frame

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"mend/change"
	"mend/cmd/mend/internal/show"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/journal"
)

// A Reversal plans the undo or the redo of repairs, session by session. To save memory it holds only the ids of the
// entries: it reads an entry, and makes a plan again, when it is needed.
type Reversal struct {
	*Env
	Ctx     context.Context
	DryRun  bool
	Request mend.UndoRequest // its IDs are set for each session
	Names   []string         // of repairs and operations
	Session string           // instead of names: all repairs of this session of this agent
	Agent   string
	Report  func(*SessionReversal) // reports the Err of a session, which is dropped then because it can be large; nil: Err stays

	Todo    []SessionReversal
	Changes int // of all plans

	stores map[change.StoreID]*storeResult
	at     map[sessionKey]int // index in Todo
}

// A SessionReversal is the reversal of one session.
type SessionReversal struct {
	IDs     []string // of its entries, newest first
	Session string
	*storeResult
	Repairs []string              // the ids of the repairs to undo or apply again
	Kind    change.CauseKind      // of the plan
	Bound   *change.BoundThinking // of the plan
	Err     error                 // why nothing is done, see [Reversal].Report
	plan    *change.Plan          // nil if there are several sessions, see [Reversal.MakePlan]
	seen    *uint64               // of the plan
	follows bool                  // an earlier reversal of the same session may restore it first
	order   int8                  // see [Reversal.projectOrder]
}

// A storeResult has an opened store, or the error of opening it.
type storeResult struct {
	Store     *mend.Store
	ErrOpened error
}

type sessionKey struct {
	root, session string
	transcript    bool // an entry that moves the whole transcript, without the files beside it
}

// Verb returns undo or redo.
func (v *Reversal) Verb() string {
	if v.Request.Redo {
		return "redo"
	}
	return "undo"
}

// IsNewest reports whether the user named nothing: the newest operation is reverted.
func (v *Reversal) IsNewest() bool { return len(v.Names) == 0 && v.Session == "" }

// Find finds the entries to revert, and returns their number. Of an operation it omits aborted entries, which changed
// nothing.
func (v *Reversal) Find() (n int, err error) {
	v.Todo, v.at = nil, map[sessionKey]int{}
	names := v.Names
	switch {
	case v.Session != "":
		return v.findOfSession()
	case v.IsNewest() && !v.Request.Redo:
		ids, err := Newest(v.Ctx, v.Env, v.Opt.Journal.Newest, "no change is in force")
		return v.add(journal.Query{IDs: show.NonNil(ids)}, err)
	case v.IsNewest():
		undos, err := Newest(v.Ctx, v.Env, v.Opt.Journal.NewestUndo, "no change is undone")
		if err == nil {
			names, err = v.RevertedEntries(undos)
		}
		if err != nil {
			return 0, err
		}
	}
	for _, name := range names {
		q, err := v.FindRepair(name)
		one, err := v.add(q, err)
		if err == nil && one == 0 {
			err = fmt.Errorf("operation %s: %w: nothing of it is left to %s", name, mend.ErrNothingToDo, v.Verb())
		}
		if n += one; err != nil {
			return n, err
		}
	}
	return n, nil
}

// findOfSession finds the session's repairs that are not undone, or else the pending ones: opening their
// store may finish them.
func (v *Reversal) findOfSession() (int, error) {
	for _, q := range []journal.Query{{State: change.Committed, InForce: true}, {State: change.Pending}} {
		q.Session, q.Agent = v.Session, v.Agent
		if n, err := v.add(q, nil); err != nil || n > 0 {
			return n, err
		}
	}
	return 0, fmt.Errorf("undoing the repairs of session %s: %w: it has no repair in force", v.Session, mend.ErrNothingToDo)
}

// add adds the entries that a query selects, in order, to the reversals of their sessions. failed is the error of making
// the query; add returns it.
func (v *Reversal) add(q journal.Query, failed error) (n int, err error) {
	if failed != nil {
		return 0, failed
	}
	for e, err := range v.Opt.Journal.Each(q) {
		if err != nil {
			return n, err
		}
		if q.Operation != 0 && (e.State == change.Aborted || e.State == change.Resolved || (e.UndoneBy != "") != v.Request.Redo) {
			continue
		}
		key := sessionKey{e.Store.Root, e.Session, e.Kind() == change.KindTranscript}
		i, ok := v.at[key]
		if !ok {
			if v.stores == nil {
				v.stores = map[change.StoreID]*storeResult{}
			}
			if v.stores[e.Store] == nil {
				v.stores[e.Store] = &storeResult{}
			}
			i = len(v.Todo)
			v.at[key] = i
			v.Todo = append(v.Todo, SessionReversal{Session: e.Session, storeResult: v.stores[e.Store], order: v.projectOrder(e)})
		}
		n, v.Todo[i].IDs = n+1, append(v.Todo[i].IDs, e.ID)
	}
	return n, nil
}

// Open opens the stores of the entries, which may finish an interrupted reversal. If there is only one store, Open
// returns the error of opening it.
func (v *Reversal) Open() (err error) {
	for _, s := range v.Todo {
		if o := s.storeResult; o.Store == nil && o.ErrOpened == nil {
			o.Store, o.ErrOpened = OpenEntryStore(v.Ctx, v.Env, v.Entry(s.IDs[0]), !v.DryRun)
		}
		if len(v.stores) == 1 {
			err = s.ErrOpened
		}
	}
	return err
}

// Plan plans the reversal of each session.
func (v *Reversal) Plan() {
	slices.SortStableFunc(v.Todo, func(a, b SessionReversal) int { return cmp.Compare(a.order, b.order) })
	several := len(v.Todo) > 1
	for _, o := range v.stores {
		if several && o.Store != nil {
			o.Store, o.ErrOpened = o.Store.ListOnce(v.Ctx)
		}
	}
	planned := map[string]bool{} // sessions
	bar := v.Progress(len(v.Todo), "planning")
	defer bar.Clear()
	for i := range v.Todo {
		s := &v.Todo[i]
		if s.Err = s.ErrOpened; s.Err == nil && v.Ctx.Err() == nil {
			var p change.Plan
			if p, s.Err = v.propose(s); s.Err == nil {
				s.Repairs, s.Err = v.revertedRepairs(p, s.IDs)
			}
			s.follows = planned[s.Session]
			planned[s.Session] = s.Err == nil
			if s.Err != nil && s.follows {
				s.Repairs, s.Err = s.IDs, nil
			}
			v.Changes += len(p.Ops)
			if s.Kind, s.Bound, s.seen = p.Cause.Kind, p.Cause.Bound, p.Seen; !several {
				s.plan = &p
			}
		}
		if s.Err != nil && v.Report != nil {
			bar.Clear()
			v.Report(s)
			s.Err = errReported
		}
		bar.Step()
	}
}

var errReported = errors.New("it was reported")

func (v *Reversal) propose(s *SessionReversal) (change.Plan, error) {
	v.Request.IDs = s.IDs
	p, err := s.Store.ProposeUndo(v.Ctx, v.Request)
	if err != nil {
		err = addUndoHint(err, v.Entry(s.IDs[0]))
	}
	return p, err
}

// projectOrder sorts reversals so that a project is created before its sessions are restored, and removed
// after them. A transcript is restored before the files beside it.
func (v *Reversal) projectOrder(e change.Entry) int8 {
	switch {
	case e.Kind() == change.KindTranscript && v.Request.Redo:
		return -1
	case len(e.Ops) == 0 || e.Ops[0].Ref.Kind != change.KindProject:
		return 0
	case e.Ops[0].Post == nil || v.Request.Redo:
		return -1
	}
	return 1
}

// MakePlan returns the plan of a session with its ops. If there are several sessions, it makes the plan again, so that
// only one plan is in memory.
func (v *Reversal) MakePlan(s *SessionReversal) (change.Plan, error) {
	if s.plan != nil {
		return *s.plan, nil
	}
	p, err := v.propose(s)
	if !s.follows {
		p.Seen = s.seen // the user has not seen later changes
	}
	return p, err
}

// addUndoHint adds the next step to the error of an undo: what to do if something new is at the path of removed
// content, or how to move a session back with what was added after the move.
func addUndoHint(err error, e change.Entry) error {
	conflict, ok := errors.AsType[*change.ConflictError](err)
	switch {
	case ok && len(conflict.Conflicts) > 0 && len(conflict.Conflicts[0].Later) > 0:
		return err // the error names what to undo first
	case ok && e.Kind() == change.KindRows:
		return fail.WithHint(err, "nothing was changed. First undo the change that restored some of these rows (\"mend log\"), or delete the archive: mend forget "+e.ID)
	case ok && e.Kind() == change.KindTree:
		path := filepath.Join(filepath.Dir(e.Store.Root), conflict.Conflicts[0].Ref.Project, conflict.Conflicts[0].Ref.Part)
		return fail.WithHint(err, "nothing was changed. Move away what was created there since, then run the command again: mv "+ShellWord(path)+" "+ShellWord(path+".new"))
	case !ok || e.Cause.Kind != change.CauseMove || e.Cause.Folder == "":
		return err
	}
	back := "mend move " + ShellWord(e.Cause.Text) + " " + ShellWord(e.Cause.Folder)
	return fail.WithHint(err, "nothing was changed. To move it back with what was added since: "+back+". To remove that, which the journal keeps: --force")
}

// PrintBound prints the effect of a plan on bound thinking.
func (env *Env) PrintBound(b *change.BoundThinking) {
	if what := b.Loses(); what != "" {
		env.SayAt(2, "Lost: %s", what)
	}
}

// revertedRepairs returns the ids of the repairs that a plan undoes or applies again, newest first. named are the ids
// of the entries that it reverts: of repairs, or of undos.
func (v *Reversal) revertedRepairs(p change.Plan, named []string) (ids []string, err error) {
	if p.Cause.Kind != change.CauseRedo {
		return named, nil
	}
	var undos []string
	for _, seq := range p.Cause.Entries {
		undos = append(undos, journal.IDOf(seq))
	}
	var repairs []uint64
	for u, err := range v.Opt.Journal.Each(journal.Query{IDs: show.NonNil(undos)}) {
		if err != nil {
			return nil, err
		}
		repairs = append(repairs, u.Cause.Entries...)
	}
	slices.Sort(repairs)
	for _, seq := range slices.Backward(slices.Compact(repairs)) {
		ids = append(ids, journal.IDOf(seq))
	}
	return ids, nil
}

// NameRepairs names repairs in a sentence, with their session if there is only one. first is one of the repairs.
func NameRepairs(repairs, sessions int, first change.Entry) string {
	name := show.QuotedTitle(first.Cause.Title, first.Session)
	switch {
	case sessions > 1:
		return fmt.Sprintf("%d repairs of %d sessions", repairs, sessions)
	case repairs > 1:
		return fmt.Sprintf("%d repairs of %s", repairs, name)
	}
	what := "repair"
	switch {
	case first.Cause.Kind == change.CauseRedo:
		what = "redo"
	case first.Cause.Kind == change.CauseUndo && !first.IsUndo():
		what = "restore"
	}
	return fmt.Sprintf("%s %s of %s", what, first.ID, name)
}
