// Package rare has the verbs that are rarely needed: recover, forget, verify and config.
//
// It may import change, cmd/mend/internal/agents, cmd/mend/internal/frame, cmd/mend/internal/show, internal/config,
// internal/fail, internal/keep, internal/mend, internal/term and journal. Read [Recover] and [Forget] first.
package rare

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/journal"
)

// Recover returns the verb recover.
func Recover(env *frame.Env) *cobra.Command {
	var f frame.WriteFlags
	keep, back, forward := false, false, false
	cmd := &cobra.Command{
		Use:     "recover [ID]",
		Aliases: []string{"resolve"}, // the former name of recover ID
		Short:   "Finish an interrupted change, or resolve a conflict",
		Long: `Recover completes every interrupted change of mend, or reverts it if it cannot be completed.
Every command that writes does this first. It does not ask, because you have already agreed
to these changes.

If another program has changed the same records meanwhile, mend does not touch them: this is
a conflict. If recovery itself fails, the change stays pending. In both cases you decide what
to do, with the ID of the change:

  --keep     leave everything as it is now
  --back     restore the state before the change
  --forward  apply the change, over what the other program wrote

Recover shows what that does, and asks. It saves the current bytes to the journal first, so
that the decision can be undone.`,
		Args: frame.AtMostOne("repair"),
		RunE: func(cmd *cobra.Command, ids []string) error {
			decided := keep || back || forward
			decision := mend.Keep
			switch {
			case back:
				decision = mend.Back
			case forward:
				decision = mend.Forward
			}
			switch {
			case keep && back, keep && forward, back && forward:
				return frame.Usagef("--keep, --back and --forward are three decisions: name one")
			case len(ids) == 0 && decided:
				return frame.Usagef("--%s needs the ID of a repair in conflict", decision)
			case len(ids) == 0:
				return runRecover(cmd.Context(), env, f)
			case !decided:
				return fail.New(fail.Usage, frame.HelpHint(cmd), "recover ID needs --keep, --back or --forward")
			}
			return runResolve(cmd.Context(), env, ids[0], decision, f)
		},
	}
	f.Add(cmd, "")
	cmd.Flags().BoolVar(&keep, "keep", false, "leave everything as it is now")
	cmd.Flags().BoolVar(&back, "back", false, "restore the state before the change")
	cmd.Flags().BoolVar(&forward, "forward", false, "apply the change, over what the other program wrote")
	return cmd
}

func runRecover(ctx context.Context, env *frame.Env, f frame.WriteFlags) error {
	var entries []change.Entry
	options, left := frame.AgentOptions(env)
	for _, o := range options {
		found, err := recoverStore(ctx, env.Terminal, o, f.DryRun)
		if err != nil {
			left = env.SkipStore(ctx, left, err)
		}
		entries = append(entries, found...)
	}
	none := "No repair was pending."
	if f.DryRun {
		none = "No repair is pending."
	}
	if len(entries) > 0 || left == nil {
		left = fail.Worst(left, frame.PrintEntries(env, slices.Values(entries), nil, none))
	}
	if f.DryRun {
		return left
	}
	return fail.Worst(left, printUnresolved(env, entries))
}

// recoverStore recovers the pending entries of a store, or in a dry run only returns them.
func recoverStore(ctx context.Context, t *term.Terminal, o mend.Options, dryRun bool) ([]change.Entry, error) {
	c, err := mend.Open(o)
	if err != nil {
		return nil, err
	}
	frame.WarnAbandoned(t, o.Journal, c)
	if dryRun {
		return c.Log(ctx, journal.Query{State: change.Pending})
	}
	return c.Recover(ctx, true)
}

// printUnresolved prints an error for each entry that is in conflict, and returns the last one.
func printUnresolved(env *frame.Env, done []change.Entry) error {
	var left error
	for _, e := range done {
		if e.State == change.Conflicted {
			left = fail.New(fail.Conflict, "", "repair %s is in conflict: %s", e.ID, frame.ResolveHint(e.ID))
			if !env.JSON {
				env.PrintError(left)
			}
			left = &frame.ReportedError{Err: left}
		}
	}
	return left
}

func runResolve(ctx context.Context, env *frame.Env, id string, d mend.Decision, f frame.WriteFlags) error {
	e, err := findRepair(env, id)
	if err != nil {
		return err
	}
	c, err := frame.OpenEntryStore(ctx, env, e, !f.DryRun)
	var p change.Plan
	switch {
	case err == nil:
		e, p, err = c.ProposeResolve(ctx, e.ID, d)
	case d == mend.Keep && errors.Is(err, mend.ErrNoStore): // keeping the records writes nothing to the store
		e, err = env.Opt.Journal.FindUnresolved(e.ID)
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
				return by, frame.ForcedError(err)
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

// findRepair returns the repair that the user names; an operation must have a single repair.
func findRepair(env *frame.Env, name string) (change.Entry, error) {
	q, err := env.FindRepair(name)
	var es []change.Entry
	if err == nil {
		es, err = env.Opt.Journal.Log(q)
	}
	if err != nil {
		return change.Entry{}, err
	}
	if len(es) > 1 {
		return es[0], fail.New(fail.Usage, fmt.Sprintf("\"mend log %s\" lists them: name one", name), "operation %s has %d repairs", name, len(es))
	}
	return es[0], nil
}
