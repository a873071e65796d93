package rare

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
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

// Resolve is the former name of recover ID.
func Resolve(env *frame.Env) *cobra.Command {
	var f frame.WriteFlags
	var d decisionFlags
	cmd := &cobra.Command{
		Use: "resolve ID --keep|--back|--forward", Short: "Decide a conflict: mend recover ID", Args: frame.OneArg("repair"),
		RunE: func(cmd *cobra.Command, ids []string) error {
			decision, _ := d.decision()
			return runResolve(cmd.Context(), env, ids[0], decision, f)
		},
	}
	f.Add(cmd, "")
	d.add(cmd)
	cmd.MarkFlagsOneRequired("keep", "back", "forward")
	return cmd
}

func runResolve(ctx context.Context, env *frame.Env, id string, d mend.Decision, f frame.WriteFlags) error {
	e, err := frame.FindRepair(env, id)
	if err != nil {
		return err
	}
	c, err := frame.OpenStoreOf(ctx, env, e, !f.DryRun)
	var p change.Plan
	switch {
	case err == nil:
		e, p, err = c.ProposeResolve(ctx, e.ID, d)
	case d == mend.Keep && errors.Is(err, mend.ErrNoStore): // nothing is written there
		e, err = env.Opt.Journal.Unresolved(e.ID)
	}
	if err != nil {
		return err
	}
	question := map[mend.Decision]string{
		mend.Keep: "leaving everything as it is", mend.Back: "restoring the state before it",
		mend.Forward: "applying it over the other changes",
	}[d]
	one := frame.Step{Store: c, Plan: p, IDs: []string{e.ID}, Apply: func(b *frame.Batch) (by change.Entry, err error) {
		if e, p, err = env.Opt.Journal.GiveUp(e, p); err != nil {
			return by, err
		}
		if len(p.Ops) > 0 {
			if by, err = b.Apply(c, p); err != nil {
				return by, frame.Forced(err)
			}
		}
		e, err = env.Opt.Journal.Resolve(e, d, by.ID)
		return by, err
	}}
	err = env.Run(ctx, f, frame.Job{
		Question: fmt.Sprintf("Resolve the conflict of repair %s by %s?", e.ID, question), N: 1, NoDiff: len(p.Ops) == 0,
		Show: func() { show.Ops(env.Terminal, p.Ops) }, Steps: func(yield func(frame.Step) bool) { yield(one) },
		Ended: func(_ frame.Step, by change.Entry, err error) {
			if err != nil {
				return
			}
			env.Printf("%s the conflict of repair %s: %s.\n", term.Good("Resolved"), term.Bold(e.ID), d)
			if by.ID != "" {
				env.Printf("Undo: %s\n", term.Bold("mend undo "+by.ID))
			}
		},
	})
	if err == nil && !f.DryRun {
		env.SetAnswers(show.RepairsAnswer{Repairs: show.EntriesJSON([]change.Entry{e})})
	}
	return err
}
