package main

import (
	"github.com/spf13/cobra"
)

func (a *app) verifyVerb() *cobra.Command {
	var head string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Verify the journal's integrity",
		Long: `Check every checksum and the hash chain of the journal, and print the head of the
chain. This detects damage and tampering. Keep the printed head somewhere else:
--head then also detects a truncated or rebuilt journal, or an older copy of it.

mend never writes to a damaged journal.`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			r, err := a.opt.Verify(head)
			if err != nil {
				return err
			}
			if a.asJSON {
				a.answer = map[string]any{"entries": r.Entries, "events": r.Events, "images": r.Images, "bytes": r.Bytes, "head": r.Head}
				return nil
			}
			a.printf("%s: %s, %s, %s (%s).\n", good("The journal is intact"), count(r.Entries, "repair"),
				count(r.Events, "event"), count(r.Images, "image"), size(r.Bytes))
			if r.Head != "" {
				a.printf("head %s\n", r.Head)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&head, "head", "", "a `HASH` that an earlier verify printed; it must be in the chain")
	return cmd
}
