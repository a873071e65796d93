package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mend/change"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/journal"
)

// writeFlags are the flags common to verbs that write.
type writeFlags struct{ dryRun, yes, force, patch bool }

// addPatch adds --patch.
func (f *writeFlags) addPatch(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.patch, "patch", "p", false, "show the diff of every change, in your pager")
}

// add adds the common flags. force describes --force; "" leaves that out.
func (f *writeFlags) add(cmd *cobra.Command, force string) {
	fl := cmd.Flags()
	fl.BoolVar(&f.dryRun, "dry-run", false, "show what would be done; write nothing")
	fl.BoolVarP(&f.yes, "yes", "y", false, "answer yes to all questions")
	if force != "" {
		fl.BoolVar(&f.force, "force", false, force)
	}
}

func undoVerb(env *environment) *cobra.Command {
	var f undoFlags
	cmd := &cobra.Command{
		Use:   "undo [ID]",
		Short: "Undo the last change, or another one",
		Long: `Undo restores the data that a change of mend replaced: the same bytes, names and modes as
before. The undo is itself an entry of the journal. With --redo, an undone change is applied
again.

ID is the id of a repair, or of an operation: all changes of one run of mend, such as
"mend fix" without a session. The start of an id is enough. Without an id, undo reverts the
newest operation in the journal that is in force and is not itself an undo, in any store. It
may be a restore, a redo, a clean, or a repair by the plugin, a hook or "mend watch". With
--redo and without an id, the last undone operation is applied again. The change is shown
before you are asked.

If something has changed the same records since, undo does not change that session, and shows
them as they were before, as the repair wrote them, and as they are now. The other
sessions of an operation are still restored; run undo again for the rest.`,
		Example: `  mend undo                     what the last run of mend changed
  mend undo --redo              what was undone last, again
  mend undo bak                 the start of an id is enough
  mend undo op-bakobe           all repairs of an operation (mend log)
  mend undo --session ses_abc   all repairs of a session
  mend undo bak --only prt_1    only this change`,
		Args: atMostOne("repair"),
		RunE: func(cmd *cobra.Command, ids []string) error {
			switch {
			case len(ids) == 1 && f.session != "":
				return usagef("undo needs a repair id, or --session SESSION")
			case len(ids) == 0 && f.only != nil:
				return usagef("--only needs a repair id")
			case f.redo && (f.session != "" || f.only != nil):
				return usagef("--redo applies again everything that an undo reverted: it cannot be combined with --session or --only")
			}
			return runUndo(cmd.Context(), env, ids, f)
		},
	}
	f.add(cmd)
	fl := cmd.Flags()
	fl.BoolVar(&f.redo, "redo", false, "apply again what was undone")
	fl.StringVar(&f.session, "session", "", "undo every repair of this `SESSION` in one step")
	fl.StringSliceVar(&f.only, "only", nil, "undo only these changes of the repair")
	return cmd
}

// redoVerb is the former name of undo --redo.
func redoVerb(env *environment) *cobra.Command {
	f := undoFlags{redo: true}
	cmd := &cobra.Command{
		Use: "redo [ID]", Short: "Apply an undone repair again: mend undo --redo", Args: atMostOne("repair"),
		RunE: func(cmd *cobra.Command, ids []string) error { return runUndo(cmd.Context(), env, ids, f) },
	}
	f.add(cmd)
	return cmd
}

// undoFlags are the flags of undo.
type undoFlags struct {
	writeFlags
	redo    bool
	session string
	only    []string
}

func (f *undoFlags) add(cmd *cobra.Command) {
	f.writeFlags.add(cmd, "overwrite newer changes; the current bytes are saved to the journal first")
	f.addPatch(cmd)
}

func runUndo(ctx context.Context, env *environment, ids []string, f undoFlags) error {
	release := env.opt.Journal.Hold()
	defer release()
	r := mend.UndoRequest{Only: f.only, Force: f.force, Redo: f.redo, Named: env.opt.Store != ""}
	v := undoRun{flags: f.writeFlags, release: release, one: f.only != nil, named: len(ids) > 0 || f.session != "", reversal: reversal{
		environment: env, ctx: ctx, dryRun: f.dryRun, names: ids, verb: "undo",
		wanted: func(e change.Entry) bool { return (e.UndoneBy != "") == f.redo },
		propose: func(c *mend.Store, es []change.Entry) (change.Plan, error) {
			r.IDs = idsOf(es)
			return c.ProposeUndo(ctx, r)
		},
	}}
	if f.redo {
		v.verb = "redo"
	}
	switch {
	case f.session != "":
		found, err := findSessions(ctx, env, []string{f.session})
		if err != nil {
			return err
		}
		v.session = found[0].ID
	case len(ids) > 0:
	case f.redo:
		undos, err := newest(ctx, env, env.opt.Journal.NewestUndo, "no change is undone")
		if err != nil {
			return err
		}
		v.names = undoneBy(undos)
	default:
		v.list = func() ([]change.Entry, error) {
			return newest(ctx, env, env.opt.Journal.Newest, "no change is in force")
		}
	}
	return v.run()
}

// An undoRun shows a reversal, asks, and makes it.
type undoRun struct {
	reversal
	flags   writeFlags
	release func() // of the journal, see [mend.Journal.Hold]
	named   bool   // the user named the repairs
	one     bool   // only one repair can be meant: --only names its records
}

// undoneBy returns the names of the entries that undos reverted, one for each group that was reverted
// together.
func undoneBy(undos []change.Entry) (ids []string) {
	for _, u := range undos {
		ids = append(ids, journal.IDOf(u.Cause.Entries[0]))
	}
	return ids
}

// A reversal plans the undo or the redo of repairs, session by session.
type reversal struct {
	*environment
	ctx     context.Context
	dryRun  bool
	verb    string                         // undo or redo
	names   []string                       // of repairs and operations
	session string                         // instead of names: all repairs of this session
	list    func() ([]change.Entry, error) // instead of names: the entries to revert, newest first
	wanted  func(change.Entry) bool        // the entries of an operation that are not reverted yet
	propose func(c *mend.Store, es []change.Entry) (change.Plan, error)

	stores map[change.StoreID]opened // nil: none is open yet
	todo   []sessionReversal
	counts recordCounts // of all plans
}

// A sessionReversal is the reversal of one session.
type sessionReversal struct {
	entries []change.Entry // newest first
	store   *mend.Store
	plan    change.Plan    // without ops if there are several sessions, see [reversal.planned]
	repairs []change.Entry // the repairs to undo or apply again
	err     error          // why nothing is done
	follows bool           // an earlier reversal is of the same session and may restore it
}

type opened struct {
	*mend.Store
	err error
}

// entries returns the entries that the names mean, newest first, without aborted ones, which changed nothing.
func (v *reversal) entries() (all []change.Entry, err error) {
	switch {
	case v.list != nil:
		return v.list()
	case v.session != "":
		return v.entriesOfSession()
	}
	for _, name := range v.names {
		es, err := v.opt.Journal.Find(name)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(name, "op-") {
			es = slices.DeleteFunc(es, func(e change.Entry) bool {
				return e.State == change.Aborted || e.State == change.Resolved || !v.wanted(e)
			})
			if len(es) == 0 {
				return nil, fmt.Errorf("operation %s: %w: nothing of it is left to %s", name, mend.ErrNothingToDo, v.verb)
			}
		}
		all = append(all, es...)
	}
	return all, nil
}

// entriesOfSession returns the session's repairs that are not undone, or else the pending ones: opening their
// store may finish them.
func (v *reversal) entriesOfSession() ([]change.Entry, error) {
	for _, q := range []journal.Query{{State: change.Committed, InForce: true}, {State: change.Pending}} {
		q.Session = v.session
		if es, err := v.opt.Journal.Log(q); err != nil || len(es) > 0 {
			return es, err
		}
	}
	return nil, fmt.Errorf("undoing the repairs of session %s: %w: it has no repair in force", v.session, mend.ErrNothingToDo)
}

// open opens the stores of the entries. This may finish an interrupted reversal.
func (v *reversal) open(es []change.Entry) {
	for _, e := range es {
		if v.stores == nil {
			v.stores = map[change.StoreID]opened{}
		}
		if _, ok := v.stores[e.Store]; !ok {
			c, err := openStoreOf(v.ctx, v.environment, e, !v.dryRun)
			v.stores[e.Store] = opened{c, err}
		}
	}
}

// plan plans the reversal of each session.
func (v *reversal) plan(es []change.Entry) {
	at := map[string]int{}
	for _, e := range es {
		key := e.Store.Root + "\x00" + e.Session
		if e.Kind() == change.KindTranscript { // it is moved as a whole, without the files beside it
			key += "\x00"
		}
		if _, ok := at[key]; !ok {
			at[key] = len(v.todo)
			v.todo = append(v.todo, sessionReversal{})
		}
		s := &v.todo[at[key]]
		s.entries = append(s.entries, e)
	}
	slices.SortStableFunc(v.todo, func(a, b sessionReversal) int { return cmp.Compare(v.projectOrder(a), v.projectOrder(b)) })
	several := len(v.todo) > 1
	for id, o := range v.stores {
		if several && o.err == nil {
			o.Store, o.err = o.Listing(v.ctx)
			v.stores[id] = o
		}
	}
	planned := map[string]bool{} // sessions
	bar := v.Progress(len(v.todo), "planning")
	defer bar.Clear()
	for i := range v.todo {
		s := &v.todo[i]
		c := v.stores[s.entries[0].Store]
		if s.store, s.err = c.Store, c.err; s.err == nil && v.ctx.Err() == nil {
			s.plan, s.err = v.propose(s.store, s.entries)
			if s.err = addUndoHint(s.err, s.entries[0]); s.err == nil {
				s.repairs, s.err = v.revertedRepairs(s.plan, s.entries)
			}
			s.follows = planned[s.entries[0].Session]
			planned[s.entries[0].Session] = s.err == nil
			if s.err != nil && s.follows {
				s.repairs, s.err = s.entries, nil
			}
			v.counts.add(s.plan.Ops)
			if several {
				s.plan.Ops = nil
			}
		}
		bar.Step()
	}
}

// projectOrder sorts reversals so that a project is created before its sessions are restored, and removed
// after them. A transcript is restored before the files beside it.
func (v *reversal) projectOrder(s sessionReversal) int {
	ops := s.entries[0].Ops
	switch {
	case s.entries[0].Kind() == change.KindTranscript && v.verb == "redo":
		return -1
	case len(ops) == 0 || ops[0].Ref.Kind != change.KindProject:
		return 0
	case ops[0].Post == nil || v.verb == "redo":
		return -1
	}
	return 1
}

// planned returns the plan of a session with its ops. Plans of several sessions are made again, so that only
// one is in memory.
func (v *reversal) planned(s *sessionReversal) (change.Plan, error) {
	if len(v.todo) == 1 {
		return s.plan, nil
	}
	p, err := v.propose(s.store, s.entries)
	if !s.follows {
		p.Seen = s.plan.Seen // later changes were not shown
	}
	return p, addUndoHint(err, s.entries[0])
}

// printDiff prints the diff of every change.
func (v *undoRun) printDiff(t *term.Terminal) {
	for i := range v.todo {
		if s := &v.todo[i]; s.err == nil {
			if p, err := v.planned(s); err == nil { // otherwise apply returns the error
				printOps(t, p.Ops)
			}
		}
	}
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
		return fail.WithHint(err, "nothing was changed. Move away what was created there since, then run the command again: mv "+shellWord(path)+" "+shellWord(path+".new"))
	case !ok || e.Cause.Kind != change.CauseMove || e.Cause.Folder == "":
		return err
	}
	back := "mend move " + shellWord(e.Cause.Text) + " " + shellWord(e.Cause.Folder)
	return fail.WithHint(err, "nothing was changed. To move it back with what was added since: "+back+". To remove that, which the journal keeps: --force")
}

func (v *undoRun) run() error {
	es, err := v.entries()
	if err == nil && v.one && len(es) != 1 {
		err = usagef("--only needs the id of one repair")
	}
	if err != nil {
		return err
	}
	if v.open(es); len(v.stores) == 1 && v.stores[es[0].Store].err != nil {
		if err = v.stores[es[0].Store].err; v.list != nil && errors.Is(err, mend.ErrNoStore) {
			err = fail.WithHint(err, `nothing was changed. "mend log" lists the older changes; "mend undo ID" takes one of them back`)
		}
		return err
	}
	if (len(es) > 1 || v.session != "" || v.list != nil) && !v.flags.dryRun { // a recovery may have reverted or finished some
		if es, err = v.entries(); err != nil {
			return err
		}
		v.open(es)
	}
	if slices.ContainsFunc(es, func(e change.Entry) bool { return e.Session != es[0].Session }) {
		v.release() // it takes long
	}
	v.plan(es)
	v.release()
	if err := v.ctx.Err(); err != nil {
		return err
	}
	return v.revert()
}

// revert shows the changes of all sessions, asks once, and makes them.
func (v *undoRun) revert() error {
	var repairs, reverted []change.Entry
	var sessions []*sessionReversal
	var failed []step
	for i := range v.todo {
		if s := &v.todo[i]; s.err != nil {
			failed = append(failed, v.step(s, change.Plan{}, s.err))
		} else {
			repairs, sessions = append(repairs, s.repairs...), append(sessions, s)
		}
	}
	question, leftOut := "", int64(0)
	if len(repairs) > 0 {
		question = term.Capitalized(v.verb) + " " + nameRepairs(repairs) + "?"
	}
	return v.environment.run(v.ctx, v.flags, job{
		question: question, failed: failed, n: len(v.todo),
		show: func() { v.show(repairs, sessions) },
		steps: func(yield func(step) bool) {
			for _, s := range sessions {
				p, err := v.planned(s)
				one := v.step(s, p, err)
				one.apply = func(b *batch) (change.Entry, error) {
					e, err := b.apply(s.store, p)
					if err == nil {
						n, err := s.store.RowsLeftOut(v.ctx, e)
						leftOut, b.err = leftOut+n, fail.Worst(b.err, err)
						reverted = append(reverted, s.repairs...)
					}
					if v.flags.force {
						err = forced(err)
					}
					return e, err
				}
				if !yield(one) {
					return
				}
			}
		},
		done: func(b *batch) {
			v.printReversal(b.done[0], reverted, len(repairs))
			if leftOut > 0 {
				v.setAnswer("leftOut", leftOut)
				v.Say("%s %s left out, because their sessions were deleted since.", term.Warn("note:"), term.CountWords(int(leftOut), "row is", "rows are"))
			}
		},
	})
}

// step returns the step of a session, with its plan, or the reason why it has no plan.
func (v *undoRun) step(s *sessionReversal, p change.Plan, err error) step {
	first := s.entries[0]
	p.Session = first.Session
	return step{store: s.store, plan: p, name: "session " + quotedTitle(first.Cause.Title, first.Session), ids: idsOf(s.entries), err: err}
}

// show shows what is reverted, unless the user knows it and has agreed.
func (v *undoRun) show(repairs []change.Entry, sessions []*sessionReversal) {
	if !v.flags.yes || !v.named {
		printReverted(v.environment, repairs)
	}
	for _, s := range sessions {
		v.printBound(s.plan)
	}
	verb, kind := term.Capitalized(v.verb), sessions[0].plan.Cause.Kind
	switch {
	case v.flags.patch:
		v.Page(v.printDiff)
	case v.flags.yes:
	case len(repairs) == 1 && repairs[0].Cause.Kind == change.CauseSalvage:
		v.Printf("%s\n", map[bool]string{true: "The damaged database comes back in place of the new one.", false: "The new database comes back in place of the damaged one."}[kind == change.CauseUndo])
	case len(sessions) > 1:
		v.Printf("%s would %s in %d sessions.\n", verb, v.counts.text(kind), len(sessions))
	default:
		v.Printf("%s would %s.\n", verb, v.counts.text(kind))
	}
}

// printBound prints the effect of a plan on bound thinking.
func (env *environment) printBound(p change.Plan) {
	if what := p.Cause.Bound.Loses(); what != "" {
		env.SayAt(2, "Lost: "+what)
	}
}

// idsOf returns the ids of entries; an empty list for none.
func idsOf(es []change.Entry) []string {
	ids := make([]string, len(es))
	for i, e := range es {
		ids[i] = e.ID
	}
	return ids
}

// revertedRepairs returns the repairs that a plan undoes, which are named, or applies again, newest first.
func (v *reversal) revertedRepairs(p change.Plan, named []change.Entry) ([]change.Entry, error) {
	if p.Cause.Kind != change.CauseRedo {
		return named, nil
	}
	es, err := v.opt.Journal.Log(journal.Query{Session: p.Session})
	var seqs []uint64
	for _, e := range es {
		if slices.Contains(p.Cause.Entries, e.Seq) {
			seqs = append(seqs, e.Cause.Entries...)
		}
	}
	return slices.DeleteFunc(es, func(e change.Entry) bool { return !slices.Contains(seqs, e.Seq) }), err
}

// printReverted shows repairs before they are undone or applied again.
func printReverted(env *environment, repairs []change.Entry) {
	if env.JSON {
		return
	}
	if len(repairs) == 1 {
		printEntryHead(env.Terminal, repairs[0])
	} else {
		_ = printEntries(env, repairs, nil, "")
	}
	env.Printf("\n")
}

// nameRepairs names repairs in a sentence, with their session if there is only one.
func nameRepairs(repairs []change.Entry) string {
	sessions := map[string]bool{}
	for _, e := range repairs {
		sessions[e.Session] = true
	}
	name := quotedTitle(repairs[0].Cause.Title, repairs[0].Session)
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

// printReversal prints which of the repairs were undone or applied again, starting with the entry e, and how
// to revert that.
func (v *undoRun) printReversal(e change.Entry, repairs []change.Entry, all int) {
	what, id := nameRepairs(repairs), e.ID
	undo, redo := "mend undo "+id, "mend undo --redo "+repairs[len(repairs)-1].ID
	switch {
	case len(v.todo) > 1:
		if len(repairs) < all {
			what = fmt.Sprintf("%d of %s", len(repairs), term.Count(all, "repair"))
		}
		id = mend.OperationOf(e)
		undo, redo = "mend undo "+mend.OperationOf(repairs[0]), "mend undo --redo "+mend.OperationOf(repairs[0])
	case len(repairs) == 1: // applied again it is in force, under its own id
		undo = "mend undo " + repairs[0].ID
	}
	if e.Cause.Partial {
		what = term.Count(len(e.Ops), "change") + " of " + what
	}
	switch {
	case e.Cause.Kind == change.CauseRedo:
		v.Say("%s %s (%s). Undo: %s", term.Good("Applied again:"), what, term.Bold(id), term.Command(undo))
	case e.Cause.Partial:
		v.Say("%s %s (%s). Undo: %s", term.Good("Undone:"), what, term.Bold(id), term.Command("mend undo "+id))
	default:
		v.Say("%s %s (%s). Apply %s again: %s", term.Good("Undone:"), what, term.Bold(id), map[bool]string{true: "it", false: "them"}[len(repairs) == 1], term.Command(redo))
	}
}

// forced returns the error of a change that should overwrite newer changes.
func forced(err error) error {
	if _, ok := errors.AsType[*change.ConflictError](err); !ok {
		return err
	}
	return fail.WithHint(err, "nothing was changed. Even by force nothing is restored without the message that it belongs to, or removed while others refer to it. If another program wrote meanwhile, try again")
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
			n.byVerb[opWord(o)]++
		}
	}
}

// text returns the numbers in words.
func (n *recordCounts) text(why change.CauseKind) string {
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

// undoCommand returns the command that undoes entries of one operation.
func undoCommand(done []change.Entry) string {
	if len(done) == 1 {
		return "mend undo " + done[0].ID
	}
	return "mend undo " + mend.OperationOf(done[0])
}

// printConflicts prints the conflicts of a [change.ConflictError] and returns err.
func printConflicts(t *term.Terminal, err error) error {
	var conflict *change.ConflictError
	if !errors.As(err, &conflict) {
		return err
	}
	for _, c := range conflict.Conflicts {
		printConflict(t, c)
	}
	return err
}

func printConflict(t *term.Terminal, c change.Conflict) {
	t.Printf("%s %s: %s\n", term.Bad("conflict"), c.Ref, c.Why)
	for _, id := range c.Later {
		t.Printf("    changed later by mend, in repair %s\n", term.Bold(id))
	}
	t.Printf("    %s\n", term.Faint("what the repair did:"))
	printDiff(t, c.Pre, c.Post)
	t.Printf("    %s\n", term.Faint("later changes:"))
	printDiff(t, c.Post, c.Now)
}
