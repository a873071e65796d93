package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mend/change"
	"mend/internal/term"
	"mend/journal"
)

func gcVerb(env *environment) *cobra.Command {
	var f writeFlags
	var older string
	cmd := &cobra.Command{
		Use:   "gc --older-than AGE",
		Short: "Delete undo data of old repairs",
		Long: `Delete the undo data of repairs older than AGE, such as 90d or 12h. They can no
longer be undone; the log keeps a line for each. Pending repairs and conflicts are
not touched, nor are repairs that moved files of yours into the journal, nor the
damaged database of a salvage: only "mend forget ID" deletes those.

The copies that "mend keep" makes are thinned, and those older than AGE go, except the
newest complete one of each session.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runGC(cmd.Context(), env, older, f) },
	}
	f.add(cmd, "")
	cmd.Flags().StringVar(&older, "older-than", "", "delete the data of repairs older than `WHEN`: an age such as 90d or 12h, or a date")
	return cmd
}

func runGC(ctx context.Context, env *environment, older string, f writeFlags) error {
	if older == "" {
		return usagef("gc needs --older-than AGE, such as --older-than 90d")
	}
	before, err := parseWhen("older-than", older, time.Now())
	if err != nil {
		return err
	}
	if err := dropOld(ctx, env, f, before); err != nil {
		return err
	}
	return thinKept(ctx, env, f, before)
}

// dropOld asks before it removes the data of repairs that were begun before a time, as they are shown.
func dropOld(ctx context.Context, env *environment, f writeFlags, before time.Time) error {
	es, err := env.opt.Journal.Old(before)
	if err != nil {
		return err
	}
	yours := idsWithFiles(es)
	es = slices.DeleteFunc(es, func(e change.Entry) bool { return e.KeepsFiles() })
	if len(yours) > 0 {
		defer env.Say("%s kept, because they contain files of yours or a damaged database: %s. To delete those, too: %s", term.Warn("note:"), strings.Join(yours, ", "), term.Bold("mend forget "+yours[0]))
	}
	if f.dryRun {
		if len(es) > 0 {
			env.Printf("The undo data of %s would be deleted:\n", term.Count(len(es), "repair"))
		}
		return printEntries(env, es, nil, "There is nothing to delete.")
	}
	if len(es) == 0 {
		answerFreed(env, journal.Freed{}, yours)
		env.Printf("There is nothing to delete.\n")
		return nil
	}
	if !env.JSON {
		_ = printEntries(env, es, nil, "")
	}
	if err := confirmChange(ctx, env.Terminal, f, fmt.Sprintf("%s%s can no longer be undone after this. Go on?", term.Count(len(es), "repair"), ofSession(es)), nil); err != nil {
		return err
	}
	shown := idsOf(es)
	freed, err := env.opt.Journal.GC(ctx, before, func(id string) bool { return slices.Contains(shown, id) })
	if freed, err = withArchives(ctx, env, freed, err); err != nil {
		return err
	}
	answerFreed(env, freed, yours)
	printFreed(env, freed)
	return nil
}

// answerFreed sets the JSON answer about what was removed from the journal. yours has the ids of repairs that are kept because
// they hold files of the user's own.
func answerFreed(env *environment, f journal.Freed, yours []string) {
	env.answer = map[string]any{"entries": f.Entries, "images": f.Images, "bytes": f.Bytes, "held": nonNil(f.SharedWith), "files": nonNil(yours)}
}

func printFreed(env *environment, f journal.Freed) {
	env.Printf("%s the undo data of %s: %s, %s.\n", term.Good("Deleted"), term.Count(f.Entries, "repair"), term.Count(f.Images, "image"), term.Size(f.Bytes))
	if len(f.SharedWith) > 0 {
		env.Say("%s some of the same data is kept for %s.", term.Warn("note:"), strings.Join(f.SharedWith, ", "))
	}
}

// movedUserFiles returns the user files that the entries moved away and that were not moved
// back.
func movedUserFiles(es []change.Entry) (refs []change.Ref) {
	for _, e := range es {
		for _, o := range e.Ops {
			if o.Ref.Kind == change.KindFile && o.Post == nil && e.State == change.Committed && e.UndoneBy == "" {
				refs = append(refs, o.Ref)
			}
		}
	}
	return refs
}

// idsWithFiles returns the ids of the repairs that moved user files away.
func idsWithFiles(es []change.Entry) []string {
	ids := []string{}
	for _, e := range es {
		if e.KeepsFiles() {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// withArchives removes the archives that "mend clean" has made and that no entry needs any more.
func withArchives(ctx context.Context, env *environment, freed journal.Freed, err error) (journal.Freed, error) {
	es, errLog := env.opt.Journal.Log(journal.Query{})
	if err = errors.Join(err, errLog); err != nil {
		return freed, err
	}
	seen := map[string]bool{}
	for _, e := range es {
		if !e.HasArchive() || seen[e.Store.Root] {
			continue
		}
		seen[e.Store.Root] = true
		c, err := env.openAt(e.Store.Root)
		if err != nil {
			continue // the store is gone, and what was beside it
		}
		n, err := c.ForgetArchives(ctx)
		if freed.Bytes += n; err != nil {
			return freed, err
		}
	}
	return freed, nil
}

// ofSession names the session of the entries, "" if there are several.
func ofSession(es []change.Entry) string {
	if slices.ContainsFunc(es, func(e change.Entry) bool { return e.Session != es[0].Session }) {
		return ""
	}
	return " of " + entryTitle(es[0])
}
