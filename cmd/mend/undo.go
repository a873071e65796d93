package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mend/change"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/journal"
)

// writeFlags are the flags of the verbs that change one thing.
type writeFlags struct{ dryRun, yes, force, patch bool }

func (f *writeFlags) addPatch(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.patch, "patch", "p", false, "show the diff of every record, in your pager")
}

func (f *writeFlags) add(cmd *cobra.Command, force string) {
	fl := cmd.Flags()
	fl.BoolVar(&f.dryRun, "dry-run", false, "show what would be done; write nothing")
	fl.BoolVarP(&f.yes, "yes", "y", false, "answer yes to all questions")
	if force != "" {
		fl.BoolVar(&f.force, "force", false, force)
	}
}

func (a *app) undoVerb() *cobra.Command {
	var f writeFlags
	var r mend.UndoRequest
	cmd := &cobra.Command{
		Use:   "undo [ID]",
		Short: "Undo a repair",
		Long: `Undo restores what a repair changed: the same bytes, names and modes as before. It has
an entry of its own in the journal, and can itself be undone.

Without an id it is the newest repair that is not undone. It is shown before you are
asked.

If something changed a record after the repair, undo changes nothing and shows that
record: before, what the repair wrote, and now.`,
		Example: `  mend undo                     the newest repair
  mend undo bak                 the beginning of an id is enough
  mend undo --session ses_abc   all repairs of a session
  mend undo bak --only prt_1    only this record`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			switch {
			case len(ids) == 1 && r.Session != "":
				return usagef("undo needs a repair id, or --session SESSION")
			case len(ids) == 0 && r.Only != nil:
				return usagef("--only needs a repair id")
			}
			r.Force = f.force
			return a.undo(cmd, ids, f, r)
		},
	}
	f.add(cmd, "overwrite newer changes; the current bytes are saved to the journal first")
	f.addPatch(cmd)
	cmd.Flags().StringVar(&r.Session, "session", "", "undo every repair of this `SESSION` in one step")
	cmd.Flags().StringSliceVar(&r.Only, "only", nil, "undo only these of the repair's records")
	return cmd
}

func (a *app) undo(cmd *cobra.Command, ids []string, f writeFlags, r mend.UndoRequest) error {
	propose := func(c *mend.Store) (change.Plan, error) { return c.ProposeUndo(cmd.Context(), r) }
	if r.Session != "" {
		c, err := a.openForSession(cmd, &r, f)
		if err != nil {
			return err
		}
		return a.runChange(cmd, c, f, true, propose)
	}
	e, err := a.chooseEntry(cmd.Context(), ids, "no repair is in force", inForce)
	if err != nil {
		return err
	}
	c, err := a.openStoreOf(cmd, e, !f.dryRun)
	if err != nil {
		return err
	}
	r.ID = e.ID
	return a.runChange(cmd, c, f, len(ids) > 0, propose)
}

// openForSession opens the store of the session that the request names, and puts its id into the
// request.
func (a *app) openForSession(cmd *cobra.Command, r *mend.UndoRequest, f writeFlags) (*mend.Store, error) {
	id, err := a.repairedSession(cmd.Context(), r.Session)
	if err != nil {
		return nil, err
	}
	r.Session = id
	es, err := a.opt.Journal.Log(journal.Query{Session: id, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(es) == 0 {
		return nil, fmt.Errorf("undoing the repairs of session %s: %w: it has none", id, mend.ErrNothingToDo)
	}
	return a.openStoreOf(cmd, es[0], !f.dryRun)
}

func (a *app) redoVerb() *cobra.Command {
	var f writeFlags
	cmd := &cobra.Command{
		Use:   "redo [ID]",
		Short: "Redo an undone repair",
		Long: `Redo re-applies a repair that was undone. If that undo reverted several repairs at
once, as undo --session does, all of them are re-applied.

Without an id it is the repair that was undone last. It is shown before you are asked.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			e, err := a.chooseEntry(cmd.Context(), ids, "no repair is undone", undoInForce)
			if err != nil {
				return err
			}
			if len(ids) == 0 { // the undo: what it reverted is applied again
				if e, _, err = a.opt.Journal.Show(journal.IDOf(e.Cause.Entries[0])); err != nil {
					return err
				}
			}
			c, err := a.openStoreOf(cmd, e, !f.dryRun)
			if err != nil {
				return err
			}
			return a.runChange(cmd, c, f, len(ids) > 0, func(c *mend.Store) (change.Plan, error) { return c.ProposeRedo(cmd.Context(), e.ID, f.force) })
		},
	}
	f.add(cmd, "overwrite newer changes; the current bytes are saved to the journal first")
	f.addPatch(cmd)
	return cmd
}

// chooseEntry returns the entry that the user names, or else the newest one that is wanted.
func (a *app) chooseEntry(ctx context.Context, ids []string, none string, wanted func(change.Entry) bool) (change.Entry, error) {
	if len(ids) == 1 {
		e, _, err := a.opt.Journal.Show(ids[0])
		return e, err
	}
	return a.newestRepair(ctx, none, wanted)
}

// runChange shows the undo or redo that propose returns, asks, and applies it. With --yes what the
// user has named is not shown.
func (a *app) runChange(cmd *cobra.Command, c *mend.Store, f writeFlags, named bool, propose func(*mend.Store) (change.Plan, error)) error {
	p, err := propose(c)
	if err != nil {
		return a.printConflicts(err)
	}
	repairs, err := a.revertedRepairs(p)
	if err != nil {
		return err
	}
	if !f.yes || !named {
		a.printReverted(repairs)
	}
	switch {
	case f.patch && !a.asJSON:
		a.page(func() { a.printOps(p.Ops) })
	case !f.yes:
		a.printf("%s would %s.\n", capitalized(cmd.Name()), recordCounts(p))
	}
	if f.dryRun {
		return a.finishDryRun(p)
	}
	if err := a.confirmChange(cmd.Context(), f, fmt.Sprintf("%s %s?", capitalized(cmd.Name()), nameRepairs(repairs)), p.Ops); err != nil {
		return err
	}
	e, err := a.applyPlan(cmd.Context(), c, p)
	if err != nil && f.force {
		err = forced(err)
	}
	if err != nil {
		return a.printConflicts(err)
	}
	if a.asJSON {
		a.answer = map[string]any{"repairs": []repairJSON{entryJSON(e, p.Ops)}}
		return nil
	}
	a.printReversal(e, repairs)
	return nil
}

// revertedRepairs returns the repairs that a plan undoes or applies again, newest first.
func (a *app) revertedRepairs(p change.Plan) ([]change.Entry, error) {
	es, err := a.opt.Journal.Log(journal.Query{Session: p.Session})
	seqs := p.Cause.Entries
	if p.Cause.Kind == change.CauseRedo {
		seqs = nil
		for _, e := range es {
			if slices.Contains(p.Cause.Entries, e.Seq) {
				seqs = append(seqs, e.Cause.Entries...)
			}
		}
	}
	return slices.DeleteFunc(es, func(e change.Entry) bool { return !slices.Contains(seqs, e.Seq) }), err
}

// printReverted shows repairs before they are undone or applied again.
func (a *app) printReverted(repairs []change.Entry) {
	if a.asJSON {
		return
	}
	if len(repairs) == 1 {
		a.printEntryHead(repairs[0])
	} else {
		_ = a.printEntries(repairs, nil, "")
	}
	a.printf("\n")
}

// nameRepairs names the repairs of one session in a sentence.
func nameRepairs(repairs []change.Entry) string {
	name := quotedTitle(repairs[0].Cause.Title, repairs[0].Session)
	if len(repairs) > 1 {
		return fmt.Sprintf("%d repairs of %s", len(repairs), name)
	}
	return fmt.Sprintf("repair %s of %s", repairs[0].ID, name)
}

// printReversal says which repairs an entry undid or applied again, and how to revert that.
func (a *app) printReversal(e change.Entry, repairs []change.Entry) {
	first := repairs[len(repairs)-1].ID
	switch {
	case e.Cause.Kind == change.CauseRedo && len(repairs) == 1: // it is in force again, and has its id
		a.say("%s %s (%s). Undo: %s", good("Applied again:"), nameRepairs(repairs), bold(e.ID), command("mend undo "+first))
	case e.Cause.Kind == change.CauseRedo:
		a.say("%s %s (%s). Undo: %s", good("Applied again:"), nameRepairs(repairs), bold(e.ID), command("mend undo "+e.ID))
	case e.Cause.Partial:
		a.say("%s %s of %s (%s). Undo: %s", good("Undone:"), count(len(e.Ops), "record"), nameRepairs(repairs), bold(e.ID), command("mend undo "+e.ID))
	default:
		a.say("%s %s (%s). Apply it again: %s", good("Undone:"), nameRepairs(repairs), bold(e.ID), command("mend redo "+first))
	}
	a.printKept(e)
}

// forced returns the error of a change that was to overwrite newer changes.
func forced(err error) error {
	if _, ok := errors.AsType[*change.ConflictError](err); !ok {
		return err
	}
	return fail.WithHint(err, "nothing was changed. Even by force no record is restored without the one that it refers to, or removed while others refer to it. If another program wrote meanwhile, try again")
}

// recordCounts says how many records a plan restores, creates, changes, moves and deletes.
func recordCounts(p change.Plan) string {
	numbers := map[string]int{}
	for _, e := range patchEntries(p.Ops) {
		if e.op.Ref.Kind != change.KindFolder {
			numbers[e.verb()]++
		}
	}
	var words []string
	for _, verb := range []string{"create", "change", "move", "delete", "move away", "put back"} {
		n := numbers[verb]
		if verb == "change" && p.Cause.Kind == change.CauseUndo {
			verb = "restore"
		}
		if n > 0 {
			words = append(words, fmt.Sprintf("%s %s", verb, count(n, "record")))
		}
	}
	if len(words) == 0 {
		return "change " + count(len(p.Ops), "folder")
	}
	return strings.Join(words, ", ")
}

func capitalized(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func (a *app) finishDryRun(p change.Plan) error {
	if a.asJSON {
		a.setAnswer("repairs", []repairJSON{planJSON(p, "planned")})
		return nil
	}
	a.printf("Dry run: nothing was written.\n")
	return nil
}

// printConflicts prints the conflicts of a [change.ConflictError] and returns err.
func (a *app) printConflicts(err error) error {
	var conflict *change.ConflictError
	if !errors.As(err, &conflict) {
		return err
	}
	for _, c := range conflict.Conflicts {
		a.printConflict(c)
	}
	return err
}

func (a *app) printConflict(c change.Conflict) {
	a.printf("%s %s %s: %s\n", bad("conflict"), c.Ref.Kind, c.Ref, c.Why)
	for _, id := range c.Later {
		a.printf("    changed later by mend, in repair %s\n", bold(id))
	}
	a.printf("    %s\n", faint("what the repair did:"))
	a.printDiff(c.Pre, c.Post)
	a.printf("    %s\n", faint("later changes:"))
	a.printDiff(c.Post, c.Now)
}
