package main

import (
	"cmp"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mend/journal"
)

func (a *app) verifyVerb() *cobra.Command {
	var head string
	cmd := &cobra.Command{
		Use:   "verify [FILE]",
		Short: "Verify the journal's integrity, or an export of it",
		Long: `Check every checksum and the hash chain of the journal, and print the head of the
chain. This detects damage and tampering. Keep the printed head somewhere else:
--head then also detects a truncated or rebuilt journal, or an older copy of it.

With FILE it checks what "mend log --export FILE" wrote, on any machine, without a journal or a store; - is
standard input.

mend never writes to a damaged journal.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			what, check := "journal", func() (journal.Report, error) { return a.opt.Journal.Verify(head) }
			if len(files) == 1 {
				what, check = "export", func() (journal.Report, error) { return a.verifyExport(cmd, files[0], head) }
			}
			r, err := check()
			if err != nil {
				return err
			}
			if a.asJSON {
				a.answer = map[string]any{"of": what, "entries": r.Entries, "events": r.Events, "images": r.Images, "bytes": r.Bytes, "head": r.Head}
				return nil
			}
			a.printf("%s: %s, %s, %s (%s).\n", good("The "+what+" is intact"), count(r.Entries, "repair"),
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

// verifyExport checks an export in a file, or on standard input for "-".
func (a *app) verifyExport(cmd *cobra.Command, path, head string) (journal.Report, error) {
	in := a.in
	r, err := await(cmd.Context(), func() (r journal.Report, err error) {
		if path != "-" {
			f, err := os.Open(path)
			if err != nil {
				return r, err
			}
			defer f.Close()
			in = f
		}
		return journal.VerifyExport(cmd.Context(), in, head)
	})
	if err != nil {
		err = fmt.Errorf("verifying the export %s: %w", cmp.Or(path, `""`), err)
	}
	return r, err
}
