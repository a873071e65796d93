package main

import (
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mend/change"
	"mend/journal"
)

func (a *app) logVerb() *cobra.Command {
	var q journal.Query
	var follow bool
	cmd := &cobra.Command{
		Use:   "log",
		Short: "List what was done, the newest first",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if follow {
				return a.followLog(cmd.Context(), q)
			}
			es, err := a.opt.Log(q)
			if err != nil {
				return err
			}
			return a.printEntries(es, "Nothing was repaired yet.")
		},
	}
	cmd.Flags().IntVarP(&q.Limit, "limit", "n", 0, "at most so many (default: all)")
	cmd.Flags().StringVar(&q.Session, "session", "", "only of this session")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "list the oldest first, and go on with what comes, until a signal; with --json one object a line")
	return cmd
}

// printEntries prints one line for each entry, or none if there are no entries.
func (a *app) printEntries(es []change.Entry, none string) error {
	if a.asJSON {
		a.answer = map[string]any{"repairs": entriesJSON(es)}
		return nil
	}
	defer a.bufferOutput()()
	for _, e := range es {
		a.printEntryLine(e)
	}
	if len(es) == 0 {
		a.printf("%s\n", none)
	}
	return nil
}

func (a *app) printEntryLine(e change.Entry) {
	a.printf("%s  %s  %-10s %s  %s, %s\n", bold(e.ID), faint(e.Time.Local().Format("2006-01-02 15:04")),
		stateWord(e), e.Session, causeText(e), count(len(e.Ops), "record"))
}

// stateWord returns the state of an entry in its colour, padded.
func stateWord(e change.Entry) string {
	word := string(e.State)
	switch {
	case e.Forgotten:
		return faint(fmt.Sprintf("%-10s", "forgotten"))
	case e.State == change.Committed && e.UndoneBy != "":
		return faint(fmt.Sprintf("%-10s", "undone"))
	case e.State == change.Committed:
		return good(fmt.Sprintf("%-10s", word))
	case e.State == change.Pending, e.State == change.Conflicted:
		return bad(fmt.Sprintf("%-10s", word))
	}
	return faint(fmt.Sprintf("%-10s", word))
}

// causeText returns the cause of an entry in a few words.
func causeText(e change.Entry) string {
	var of []string
	for _, seq := range e.Cause.Entries {
		of = append(of, journal.IDOf(seq))
	}
	switch ids := strings.Join(of, ", "); e.Cause.Kind {
	case change.CauseUndo:
		if e.Cause.Partial {
			return "undo of records of " + ids
		}
		return "undo of " + ids
	case change.CauseRedo:
		return "redo, takes back " + ids
	case change.CauseResolve:
		return "resolves " + ids + ": " + oneLine(e.Cause.Text, 20)
	case change.CauseError:
		return "repair after an API error"
	case change.CauseOrphans:
		return "orphans put away"
	default:
		return "repair"
	}
}

func (a *app) showVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Tell the whole story of a repair, with the difference of every record",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, ids []string) error {
			e, ops, err := a.opt.Show(ids[0])
			if err != nil {
				return err
			}
			if a.asJSON {
				a.answer = map[string]any{"repairs": []repairJSON{entryJSON(e, ops)}}
				return nil
			}
			a.printEntry(e, ops)
			return nil
		},
	}
}

func (a *app) printEntry(e change.Entry, ops []change.Op) {
	a.printf("%s %s  %s\n", bold("repair"), bold(e.ID), stateWord(e))
	for _, row := range [][2]string{
		{"session", e.Session},
		{"store", e.Store.Root},
		{"time", e.Time.Local().Format(time.RFC1123)},
		{"by", "mend " + e.Version},
		{"cause", causeText(e)},
		{"undone by", e.UndoneBy},
		{"resolved", e.Resolved},
	} {
		if row[1] != "" {
			a.printf("  %-10s %s\n", row[0], escape(row[1]))
		}
	}
	if e.Cause.Text != "" && e.Cause.Kind == change.CauseError {
		a.printf("  %-10s %s\n", "error", oneLine(e.Cause.Text, 400))
	}
	for _, d := range e.Cause.Diagnoses {
		a.printf("  %-10s %s\n", "found", escape(d))
	}
	for _, c := range e.Conflicts {
		a.printf("  %-10s %s %s: %s\n", bad("conflict"), c.Ref.Kind, c.Ref, escape(c.Why))
	}
	for _, path := range e.Kept {
		a.printf("  %-10s %s\n", "kept", escape(path))
	}
	a.printf("\n")
	if ops == nil {
		a.printf("  %s\n", faint("The bytes were removed from the journal; this repair can no longer be undone."))
		for _, o := range e.Ops {
			a.printf("  %s %s %s\n", bold(opVerb(o.Pre == nil, o.Post == nil)), o.Ref.Kind, o.Ref)
		}
		return
	}
	a.printOps(ops)
	if e.State == change.Conflicted {
		a.printf("\n%s decides: --keep, --back or --forward.\n", bold("mend resolve "+e.ID))
	}
	if e.State == change.Committed && e.UndoneBy == "" {
		a.printf("\n%s takes it back.\n", bold("mend undo "+e.ID))
	}
}

func modeText(m uint32) string {
	return fs.FileMode(m).String()
}
