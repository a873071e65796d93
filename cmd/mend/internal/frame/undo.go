package frame

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"mend/change"
	"mend/cmd/mend/internal/show"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/journal"
)

// A Reversal plans the undo or the redo of repairs, session by session.
type Reversal struct {
	*Env
	Ctx     context.Context
	DryRun  bool
	Verb    string   // undo or redo
	Names   []string // of repairs and operations
	Session string   // instead of names: all repairs of this session of this agent
	Agent   string
	List    func() ([]change.Entry, error) // instead of names: the entries to revert, newest first
	Wanted  func(change.Entry) bool        // the entries of an operation that are not reverted yet
	Propose func(c *mend.Store, es []change.Entry) (change.Plan, error)

	Stores map[change.StoreID]opened // nil: none is open yet
	Todo   []SessionReversal
	Counts recordCounts // of all plans
}

// A SessionReversal is the reversal of one session.
type SessionReversal struct {
	Entries []change.Entry // newest first
	Store   *mend.Store
	Plan    change.Plan    // without ops if there are several sessions, see [Reversal.Planned]
	Repairs []change.Entry // the repairs to undo or apply again
	Err     error          // why nothing is done
	follows bool           // an earlier reversal is of the same session and may restore it
}

type opened struct {
	*mend.Store
	Err error
}

// Entries returns the entries that the names mean, newest first, without aborted ones, which changed nothing.
func (v *Reversal) Entries() (all []change.Entry, err error) {
	switch {
	case v.List != nil:
		return v.List()
	case v.Session != "":
		return v.entriesOfSession()
	}
	for _, name := range v.Names {
		es, err := v.Opt.Journal.Find(name)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(name, "op-") {
			es = slices.DeleteFunc(es, func(e change.Entry) bool {
				return e.State == change.Aborted || e.State == change.Resolved || !v.Wanted(e)
			})
			if len(es) == 0 {
				return nil, fmt.Errorf("operation %s: %w: nothing of it is left to %s", name, mend.ErrNothingToDo, v.Verb)
			}
		}
		all = append(all, es...)
	}
	return all, nil
}

// entriesOfSession returns the session's repairs that are not undone, or else the pending ones: opening their
// store may finish them.
func (v *Reversal) entriesOfSession() ([]change.Entry, error) {
	for _, q := range []journal.Query{{State: change.Committed, InForce: true}, {State: change.Pending}} {
		q.Session, q.Agent = v.Session, v.Agent
		if es, err := v.Opt.Journal.Log(q); err != nil || len(es) > 0 {
			return es, err
		}
	}
	return nil, fmt.Errorf("undoing the repairs of session %s: %w: it has no repair in force", v.Session, mend.ErrNothingToDo)
}

// Open opens the stores of the entries. This may finish an interrupted reversal.
func (v *Reversal) Open(es []change.Entry) {
	for _, e := range es {
		if v.Stores == nil {
			v.Stores = map[change.StoreID]opened{}
		}
		if _, ok := v.Stores[e.Store]; !ok {
			c, err := OpenStoreOf(v.Ctx, v.Env, e, !v.DryRun)
			v.Stores[e.Store] = opened{c, err}
		}
	}
}

// Plan plans the reversal of each session.
func (v *Reversal) Plan(es []change.Entry) {
	for entries := range bySession(es) {
		v.Todo = append(v.Todo, SessionReversal{Entries: entries})
	}
	slices.SortStableFunc(v.Todo, func(a, b SessionReversal) int { return cmp.Compare(v.projectOrder(a), v.projectOrder(b)) })
	several := len(v.Todo) > 1
	for id, o := range v.Stores {
		if several && o.Err == nil {
			o.Store, o.Err = o.Listing(v.Ctx)
			v.Stores[id] = o
		}
	}
	planned := map[string]bool{} // sessions
	bar := v.Progress(len(v.Todo), "planning")
	defer bar.Clear()
	for i := range v.Todo {
		s := &v.Todo[i]
		c := v.Stores[s.Entries[0].Store]
		if s.Store, s.Err = c.Store, c.Err; s.Err == nil && v.Ctx.Err() == nil {
			s.Plan, s.Err = v.Propose(s.Store, s.Entries)
			if s.Err = addUndoHint(s.Err, s.Entries[0]); s.Err == nil {
				s.Repairs, s.Err = v.revertedRepairs(s.Plan, s.Entries)
			}
			s.follows = planned[s.Entries[0].Session]
			planned[s.Entries[0].Session] = s.Err == nil
			if s.Err != nil && s.follows {
				s.Repairs, s.Err = s.Entries, nil
			}
			v.Counts.add(s.Plan.Ops)
			if several {
				s.Plan.Ops = nil
			}
		}
		bar.Step()
	}
}

// bySession sorts the entries by session, and yields those of each session. Sessions and their entries stay in order.
func bySession(es []change.Entry) iter.Seq[[]change.Entry] {
	at := map[string]int{}
	session := make(map[uint64]int, len(es)) // by the number of the entry
	for _, e := range es {
		key := e.Store.Root + "\x00" + e.Session
		if e.Kind() == change.KindTranscript { // it is moved as a whole, without the files beside it
			key += "\x00"
		}
		if _, ok := at[key]; !ok {
			at[key] = len(at)
		}
		session[e.Seq] = at[key]
	}
	slices.SortStableFunc(es, func(a, b change.Entry) int { return cmp.Compare(session[a.Seq], session[b.Seq]) })
	return func(yield func([]change.Entry) bool) {
		for len(es) > 0 {
			n := 1
			for n < len(es) && session[es[n].Seq] == session[es[0].Seq] {
				n++
			}
			if !yield(es[:n:n]) {
				return
			}
			es = es[n:]
		}
	}
}

// projectOrder sorts reversals so that a project is created before its sessions are restored, and removed
// after them. A transcript is restored before the files beside it.
func (v *Reversal) projectOrder(s SessionReversal) int {
	ops := s.Entries[0].Ops
	switch {
	case s.Entries[0].Kind() == change.KindTranscript && v.Verb == "redo":
		return -1
	case len(ops) == 0 || ops[0].Ref.Kind != change.KindProject:
		return 0
	case ops[0].Post == nil || v.Verb == "redo":
		return -1
	}
	return 1
}

// Planned returns the plan of a session with its ops. Plans of several sessions are made again, so that only
// one is in memory.
func (v *Reversal) Planned(s *SessionReversal) (change.Plan, error) {
	if len(v.Todo) == 1 {
		return s.Plan, nil
	}
	p, err := v.Propose(s.Store, s.Entries)
	if !s.follows {
		p.Seen = s.Plan.Seen // later changes were not shown
	}
	return p, addUndoHint(err, s.Entries[0])
}

// addUndoHint adds the next step to an error: what to do if something new is at the path of removed content, and how to
// move a session back that was moved and has been continued since, with its present content.
func addUndoHint(err error, e change.Entry) error {
	conflict, ok := errors.AsType[*change.ConflictError](err)
	switch {
	case ok && len(conflict.Conflicts) > 0 && len(conflict.Conflicts[0].Later) > 0:
		return err // it names what to undo first
	case ok && e.Kind() == change.KindRows:
		return fail.WithHint(err, "nothing was changed. First undo the change that restored rows of it (\"mend log\"), or delete the archive: mend forget "+e.ID)
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
func (env *Env) PrintBound(p change.Plan) {
	if what := p.Cause.Bound.Loses(); what != "" {
		env.SayAt(2, "Lost: "+what)
	}
}

// revertedRepairs returns the repairs that a plan undoes, which are named, or applies again, newest first.
func (v *Reversal) revertedRepairs(p change.Plan, named []change.Entry) ([]change.Entry, error) {
	if p.Cause.Kind != change.CauseRedo {
		return named, nil
	}
	es, err := v.Opt.Journal.Log(journal.Query{Session: p.Session})
	var seqs []uint64
	for _, e := range es {
		if slices.Contains(p.Cause.Entries, e.Seq) {
			seqs = append(seqs, e.Cause.Entries...)
		}
	}
	return slices.DeleteFunc(es, func(e change.Entry) bool { return !slices.Contains(seqs, e.Seq) }), err
}

// NameRepairs names repairs in a sentence, with their session if there is only one.
func NameRepairs(repairs []change.Entry) string {
	sessions := map[string]bool{}
	for _, e := range repairs {
		sessions[e.Session] = true
	}
	name := show.QuotedTitle(repairs[0].Cause.Title, repairs[0].Session)
	switch {
	case len(sessions) > 1:
		return fmt.Sprintf("%d repairs of %d sessions", len(repairs), len(sessions))
	case len(repairs) > 1:
		return fmt.Sprintf("%d repairs of %s", len(repairs), name)
	}
	what := "repair"
	switch e := repairs[0]; {
	case e.Cause.Kind == change.CauseRedo:
		what = "redo"
	case e.Cause.Kind == change.CauseUndo && !e.IsUndo():
		what = "restore"
	}
	return fmt.Sprintf("%s %s of %s", what, repairs[0].ID, name)
}

// recordCounts counts the messages or parts that ops restore, create, change and delete, by verb.
type recordCounts struct {
	byVerb map[string]int
	all    int // including folders
}

func (n *recordCounts) add(ops []change.Op) {
	if n.byVerb == nil {
		n.byVerb = map[string]int{}
	}
	n.all += len(ops)
	for _, o := range ops {
		if o.Ref.Kind != change.KindFolder {
			n.byVerb[show.OpWord(o)]++
		}
	}
}

// Text returns the numbers in words.
func (n *recordCounts) Text(why change.CauseKind) string {
	var words []string
	for _, verb := range []string{"create", "change", "delete", "move away", "put back"} {
		k := n.byVerb[verb]
		if verb == "change" && why == change.CauseUndo {
			verb = "restore"
		}
		if k > 0 {
			words = append(words, fmt.Sprintf("%s %s", verb, term.Count(k, "item")))
		}
	}
	if len(words) == 0 {
		return "change " + term.Count(n.all, "folder")
	}
	return strings.Join(words, ", ")
}
