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
	"mend/internal/keep"
	"mend/internal/mend"
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
	cmd.Flags().StringVar(&older, "older-than", "", "delete the data of repairs older than `AGE`, such as 90d or 12h")
	return cmd
}

func runGC(ctx context.Context, env *environment, older string, f writeFlags) error {
	if older == "" {
		return usagef("gc needs --older-than AGE, such as --older-than 90d")
	}
	d, err := parseAge("older-than", older)
	if err != nil {
		return err
	}
	es, err := env.opt.Journal.Log(journal.Query{})
	if err != nil {
		return err
	}
	before := time.Now().Add(-d)
	old := droppable(es, before)
	yours := idsWithFiles(old)
	old = slices.DeleteFunc(old, func(e change.Entry) bool { return e.KeepsFiles() })
	if err := drop(ctx, env, f, old, yours, func() (journal.Freed, error) {
		freed, err := env.opt.Journal.GC(ctx, before)
		return withArchives(ctx, env, freed, err)
	}); err != nil {
		return err
	}
	return thinKept(ctx, env, f, before)
}

func droppable(es []change.Entry, t time.Time) []change.Entry {
	var old []change.Entry
	for _, e := range es {
		if e.Time.Before(t) && !e.Forgotten && e.State != change.Pending && e.State != change.Conflicted {
			old = append(old, e)
		}
	}
	return old
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

func forgetVerb(env *environment) *cobra.Command {
	var f writeFlags
	var copies bool
	cmd := &cobra.Command{
		Use:   "forget SESSION|ID",
		Short: "Erase a session's or a repair's old data, and the copies of a session",
		Long: `The journal contains what repairs replaced, which is text of your conversations.
Forget erases the data of one repair, or of every repair of a session, from the
journal's file. Those repairs can no longer be undone; the log keeps a line for
each. Files of yours that they moved into the journal are deleted for good; forget
lists them before it asks. Of a salvage it deletes the damaged database.

Of a session it also erases the copies that "mend keep" has made; with --copies only these.`,
		Args: oneArg("session or repair"),
		RunE: func(cmd *cobra.Command, ids []string) error { return runForget(cmd.Context(), env, ids[0], f, copies) },
	}
	f.add(cmd, "")
	cmd.Flags().BoolVar(&copies, "copies", false, "erase only the copies of the session, and keep what undoes its repairs")
	return cmd
}

func runForget(ctx context.Context, env *environment, name string, f writeFlags, copies bool) error {
	es, isRepair, err := entriesToForget(ctx, env, name)
	if isRepair && copies {
		return usagef("--copies needs a session, and %s is a repair", name)
	}
	var kept []keep.State
	aside := false
	if !isRepair && (err == nil || exitCode(err) == exitUsage) {
		if aside = len(damagedBefore(env, time.Now())) > 0; aside && !f.dryRun { // what is readable of them is brought over
			if err := env.opt.Journal.Kept(keep.Options{Context: ctx, Notice: env.Note}, func(*keep.Keep) error { return nil }); err != nil {
				return err
			}
		}
		states, kerr := keptStates(env, name)
		if kerr != nil && !errors.Is(kerr, mend.ErrNoSession) {
			return kerr
		}
		if kept = states; len(kept) > 0 || aside {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	es = slices.DeleteFunc(es, func(e change.Entry) bool { return e.Forgotten || copies })
	if len(es) > 0 || len(kept) == 0 && !aside {
		err = dropForgotten(ctx, env, f, es)
	}
	if err == nil && (len(kept) > 0 || aside) {
		err = forgetKept(ctx, env, f, name, kept)
	}
	return err
}

func dropForgotten(ctx context.Context, env *environment, f writeFlags, es []change.Entry) error {
	return drop(ctx, env, f, es, nil, func() (journal.Freed, error) {
		kept, err := forgetDatabases(env, es)
		if err != nil {
			return journal.Freed{}, err
		}
		freed, err := env.opt.Journal.Forget(ctx, es)
		freed.Bytes += kept
		return withArchives(ctx, env, freed, err)
	})
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

// forgetDatabases removes the databases that the entries have exchanged for others. A crash leaves entries of which the
// files are gone.
func forgetDatabases(env *environment, es []change.Entry) (freed int64, err error) {
	for _, e := range es {
		if !e.HasDatabase() {
			continue
		}
		c, err := env.openAt(e.Store.Root)
		if err != nil {
			return freed, err
		}
		n, err := c.Forget([]change.Entry{e})
		freed += n
		if err != nil {
			return freed, err
		}
	}
	return freed, nil
}

// entriesToForget returns the repair that the user names, or else all repairs of the session that
// the user names. It reports which of the two it is.
func entriesToForget(ctx context.Context, env *environment, name string) (_ []change.Entry, isRepair bool, _ error) {
	e, _, err := env.opt.Journal.Show(name)
	if err == nil {
		return []change.Entry{e}, true, nil
	}
	if !errors.Is(err, journal.ErrNotFound) {
		return nil, true, err
	}
	id, err2 := repairedSession(ctx, env, name)
	var several *mend.AmbiguousNameError
	switch {
	case err2 == nil:
		es, err := env.opt.Journal.Log(journal.Query{Session: id})
		return es, false, err
	case errors.Is(err2, mend.ErrNoSession) && !errors.As(err2, &several):
		return nil, false, fmt.Errorf("%w, and no such session", err)
	}
	return nil, false, err2
}

// ofSession names the session of the entries, "" if there are several.
func ofSession(es []change.Entry) string {
	if slices.ContainsFunc(es, func(e change.Entry) bool { return e.Session != es[0].Session }) {
		return ""
	}
	return " of " + entryTitle(es[0])
}

// drop asks before it removes bytes from the journal, which cannot be undone. yours has the
// ids of repairs that are kept because they hold user files.
func drop(ctx context.Context, env *environment, f writeFlags, es []change.Entry, yours []string, do func() (journal.Freed, error)) error {
	if len(yours) > 0 {
		defer env.Say("%s kept, because they contain files of yours or a damaged database: %s. To delete those, too: %s", term.Warn("note:"), strings.Join(yours, ", "), term.Bold("mend forget "+yours[0]))
	}
	if f.dryRun {
		if len(es) > 0 {
			env.Printf("The undo data of %s would be deleted:\n", term.Count(len(es), "repair"))
		}
		return printEntries(env, es, nil, "There is nothing to delete.")
	}
	answer := func(f journal.Freed) {
		env.answer = map[string]any{"entries": f.Entries, "images": f.Images, "bytes": f.Bytes, "held": nonNil(f.SharedWith), "files": nonNil(yours)}
	}
	if len(es) == 0 {
		answer(journal.Freed{})
		env.Printf("There is nothing to delete.\n")
		return nil
	}
	question := term.Count(len(es), "repair") + ofSession(es) + " can no longer be undone after this."
	files := movedUserFiles(es)
	if len(files) > 0 {
		question += " " + term.Count(len(files), "file") + " of yours, listed above, will be deleted for good."
	}
	if !f.yes && !env.JSON {
		_ = printEntries(env, es, nil, "")
		printFiles(env.Terminal, files)
	}
	if err := confirmChange(ctx, env.Terminal, f, question+" Go on?", nil); err != nil {
		return err
	}
	freed, err := do()
	if err != nil {
		return err
	}
	answer(freed)
	env.Printf("%s the undo data of %s: %s, %s.\n", term.Good("Deleted"), term.Count(freed.Entries, "repair"), term.Count(freed.Images, "image"), term.Size(freed.Bytes))
	if len(freed.SharedWith) > 0 {
		env.Say("%s some of the same data is kept for %s.", term.Warn("note:"), strings.Join(freed.SharedWith, ", "))
	}
	return nil
}
