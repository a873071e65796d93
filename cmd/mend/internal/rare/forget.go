package rare

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/fail"
	"mend/internal/keep"
	"mend/internal/term"
	"mend/journal"
)

// Forget returns the verb forget.
func Forget(env *frame.Env) *cobra.Command {
	var f frame.WriteFlags
	var older string
	var copies bool
	cmd := &cobra.Command{
		Use:     "forget [SESSION|ID|FILE]",
		Aliases: []string{"gc"}, // the former name of forget --older-than
		Short:   "Erase undo data and copies: of a session, a repair, or all old ones",
		Long: `The journal contains the data that repairs replaced, including text of your conversations.
Forget erases this undo data: of one repair, of an operation, or of every repair of a session.
Those repairs can no longer be undone; the log keeps a line for each. If they moved files of
yours into the journal, these are deleted for good. For a salvage, forget deletes the damaged
database.

For a session, forget also erases the copies of "mend keep", with --copies only these, and a
damaged file of copies that mend has set aside, because it may have text of the session. To
erase only that file, use its name as FILE.

With --older-than, forget erases the undo data of all older repairs. It leaves pending
repairs, conflicts, repairs that moved files of yours into the journal, and the damaged
database of a salvage. It also deletes the copies of "mend keep" that are older, except the
newest complete copy of each session, and those that "mend keep" would delete itself.

Forget shows what it will erase, with titles and sizes, and asks. It erases only what it has
shown, and nothing that was added later.`,
		Example: `  mend forget "dark mode"        a session: the undo data of its repairs, and its copies
  mend forget bakobe             the undo data of one repair
  mend forget --older-than 90d   the undo data of older repairs`,
		Args: frame.AtMostOne("session or repair"),
		RunE: func(cmd *cobra.Command, ids []string) error {
			switch {
			case older != "" && (len(ids) > 0 || copies):
				return frame.Usagef("--older-than cannot be combined with a name or --copies")
			case older != "":
				return runGC(cmd.Context(), env, older, f)
			case len(ids) == 0:
				return fail.New(fail.Usage, "usage: "+cmd.UseLine(), "forget needs one session or repair, or --older-than AGE")
			}
			return runForget(cmd.Context(), env, ids[0], f, copies)
		},
	}
	f.Add(cmd, "")
	cmd.Flags().BoolVar(&copies, "copies", false, "erase only the copies of the session, not the undo data of its repairs")
	cmd.Flags().StringVar(&older, "older-than", "", "erase the undo data of repairs older than `WHEN`: an age such as 90d or 12h, or a date")
	return cmd
}

// An erasure lists what forget erases, which is exactly what it shows first.
type erasure struct {
	ids     []string     // of the repairs whose data is removed
	size    int64        // of the records before and after these repairs
	files   []change.Ref // the user's files that these repairs moved away, without those moved back
	states  []keep.State // copies of sessions
	damaged []string     // files with copies that were set aside as damaged

	// With --older-than. Then the texts of the repairs stay in the log.
	before time.Time
	held   []string // old repairs that stay because they contain files of the user or a damaged database
}

// add adds the repairs that the query selects and for which wanted returns true.
func (x *erasure) add(env *frame.Env, q journal.Query, wanted func(change.Entry) bool) error {
	for e, err := range env.Opt.Journal.Each(q) {
		if err != nil {
			return err
		}
		if !wanted(e) {
			continue
		}
		x.ids = append(x.ids, e.ID)
		for _, o := range e.Ops {
			for _, d := range []*change.Digest{o.Pre, o.Post} {
				if d != nil {
					x.size += d.Size
				}
			}
			if o.Ref.Kind == change.KindFile && o.Post == nil && e.State == change.Committed && e.UndoneBy == "" {
				x.files = append(x.files, o.Ref)
			}
		}
	}
	return nil
}

// hasTexts reports whether an entry still has its texts.
func hasTexts(e change.Entry) bool { return !e.Erased }

type freedAnswer struct {
	Entries int      `json:"entries,omitempty"`
	Images  int      `json:"images,omitempty"`
	Bytes   int64    `json:"bytes,omitempty"` // of the images, compressed
	Held    []string `json:"held,omitempty"`  // other repairs, for which some of the same images are kept
	Files   []string `json:"files,omitempty"` // old repairs that are kept because they contain files of the user
}

// A ForgetAnswer is the answer of forget.
type ForgetAnswer struct {
	freedAnswer
	Repairs []show.RepairJSON    `json:"repairs,omitempty"`
	States  []show.KeptStateJSON `json:"states,omitempty"`  // with --dry-run: the copies that would be erased
	Copies  int                  `json:"copies,omitempty"`  // number of copies that were erased, or with --dry-run would be
	Damaged *damagedJSON         `json:"damaged,omitempty"` // the damaged files of copies that were deleted
}

type damagedJSON struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

// runForget erases the data of a repair, of a session or of a damaged file.
func runForget(ctx context.Context, env *frame.Env, name string, f frame.WriteFlags, copies bool) error {
	damaged := frame.DamagedCopies(env, time.Now())
	if len(damaged) > 0 && !f.DryRun { // opening the copies first transfers the readable ones of these files
		if err := env.Opt.Journal.Kept(keep.Options{Context: ctx, Notice: env.Note}, func(*keep.Keep) error { return nil }); err != nil {
			return err
		}
	}
	var x erasure
	if i := slices.IndexFunc(damaged, func(path string) bool { return filepath.Base(path) == filepath.Base(name) }); i >= 0 {
		x.damaged = damaged[i : i+1]
		return x.run(ctx, env, f)
	}
	q, s, err := frame.FindSessionOrRepair(ctx, env, name)
	switch {
	case errors.Is(err, journal.ErrNotFound) && len(damaged) > 0:
		return fail.WithHint(err, "a damaged file may have a copy of it: mend forget "+filepath.Base(damaged[0]))
	case err != nil:
		return err
	case q != nil && copies:
		return frame.Usagef("--copies needs a session, and %s is a repair", name)
	case q != nil:
		err = x.add(env, *q, hasTexts)
	default:
		x.damaged = damaged
		if !copies {
			err = x.add(env, journal.Query{Session: s.ID, Agent: s.StoreID.Agent}, hasTexts)
		}
		if err == nil {
			err = env.Opt.Journal.Kept(keep.Options{ReadOnly: true, Context: ctx}, func(k *keep.Keep) error {
				x.states, err = k.States(keep.Query{Session: s.ID, Agent: s.StoreID.Agent})
				return err
			})
		}
	}
	if err == nil {
		err = x.run(ctx, env, f)
	}
	if err != nil || f.DryRun || q != nil || copies {
		return err
	}
	return noteArchives(env)
}

// runGC erases the undo data of all repairs that began before a time, and the copies that thinning with that limit
// removes.
func runGC(ctx context.Context, env *frame.Env, older string, f frame.WriteFlags) (err error) {
	var x erasure
	if x.before, err = frame.ParseWhen("older-than", older, time.Now()); err != nil {
		return err
	}
	old, err := env.Opt.Journal.Old(x.before)
	if err != nil {
		return err
	}
	store, err := env.NamedStore()
	if err != nil {
		return err
	}
	c, err := frame.LoadSettings(nil)
	if err != nil {
		return err
	}
	err = x.add(env, journal.Query{IDs: show.NonNil(old), Agent: env.AgentName, Store: store}, func(e change.Entry) bool {
		if e.KeepsFiles() {
			x.held = append(x.held, e.ID)
		}
		return !e.KeepsFiles()
	})
	if err != nil {
		return err
	}
	p := frame.KeepPolicy(c)
	p.Before, p.Of.Agent = x.before, env.AgentName
	if store != nil {
		p.Of.Store = store.Same
	} else if env.AgentName == "" {
		x.damaged = frame.DamagedCopies(env, x.before) // they may have copies of any session
	}
	err = env.Opt.Journal.Kept(keep.Options{ReadOnly: true, Context: ctx}, func(k *keep.Keep) error {
		x.states, err = k.Old(p)
		return err
	})
	if err != nil {
		return err
	}
	return x.run(ctx, env, f)
}

// run shows the data to erase, asks, and erases it.
func (x *erasure) run(ctx context.Context, env *frame.Env, f frame.WriteFlags) error {
	if len(x.held) > 0 {
		defer env.Say("%s kept, because they contain files of yours or a damaged database: %s. To delete those, too: %s", term.Warn("note:"), strings.Join(x.held, ", "), term.Bold("mend forget "+x.held[0]))
	}
	empty := len(x.ids)+len(x.states)+len(x.damaged) == 0
	if !empty && !env.JSON {
		x.print(env)
	}
	switch {
	case f.DryRun:
		env.Say("%s", map[bool]string{true: "There is nothing to delete.", false: "Dry run: nothing was erased."}[empty])
		states := []show.KeptStateJSON{}
		for i := range x.states {
			states = append(states, show.KeptState(&x.states[i]))
		}
		env.SetAnswer("repairs", show.EntriesJSON(slices.Collect(env.Entries(x.ids))))
		env.SetAnswer("copies", len(states))
		env.SetAnswer("states", states)
		return nil
	case !empty: // otherwise a killed forget may have left data
		if err := frame.ConfirmChange(ctx, env.Terminal, f, "Go on?", nil); err != nil {
			return err
		}
	}
	return x.erase(ctx, env)
}

// noteArchives names the repairs whose undo data stays because they removed rows of many sessions, or a whole database.
func noteArchives(env *frame.Env) error {
	var ids []string
	for e, err := range env.Opt.Journal.Each(journal.Query{State: change.Committed}) {
		if err != nil {
			return err
		}
		if !e.Forgotten && e.Kind().Whole() {
			ids = append(ids, e.ID)
		}
	}
	if len(ids) > 0 {
		env.Note(fmt.Sprintf("the data that %s removed from a database may include the session, and is still kept: mend forget %s", strings.Join(ids, ", "), ids[0]))
	}
	return nil
}

// print shows what would be erased: repairs, files of the user, copies, and damaged files. It also prints what becomes
// impossible.
func (x *erasure) print(env *frame.Env) {
	if len(x.ids) > 0 {
		_ = frame.PrintEntries(env, env.Entries(x.ids), nil, "")
	}
	var rows [][]any
	for _, r := range x.files {
		rows = append(rows, []any{"a file of yours", r})
	}
	copies, of := int64(0), ""
	for _, s := range x.states {
		if copies += s.Size; x.before.IsZero() { // they are copies of one session
			of = " of " + agents.Title(s.Store) + "'s " + show.QuotedTitle(s.Title, s.Session)
		}
	}
	for _, path := range x.damaged {
		rows = append(rows, []any{"a damaged file with copies", term.ShortenHome(path)})
	}
	env.PrintRows(rows, "")
	if n := len(x.ids); n > 0 {
		env.Say("%s (%s) can no longer be undone after this.", term.Count(n, "repair"), term.Size(x.size))
	}
	if n := len(x.files); n > 0 {
		env.Say("%s of yours, listed above, will be deleted for good.", term.Count(n, "file"))
	}
	if n := len(x.states); n > 0 {
		env.Say("%s%s (%s) can no longer be restored after this.", keptCopies(n), of, term.Size(copies))
	}
	if len(x.states) > 0 && !x.before.IsZero() {
		env.Say("The newest complete copy of each session stays.")
	}
}

func keptCopies(n int) string { return term.CountWords(n, "kept copy", "kept copies") }

// erase erases exactly x, and no copy that was made later, and mend's files that no repair needs. If it is killed, the
// next forget completes it, see [frame.Sweep].
func (x *erasure) erase(ctx context.Context, env *frame.Env) (err error) {
	var freed journal.Freed
	switch {
	case len(x.ids) == 0:
	case x.before.IsZero():
		freed, err = env.Opt.Journal.Forget(ctx, x.ids)
	default:
		freed, err = env.Opt.Journal.GC(ctx, x.before, x.ids)
	}
	if err != nil {
		return err
	}
	env.SetAnswer("copies", 0)
	var copies error
	if len(x.states)+len(x.damaged) > 0 {
		copies = x.eraseCopies(ctx, env)
	}
	left, err := frame.Sweep(ctx, env)
	freed.Bytes += left
	env.SetAnswers(freedAnswer{freed.Entries, freed.Images, freed.Bytes, show.NonNil(freed.SharedWith), show.NonNil(x.held)})
	switch {
	case len(x.ids) > 0:
		env.Printf("%s the undo data of %s: %s, %s.\n", term.Good("Deleted"), term.Count(freed.Entries, "repair"), term.Count(freed.Images, "image"), term.Size(freed.Bytes))
		if len(freed.SharedWith) > 0 {
			env.Say("%s some of the same data is kept for %s.", term.Warn("note:"), strings.Join(freed.SharedWith, ", "))
		}
	case left > 0:
		env.Say("%s %s of files that no repair needs any more.", term.Good("Deleted"), term.Size(left))
	case err == nil && len(x.states)+len(x.damaged) == 0:
		env.Printf("There is nothing to delete.\n")
	}
	return fail.Worst(copies, err)
}

// eraseCopies erases the copies that were shown, and removes the damaged files. The readable copies of these were
// transferred when the copies were opened.
func (x *erasure) eraseCopies(ctx context.Context, env *frame.Env) error {
	return env.Opt.Journal.Kept(keep.Options{Context: ctx, Notice: env.Note}, func(k *keep.Keep) error {
		now, err := k.States(keep.Query{}) // the file may have been created again
		if err != nil {
			return err
		}
		type key struct {
			store   change.StoreID
			session string
			time    int64
		}
		keyOf := func(s keep.State) key { return key{s.Store, s.Session, s.Time.UnixNano()} }
		shown := map[key]bool{}
		for _, s := range x.states {
			shown[keyOf(s)] = true
		}
		freed, err := k.Forget(ctx, slices.DeleteFunc(now, func(s keep.State) bool { return !shown[keyOf(s)] }))
		if err != nil {
			return err
		}
		env.SetAnswer("copies", freed.States)
		if freed.States > 0 {
			env.Say("%s %s (%s).", term.Good("Erased"), keptCopies(freed.States), term.Size(freed.Bytes))
		}
		size, err := keep.RemoveDamaged(x.damaged)
		if err != nil {
			return fmt.Errorf("removing damaged copies: %w", err)
		}
		for _, path := range x.damaged {
			env.Say("%s %s.", term.Good("Deleted"), term.ShortenHome(path))
		}
		if len(x.damaged) > 0 {
			env.SetAnswer("damaged", damagedJSON{len(x.damaged), size})
		}
		return nil
	})
}
