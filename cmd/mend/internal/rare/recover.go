// Package rare has the verbs that are rarely needed.
package rare

import (
	"context"

	"github.com/spf13/cobra"

	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/journal"
)

// Recover returns the verb recover.
func Recover(env *frame.Env) *cobra.Command {
	var f frame.WriteFlags
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
		Args: frame.AtMostOne("repair"),
		RunE: func(cmd *cobra.Command, ids []string) error {
			decision, decided := d.decision()
			switch {
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
	d.add(cmd)
	return cmd
}

func runRecover(ctx context.Context, env *frame.Env, f frame.WriteFlags) error {
	var entries []change.Entry
	var left error
	for _, o := range frame.AgentOptions(env) {
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
		left = fail.Worst(left, frame.PrintEntries(env, entries, nil, none))
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

// printUnresolved prints the entries that are in conflict and returns an error for the last.
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
