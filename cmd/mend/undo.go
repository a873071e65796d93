package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mend"
	"mend/change"
	"mend/journal"
	"mend/session"
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

Without an id it shows the newest repair that is not undone, and asks.

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
	propose := func(c *mend.Client) (change.Plan, error) { return c.ProposeUndo(cmd.Context(), r) }
	if r.Session != "" {
		c, err := a.openForSession(cmd, &r, f)
		if err != nil {
			return err
		}
		return a.runChange(cmd, c, f, nil, propose)
	}
	e, chosen, err := a.chooseEntry(ids, "undo", "no repair is in force", inForce)
	if err != nil {
		return err
	}
	c, err := a.openStoreOf(cmd, e, !f.dryRun)
	if err != nil {
		return err
	}
	r.ID = e.ID
	return a.runChange(cmd, c, f, chosen, propose)
}

// openForSession opens the store of the session that the request names, and puts its id into the
// request.
func (a *app) openForSession(cmd *cobra.Command, r *mend.UndoRequest, f writeFlags) (*mend.Client, error) {
	id, err := a.repairedSession(cmd.Context(), r.Session)
	if err != nil {
		return nil, err
	}
	r.Session = id
	es, err := a.opt.Log(journal.Query{Session: id, Limit: 1})
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

Without an id it shows the repair that was undone last, and asks.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			e, chosen, err := a.chooseEntry(ids, "redo", "no repair is undone", undoInForce)
			if err != nil {
				return err
			}
			if chosen != nil { // the undo: what it reverted is applied again
				if e, _, err = a.opt.Show(journal.IDOf(e.Cause.Entries[0])); err != nil {
					return err
				}
				chosen = &e
			}
			c, err := a.openStoreOf(cmd, e, !f.dryRun)
			if err != nil {
				return err
			}
			return a.runChange(cmd, c, f, chosen, func(c *mend.Client) (change.Plan, error) { return c.ProposeRedo(cmd.Context(), e.ID, f.force) })
		},
	}
	f.add(cmd, "overwrite newer changes; the current bytes are saved to the journal first")
	f.addPatch(cmd)
	return cmd
}

// chooseEntry returns the entry that the user names, or else the newest one that is wanted; that
// is also returned as chosen. Without a terminal the user has to name one.
func (a *app) chooseEntry(ids []string, verb, none string, wanted func(change.Entry) bool) (e change.Entry, chosen *change.Entry, err error) {
	if len(ids) == 1 {
		e, _, err = a.opt.Show(ids[0])
		return e, nil, err
	}
	if !a.canAsk {
		return e, nil, &usageError{fmt.Errorf("%s needs a repair id", verb), `"mend log" lists the repairs`}
	}
	e, err = a.newestRepair(none, wanted)
	return e, &e, err
}

// runChange applies the plan that propose returns, or prints it for a dry run. chosen is the entry
// that it is about, if the user did not name it: then it is shown first, and the user is asked.
func (a *app) runChange(cmd *cobra.Command, c *mend.Client, f writeFlags, chosen *change.Entry, propose func(*mend.Client) (change.Plan, error)) error {
	p, err := propose(c)
	if err != nil {
		return a.printConflicts(err)
	}
	if chosen != nil {
		a.printEntryHead(*chosen)
		a.printf("\n")
	}
	if f.patch && !a.asJSON {
		a.page(func() { a.printOps(p.Ops) })
	} else {
		a.printRecordCounts(p)
	}
	if f.dryRun {
		return a.finishDryRun(p)
	}
	if chosen != nil && !f.yes {
		if err := a.confirmChange(cmd.Context(), cmd.Name(), *chosen, p); err != nil {
			return err
		}
	}
	e, err := a.applyPlan(cmd.Context(), c, p)
	if err != nil && f.force {
		err = &forcedError{err}
	}
	if err != nil {
		return a.printConflicts(err)
	}
	if a.asJSON {
		a.answer = map[string]any{"repairs": []repairJSON{entryJSON(e, p.Ops)}}
		return nil
	}
	a.printCommitted(e, p.Cause.Title)
	return nil
}

// A forcedError is the error of a change that was to overwrite newer changes.
type forcedError struct{ error }

func (e *forcedError) Unwrap() error { return e.error }

// confirmChange asks whether an undo or redo is to be made.
func (a *app) confirmChange(ctx context.Context, verb string, e change.Entry, p change.Plan) error {
	question := fmt.Sprintf("%s repair %s of %s?", capitalized(verb), e.ID, quotedTitle(e.Cause.Title, e.Session))
	for {
		key, err := a.ask(ctx, question, []answer{{"yes", verb + " it"}, {"no", "change nothing"}, {"diff", "show the diff of every record"}})
		switch {
		case err != nil:
			return err
		case key == "y":
			return nil
		case key == "n":
			return errDeclined
		}
		a.page(func() { a.printOps(p.Ops) })
	}
}

// printRecordCounts prints how many records a plan creates, changes and deletes.
func (a *app) printRecordCounts(p change.Plan) {
	if len(p.Ops) == 0 {
		return
	}
	a.printf("%s\n", recordCounts(p.Ops))
}

// recordCounts says how many records ops create, change, move and delete.
func recordCounts(ops []change.Op) string {
	numbers := map[string]int{}
	for _, e := range patchEntries(ops) {
		if e.op.Ref.Kind != session.KindFolder {
			numbers[e.verb()]++
		}
	}
	var words []string
	for _, verb := range []string{"create", "change", "move", "delete", "move away", "put back"} {
		if n := numbers[verb]; n > 0 {
			words = append(words, fmt.Sprintf("%s %s", pastTense[verb], count(n, "record")))
		}
	}
	if len(words) == 0 {
		return count(len(ops), "folder")
	}
	return capitalized(strings.Join(words, ", ")) + "."
}

// pastTense has what recordCounts says of records.
var pastTense = map[string]string{"create": "creates", "change": "changes", "move": "moves", "delete": "deletes", "move away": "moves away", "put back": "puts back"}

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
		a.printf("    changed later by repair %s\n", bold(id))
	}
	a.printf("    %s\n", faint("what the repair did:"))
	a.printDiff(c.Pre, c.Post)
	a.printf("    %s\n", faint("later changes:"))
	a.printDiff(c.Post, c.Now)
}
