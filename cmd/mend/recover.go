package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"mend"
	"mend/change"
)

func (a *app) recoverVerb() *cobra.Command {
	var f writeFlags
	cmd := &cobra.Command{
		Use:   "recover",
		Short: "Finish what a crash left undecided",
		Long: `Recover looks at every repair of this store that was begun and not finished, and
brings it to its end: forward where every record allows it, else back. Every verb
that writes does this first by itself.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := mend.Open(a.opt)
			if err != nil {
				return err
			}
			a.warnAbandoned(c)
			if f.dryRun {
				pending, err := c.Pending()
				if err != nil {
					return err
				}
				return a.printEntries(pending, "Nothing is pending.")
			}
			done, err := c.Recover(cmd.Context())
			if err == nil {
				err = c.CleanUp(cmd.Context())
			}
			if err != nil {
				return err
			}
			if err := a.printEntries(done, "Nothing was pending."); err != nil {
				return err
			}
			return a.printUnresolved(done)
		},
	}
	f.add(cmd, "")
	return cmd
}

// printUnresolved prints the entries that are in conflict and returns an error for the last.
func (a *app) printUnresolved(done []change.Entry) error {
	var left error
	for _, e := range done {
		if e.State == change.Conflicted {
			left = fmt.Errorf("repair %s is in conflict: %s", e.ID, resolveHint(e.ID))
			if !a.asJSON {
				a.printError(left)
			}
			left = &reportedError{left, exitConflict}
		}
	}
	return left
}
