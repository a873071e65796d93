package rare

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/fail"
	"mend/internal/keep"
	"mend/internal/term"
	"mend/journal"
)

// GC is the former name of forget --older-than.
func GC(env *frame.Env) *cobra.Command {
	var f frame.WriteFlags
	var older string
	cmd := &cobra.Command{
		Use: "gc --older-than AGE", Short: "Delete the undo data of old repairs: mend forget --older-than AGE", Args: frame.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if older == "" {
				return frame.Usagef("gc needs --older-than AGE, such as --older-than 90d")
			}
			return runGC(cmd.Context(), env, older, f)
		},
	}
	f.Add(cmd, "")
	addOlderThan(cmd, &older)
	return cmd
}

func addOlderThan(cmd *cobra.Command, older *string) {
	cmd.Flags().StringVar(older, "older-than", "", "erase the undo data of repairs older than `WHEN`: an age such as 90d or 12h, or a date")
}

func runGC(ctx context.Context, env *frame.Env, older string, f frame.WriteFlags) error {
	before, err := frame.ParseWhen("older-than", older, time.Now())
	if err != nil {
		return err
	}
	if err := dropOld(ctx, env, f, before); err != nil {
		return err
	}
	return thinKept(ctx, env, f, before)
}

// dropOld shows the repairs that began before a time, asks, and removes their data.
func dropOld(ctx context.Context, env *frame.Env, f frame.WriteFlags, before time.Time) error {
	es, err := env.Opt.Journal.Old(before)
	if err != nil {
		return err
	}
	yours := idsWithFiles(es)
	es = slices.DeleteFunc(es, func(e change.Entry) bool { return e.KeepsFiles() })
	if len(yours) > 0 {
		defer env.Say("%s kept, because they contain files of yours or a damaged database: %s. To delete those, too: %s", term.Warn("note:"), strings.Join(yours, ", "), term.Bold("mend forget "+yours[0]))
	}
	if f.DryRun {
		if len(es) > 0 {
			env.Printf("The undo data of %s would be deleted:\n", term.Count(len(es), "repair"))
		}
		none := "There is nothing to delete."
		left, err := frame.Sweep(ctx, env, true)
		if left > 0 {
			none = fmt.Sprintf("%s that mend keeps and no repair needs would be deleted.", term.Size(left))
		}
		return fail.Worst(frame.PrintEntries(env, es, nil, none), err)
	}
	if len(es) == 0 {
		return sweepAlone(ctx, env, yours)
	}
	if !env.JSON {
		_ = frame.PrintEntries(env, es, nil, "")
	}
	if err := frame.ConfirmChange(ctx, env.Terminal, f, fmt.Sprintf("%s%s can no longer be undone after this. Go on?", term.Count(len(es), "repair"), sessionText(es)), nil); err != nil {
		return err
	}
	shown := show.IDs(es)
	freed, err := env.Opt.Journal.GC(ctx, before, func(id string) bool { return slices.Contains(shown, id) })
	if err != nil {
		return err
	}
	left, err := frame.Sweep(ctx, env, false)
	freed.Bytes += left
	answerFreed(env, freed, yours)
	printFreed(env, freed)
	return err
}

// sweepAlone removes mend's unneeded files if nothing else is to be deleted.
func sweepAlone(ctx context.Context, env *frame.Env, yours []string) error {
	left, err := frame.Sweep(ctx, env, false)
	answerFreed(env, journal.Freed{Bytes: left}, yours)
	if left > 0 {
		env.Say("%s %s of data that no repair needs.", term.Good("Deleted"), term.Size(left))
	} else if err == nil {
		env.Printf("There is nothing to delete.\n")
	}
	return err
}

// answerFreed sets the JSON answer about the data removed from the journal. yours has the ids of repairs that
// are kept because they contain the user's own files.
func answerFreed(env *frame.Env, f journal.Freed, yours []string) {
	env.SetAnswers(freedAnswer{f.Entries, f.Images, f.Bytes, show.NonNil(f.SharedWith), show.NonNil(yours)})
}

func printFreed(env *frame.Env, f journal.Freed) {
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

// sessionText names the session of the entries, "" if there are several.
func sessionText(es []change.Entry) string {
	if slices.ContainsFunc(es, func(e change.Entry) bool { return e.Session != es[0].Session }) {
		return ""
	}
	return " of " + show.EntryTitle(es[0])
}

// damagedText returns the end of a question that names the damaged files to be removed; "" for none.
func damagedText(env *frame.Env, before time.Time) string {
	n := len(frame.DamagedBefore(env, before))
	if n == 0 {
		return ""
	}
	return ", and " + term.CountWords(n, "damaged keep.db that was set aside goes", "damaged keep.db that were set aside go") + ", too"
}

// removeDamaged removes damaged files with copies that were set aside. Their readable copies were transferred
// when the copies were opened.
func removeDamaged(env *frame.Env, paths []string) error {
	size, err := keep.RemoveDamaged(paths)
	if err != nil {
		return fmt.Errorf("removing damaged copies: %w", err)
	}
	for _, path := range paths {
		env.Say("%s %s.", term.Good("Deleted"), term.Escape(term.ShortenHome(path)))
	}
	if len(paths) > 0 {
		env.SetAnswer("damaged", damagedJSON{len(paths), size})
	}
	return nil
}

// thinKept thins the copies, if there are any, and removes those older than a time, after a question.
func thinKept(ctx context.Context, env *frame.Env, f frame.WriteFlags, before time.Time) error {
	c, err := frame.LoadSettings(nil)
	if err != nil {
		return err
	}
	p := frame.KeepPolicy(c)
	p.Before = before
	old := 0
	err = env.Opt.Journal.Kept(keep.Options{ReadOnly: true, Context: ctx}, func(k *keep.Keep) error {
		old, err = k.Old(p)
		return err
	})
	env.SetAnswer("copies", 0)
	aside := frame.DamagedBefore(env, before)
	if err != nil || old == 0 && len(aside) == 0 {
		return err
	}
	if f.DryRun {
		env.SetAnswer("copies", old)
		env.Say("%s of sessions would be deleted%s.", term.CountWords(old, "kept copy", "kept copies"), damagedText(env, before))
		return nil
	}
	question := fmt.Sprintf("%s of sessions can no longer be restored after this; the newest complete one of each stays%s. Go on?", term.CountWords(old, "older kept copy", "older kept copies"), damagedText(env, before))
	if err := frame.ConfirmChange(ctx, env.Terminal, f, question, nil); err != nil {
		return err
	}
	return env.Opt.Journal.Kept(keep.Options{Context: ctx, Notice: env.Note}, func(k *keep.Keep) error {
		freed, err := k.Thin(ctx, p)
		if err != nil {
			return err
		}
		env.SetAnswer("copies", freed.States)
		env.Say("%s %s (%s).", term.Good("Deleted"), term.CountWords(freed.States, "kept copy", "kept copies"), term.Size(freed.Bytes))
		return removeDamaged(env, aside)
	})
}
