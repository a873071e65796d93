package main

import (
	"github.com/spf13/cobra"
)

func (a *app) verifyVerb() *cobra.Command {
	var head string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check the whole journal: every checksum, every image, the chain of events",
		Long: `Verify finds damage of the journal and any edit that does not recompute its chain.
It prints the head of the chain. Keep the head somewhere else: an older copy of the
whole journal, put back, a removed tail and a recomputed chain are found only with
--head. Where verify finds damage, no verb writes to the journal.`,
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
			a.printf("%s: %s, %s, %s (%s).\n", good("The journal is whole"), count(r.Entries, "repair"),
				count(r.Events, "event"), count(r.Images, "image"), size(r.Bytes))
			if r.Head != "" {
				a.printf("head %s\n", r.Head)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&head, "head", "", "a head that an earlier verify printed; it must be in the chain")
	return cmd
}
