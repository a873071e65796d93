package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"mend/change"
	"mend/internal/mend"
	"mend/internal/term"
)

func resolveVerb(env *environment) *cobra.Command {
	var f writeFlags
	var keep, back, forward bool
	cmd := &cobra.Command{
		Use:   "resolve ID --keep|--back|--forward",
		Short: "Resolve a conflict after an interrupted repair",
		Long: `A conflict arises when a repair was interrupted and another program changed the
same records before recovery. mend left those changes alone. So it is with a repair
that stays pending because recovery fails. You decide:

  --keep     leave everything as it is now
  --back     restore the state before the repair
  --forward  apply the repair, over the other changes

The current bytes are saved to the journal first, so the decision can be undone.`,
		Args: oneArg("repair"),
		RunE: func(cmd *cobra.Command, ids []string) error {
			d := mend.Keep
			switch {
			case back:
				d = mend.Back
			case forward:
				d = mend.Forward
			}
			return runResolve(cmd.Context(), env, ids[0], d, f)
		},
	}
	f.add(cmd, "")
	cmd.Flags().BoolVar(&keep, "keep", false, "leave everything as it is")
	cmd.Flags().BoolVar(&back, "back", false, "restore the state before the repair")
	cmd.Flags().BoolVar(&forward, "forward", false, "apply the repair, over the other changes")
	cmd.MarkFlagsOneRequired("keep", "back", "forward")
	cmd.MarkFlagsMutuallyExclusive("keep", "back", "forward")
	return cmd
}

func runResolve(ctx context.Context, env *environment, id string, d mend.Decision, f writeFlags) error {
	e, err := findRepair(env, id)
	if err != nil {
		return err
	}
	c, err := openStoreOf(ctx, env, e, !f.dryRun)
	var p change.Plan
	switch {
	case err == nil:
		e, p, err = c.ProposeResolve(ctx, e.ID, d)
	case d == mend.Keep && errors.Is(err, mend.ErrNoStore): // nothing is to be written there
		e, err = env.opt.Journal.Unresolved(e.ID)
	}
	if err != nil {
		return err
	}
	printOps(env.Terminal, p.Ops)
	if f.dryRun {
		return finishDryRun(env, p)
	}
	question := map[mend.Decision]string{mend.Keep: "leaving everything as it is", mend.Back: "restoring the state before it", mend.Forward: "applying it over the other changes"}[d]
	if err := confirmChange(ctx, env.Terminal, f, fmt.Sprintf("Resolve the conflict of repair %s by %s?", e.ID, question), diffOf(p.Ops)); err != nil {
		return err
	}
	if e, p, err = env.opt.Journal.GiveUp(e, p); err != nil {
		return err
	}
	var by change.Entry
	if len(p.Ops) > 0 {
		if by, err = applyPlan(ctx, env, c, p); err != nil {
			return printConflicts(env.Terminal, forced(err))
		}
	}
	if e, err = env.opt.Journal.Resolve(e, d, by.ID); err != nil {
		return err
	}
	env.setAnswer("repairs", entriesJSON([]change.Entry{e}))
	env.Printf("%s the conflict of repair %s: %s.\n", term.Good("Resolved"), term.Bold(e.ID), d)
	if by.ID != "" {
		env.Printf("Undo: %s\n", term.Bold("mend undo "+by.ID))
	}
	return nil
}
