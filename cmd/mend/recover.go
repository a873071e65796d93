package main

import (
	"context"

	"github.com/spf13/cobra"

	"mend/change"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/journal"
)

func recoverVerb(env *environment) *cobra.Command {
	var f writeFlags
	var d decisionFlags
	cmd := &cobra.Command{
		Use:   "recover [ID]",
		Short: "Finish an interrupted change, or resolve a conflict",
		Long: `Recover completes every interrupted change of mend, or reverts it if it cannot be completed.
Every command that writes does this first. It does not ask, because you have already agreed
to these changes.

If another program has changed the same records meanwhile, mend does not touch them: this is
a conflict. If recovery itself fails, a change stays pending. In both cases you decide, with
the ID of the change:

  --keep     leave everything as it is now
  --back     restore the state before the change
  --forward  apply the change, over what the other program wrote

Recover shows what that does, and asks. It saves the current bytes to the journal first, so
that the decision can be undone.`,
		Args: atMostOne("repair"),
		RunE: func(cmd *cobra.Command, ids []string) error {
			decision, decided := d.decision()
			switch {
			case len(ids) == 0 && decided:
				return usagef("--%s needs the ID of a repair in conflict", decision)
			case len(ids) == 0:
				return runRecover(cmd.Context(), env, f)
			case !decided:
				return fail.New(fail.Usage, helpHint(cmd), "recover ID needs --keep, --back or --forward")
			}
			return runResolve(cmd.Context(), env, ids[0], decision, f)
		},
	}
	f.add(cmd, "")
	d.add(cmd)
	return cmd
}

func runRecover(ctx context.Context, env *environment, f writeFlags) error {
	var entries []change.Entry
	var left error
	for _, o := range agentOptions(env) {
		found, err := recoverStore(ctx, env.Terminal, o, f.dryRun)
		if err != nil {
			left = env.skipStore(ctx, left, err)
		}
		entries = append(entries, found...)
	}
	none := "No repair was pending."
	if f.dryRun {
		none = "No repair is pending."
	}
	if len(entries) > 0 || left == nil {
		left = fail.Worst(left, printEntries(env, entries, nil, none))
	}
	if f.dryRun {
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
	warnAbandoned(t, o.Journal, c)
	if dryRun {
		return c.Log(ctx, journal.Query{State: change.Pending})
	}
	return c.Recover(ctx, true)
}

// printUnresolved prints the entries that are in conflict and returns an error for the last.
func printUnresolved(env *environment, done []change.Entry) error {
	var left error
	for _, e := range done {
		if e.State == change.Conflicted {
			left = fail.New(fail.Conflict, "", "repair %s is in conflict: %s", e.ID, resolveHint(e.ID))
			if !env.JSON {
				env.printError(left)
			}
			left = &reportedError{left}
		}
	}
	return left
}
