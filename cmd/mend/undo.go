package main

import (
	"errors"

	"github.com/spf13/cobra"

	"mend"
	"mend/change"
)

// writeFlags are the flags of the verbs that change one thing.
type writeFlags struct{ dryRun, yes, force bool }

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
		Use:   "undo ID",
		Short: "Take a repair back, byte for byte",
		Long: `Undo restores what the repair changed: the same bytes, names and modes as before
it. It is a repair of its own in the journal, and can itself be undone.

Where a record no longer holds what the repair left, nothing is changed, and each
such record is shown: before, what the repair wrote, and now.`,
		Example: `  mend undo bak                 the beginning of an id is enough
  mend undo --session ses_abc   all repairs of a session
  mend undo bak --only prt_1    only this record`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			if (len(ids) == 1) == (r.Session != "") {
				return usagef("undo needs a repair id, or --session SESSION")
			}
			if len(ids) == 1 {
				r.ID = ids[0]
			}
			if r.Session != "" && r.Only != nil {
				return usagef("--only goes with a repair id")
			}
			r.Force = f.force
			return a.runChange(cmd, f, func(c *mend.Client) (change.Plan, error) { return c.ProposeUndo(cmd.Context(), r) })
		},
	}
	f.add(cmd, "restore although records changed since; the present bytes are journaled first")
	cmd.Flags().StringVar(&r.Session, "session", "", "take back every repair of this session, as one")
	cmd.Flags().StringSliceVar(&r.Only, "only", nil, "take back only these of the repair's records")
	return cmd
}

func (a *app) redoVerb() *cobra.Command {
	var f writeFlags
	cmd := &cobra.Command{
		Use:   "redo ID",
		Short: "Apply a repair again that was undone",
		Long: `Redo takes back the undo that is in force for the repair. Where that undo took
back several repairs at once, as undo --session does, all of them come back.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			return a.runChange(cmd, f, func(c *mend.Client) (change.Plan, error) { return c.ProposeRedo(cmd.Context(), ids[0], f.force) })
		},
	}
	f.add(cmd, "apply although records changed since; the present bytes are journaled first")
	return cmd
}

// runChange applies the plan that propose returns, or prints it for a dry run.
func (a *app) runChange(cmd *cobra.Command, f writeFlags, propose func(*mend.Client) (change.Plan, error)) error {
	c, err := a.open(cmd, !f.dryRun)
	if err != nil {
		return err
	}
	p, err := propose(c)
	if err != nil {
		return a.printConflicts(err)
	}
	if !a.asJSON {
		a.printOps(p.Ops)
	}
	if f.dryRun {
		return a.finishDryRun(p)
	}
	e, err := a.applyPlan(cmd.Context(), c, p)
	if err != nil {
		return a.printConflicts(err)
	}
	if a.asJSON {
		a.answer = map[string]any{"repairs": []repairJSON{entryJSON(e, p.Ops)}}
		return nil
	}
	a.printCommitted(e, "")
	return nil
}

func (a *app) finishDryRun(p change.Plan) error {
	if a.asJSON {
		a.answer = map[string]any{"repairs": []repairJSON{planJSON(p, "planned")}}
		return nil
	}
	a.printf("This was a dry run: nothing was written.\n")
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
		a.printf("    touched later by repair %s\n", bold(id))
	}
	a.printf("    %s\n", faint("what the repair did:"))
	a.printDiff(c.Pre, c.Post)
	a.printf("    %s\n", faint("what came since:"))
	a.printDiff(c.Post, c.Now)
}
