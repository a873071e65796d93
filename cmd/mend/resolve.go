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

// decisionFlags are the flags that decide a conflict.
type decisionFlags struct{ keep, back, forward bool }

func (f *decisionFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.keep, "keep", false, "leave everything as it is now")
	cmd.Flags().BoolVar(&f.back, "back", false, "restore the state before the change")
	cmd.Flags().BoolVar(&f.forward, "forward", false, "apply the change, over what the other program wrote")
	cmd.MarkFlagsMutuallyExclusive("keep", "back", "forward")
}

func (f *decisionFlags) decision() (d mend.Decision, decided bool) {
	switch {
	case f.back:
		return mend.Back, true
	case f.forward:
		return mend.Forward, true
	}
	return mend.Keep, f.keep
}

// resolveVerb is the former name of recover ID.
func resolveVerb(env *environment) *cobra.Command {
	var f writeFlags
	var d decisionFlags
	cmd := &cobra.Command{
		Use: "resolve ID --keep|--back|--forward", Short: "Decide a conflict: mend recover ID", Args: oneArg("repair"),
		RunE: func(cmd *cobra.Command, ids []string) error {
			decision, _ := d.decision()
			return runResolve(cmd.Context(), env, ids[0], decision, f)
		},
	}
	f.add(cmd, "")
	d.add(cmd)
	cmd.MarkFlagsOneRequired("keep", "back", "forward")
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
	case d == mend.Keep && errors.Is(err, mend.ErrNoStore): // nothing is written there
		e, err = env.opt.Journal.Unresolved(e.ID)
	}
	if err != nil {
		return err
	}
	question := map[mend.Decision]string{
		mend.Keep: "leaving everything as it is", mend.Back: "restoring the state before it",
		mend.Forward: "applying it over the other changes",
	}[d]
	one := step{store: c, plan: p, ids: []string{e.ID}, apply: func(b *batch) (by change.Entry, err error) {
		if e, p, err = env.opt.Journal.GiveUp(e, p); err != nil {
			return by, err
		}
		if len(p.Ops) > 0 {
			if by, err = b.apply(c, p); err != nil {
				return by, forced(err)
			}
		}
		e, err = env.opt.Journal.Resolve(e, d, by.ID)
		return by, err
	}}
	err = env.run(ctx, f, job{
		question: fmt.Sprintf("Resolve the conflict of repair %s by %s?", e.ID, question), n: 1, noDiff: len(p.Ops) == 0,
		show: func() { printOps(env.Terminal, p.Ops) }, steps: func(yield func(step) bool) { yield(one) },
		ended: func(_ step, by change.Entry, err error) {
			if err != nil {
				return
			}
			env.Printf("%s the conflict of repair %s: %s.\n", term.Good("Resolved"), term.Bold(e.ID), d)
			if by.ID != "" {
				env.Printf("Undo: %s\n", term.Bold("mend undo "+by.ID))
			}
		},
	})
	if err == nil && !f.dryRun {
		env.setAnswers(repairsAnswer{entriesJSON([]change.Entry{e})})
	}
	return err
}
