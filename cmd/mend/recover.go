package main

import (
	"github.com/spf13/cobra"

	"mend"
)

func (a *app) recoverVerb() *cobra.Command {
	var f writeFlags
	cmd := &cobra.Command{
		Use:   "recover",
		Short: "Finish what a crash left undecided",
		Long: `Recover looks at every repair of this store that was begun and not finished, and
brings it to its end: forward where every record allows it, else back. Every verb
that writes does this first by itself.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := mend.Open(a.opt)
			if err != nil {
				return err
			}
			if f.dryRun {
				pending, err := c.Pending()
				if err != nil {
					return err
				}
				return a.endEntries(pending, "Nothing is pending.")
			}
			done, err := c.Recover(cmd.Context())
			if err != nil {
				return err
			}
			return a.endEntries(done, "Nothing was pending.")
		},
	}
	f.add(cmd, "")
	return cmd
}
