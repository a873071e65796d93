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
		Short: "Finish or roll back interrupted repairs",
		Long: `Complete every repair of this store that was interrupted, or roll it back if it
cannot be completed. Every command that writes does this first.`,
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
				return a.printEntries(pending, "No repair is pending.")
			}
			done, err := c.Recover(cmd.Context())
			if err == nil {
				err = c.CleanUp(cmd.Context())
			}
			if err != nil {
				return err
			}
			if err := a.printEntries(done, "No repair was pending."); err != nil {
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
