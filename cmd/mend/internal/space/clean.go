package space

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"mend/agent"
	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/repair"
)

// Clean returns the verb clean.
func Clean(env *frame.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Show what takes space, and remove it",
		Long: `Clean shows how many bytes each kind of data takes in the stores of all agents, and which
sessions are the largest. Clean itself writes nothing; its subcommands remove data.

The removed data first goes to an archive, to the journal or, for snapshots, to a folder beside
the database. "mend undo" restores all of it until "mend forget" deletes it. Then the free
space of the database is returned to the disk. No other program may have it open during that.`,
		Example: `  mend clean
  mend clean events --dry-run
  mend clean sessions --older-than 90d`,
		Args: frame.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runSpace(cmd.Context(), env) },
	}
	cmd.AddCommand(
		cleanAllVerb(env, agent.CleanRequest{Events: true}, &cobra.Command{
			Use: "events", Short: "Remove the events of OpenCode, a second copy of every session",
			Long: `OpenCode stores everything a second time, as events, which can be 96 % of its database.
OpenCode needs them only to synchronise machines, not for prompts, lists, forks or exports.
Clean events removes all events and leaves their counters.

Events help "mend salvage" to rebuild a damaged database.`,
		}),
		cleanSessionsVerb(env), cleanImagesVerb(env),
		cleanAllVerb(env, agent.CleanRequest{Snapshots: true}, &cobra.Command{
			Use: "snapshots", Short: "Remove the snapshots of projects without sessions",
			Long: `OpenCode keeps a repository with the files of each project, to undo the changes of a
session. It never deletes these repositories, even if all sessions of the project are
deleted. Clean snapshots removes those of projects without a session in any database or
JSON tree in OpenCode's data folder.

They are moved, not copied: "mend undo" moves them back, and "mend forget" frees their
space.`,
		}),
		cleanPagesVerb(env),
	)
	return cmd
}

// nothingToRemove is printed if no store has the requested data.
const nothingToRemove = "There is nothing to remove. Nothing was changed."

// cleanAllVerb returns the verb that removes the requested data from all stores.
func cleanAllVerb(env *frame.Env, request agent.CleanRequest, cmd *cobra.Command) *cobra.Command {
	var f frame.WriteFlags
	cmd.Args = frame.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return cleanEach(cmd.Context(), env, f, nothingToRemove, func(c *mend.Store) (*cleaning, error) {
			request.DryRun = f.DryRun
			return findRemovable(cmd.Context(), env, c, cmd.Name(), request)
		})
	}
	f.Add(cmd, "")
	return cmd
}

func cleanSessionsVerb(env *frame.Env) *cobra.Command {
	var f frame.WriteFlags
	var s selection
	cmd := &cobra.Command{
		Use:   "sessions [SESSION...]",
		Short: "Remove sessions by age, by folder or by name",
		Long: `Clean sessions removes the named sessions, or the sessions of all agents that are in a
folder, or were not used for some time, or both. It also removes the files of these
sessions and the sessions of their subagents. Archived sessions are treated like all
others. If a session is shared, its page stays on the web; clean names such sessions.`,
		Example: `  mend clean sessions --older-than 90d --dry-run
  mend clean sessions --folder ~/src/old
  mend clean sessions "dark mode"`,
		RunE: func(cmd *cobra.Command, names []string) error {
			ctx := cmd.Context()
			if !s.any() == (len(names) == 0) {
				return frame.Usagef("clean sessions needs names of sessions, or --older-than AGE, or --folder DIR")
			}
			if err := s.parse(ctx, env, names); err != nil {
				return err
			}
			return cleanEach(ctx, env, f, nothingToRemove, func(c *mend.Store) (*cleaning, error) {
				heads, err := s.sessions(ctx, env, c)
				if err != nil || len(heads) == 0 {
					return &cleaning{}, err
				}
				return findRemovable(ctx, env, c, "sessions", agent.CleanRequest{Sessions: heads, DryRun: f.DryRun})
			})
		},
	}
	f.Add(cmd, "")
	s.add(cmd)
	return cmd
}

// A selection has the sessions to clean: the named ones, or else those that the flags select.
type selection struct {
	older, folder string
	mend.Selection
	named []frame.NamedSession
}

func (s *selection) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.older, "older-than", "", "sessions not used since `WHEN`: an age such as 90d, or a date")
	cmd.Flags().StringVar(&s.folder, "folder", "", "sessions of the folder `DIR` and of the folders below it")
}

// any reports whether a flag was given.
func (s *selection) any() bool { return s.older != "" || s.folder != "" }

// parse parses the flags, and finds the named sessions.
func (s *selection) parse(ctx context.Context, env *frame.Env, names []string) (err error) {
	if s.Before, err = frame.ParseWhen("older-than", s.older, time.Now()); err != nil {
		return err
	}
	if s.folder != "" {
		if s.Folder, err = filepath.Abs(s.folder); err != nil {
			return err
		}
	}
	if len(names) > 0 {
		s.named, err = frame.FindSessions(ctx, env, names)
	}
	return err
}

// sessions returns the sessions of a store to clean, and prints why others stay.
func (s *selection) sessions(ctx context.Context, env *frame.Env, c *mend.Store) ([]change.Head, error) {
	here := s.Selection
	for _, h := range s.named {
		if h.StoreID.Same(c.ID()) {
			here.Named = append(here.Named, h.Head)
		}
	}
	if len(s.named) > 0 && len(here.Named) == 0 {
		return nil, nil
	}
	found, stay, err := c.Select(ctx, here)
	if stay > 0 {
		env.Say("%s, because a subagent was used later, or a session was forked from it that stays.", term.CountWords(stay, "session stays", "sessions stay"))
	}
	return found, err
}

func cleanImagesVerb(env *frame.Env) *cobra.Command {
	var f frame.WriteFlags
	var s selection
	cmd := &cobra.Command{
		Use:   "images [SESSION...]",
		Short: "Replace images and other large files with a line of text",
		Long: `Clean images removes images, PDFs and other large files from prompts and tool results of the
sessions that you name, of unused ones, of those of a folder, or of all. A line of text tells
you and the model what was there. The newest turns of each session do not change. The bytes
are moved to the journal, and "mend undo" restores them.`,
		Example: `  mend clean images --older-than 30d --dry-run
  mend clean images "dark mode"`,
		RunE: func(cmd *cobra.Command, names []string) error {
			ctx := cmd.Context()
			if s.any() && len(names) > 0 {
				return frame.Usagef("name sessions, or use --older-than and --folder")
			}
			if err := s.parse(ctx, env, names); err != nil {
				return err
			}
			const none = "There is nothing to remove: the newest turns of each session stay as they are. Nothing was changed."
			return cleanEach(ctx, env, f, none, func(c *mend.Store) (*cleaning, error) {
				heads, err := s.sessions(ctx, env, c)
				if err != nil {
					return &cleaning{}, err
				}
				return findImages(ctx, env, c, heads)
			})
		},
	}
	f.Add(cmd, "")
	s.add(cmd)
	return cmd
}

// findImages finds the images and other files to remove from the sessions of one store. The plan of a session is made
// again when they are removed.
func findImages(ctx context.Context, env *frame.Env, c *mend.Store, heads []change.Head) (x *cleaning, err error) {
	step := func(h change.Head) frame.Step {
		t, err := c.ProposeTrim(ctx, h, repair.TrimRequest{Files: true, KeepTurns: repair.DefaultKeepTurns})
		t.Plan.Session, t.Plan.Cause.Title = h.ID, h.Title
		return frame.Step{Store: c, Plan: t.Plan, Name: show.QuotedTitle(h.Title, h.ID), Err: err}
	}
	x = cleaningOf(c)
	x.kind = "images"
	var found []change.Head
	for _, h := range heads {
		s := step(h)
		freed := freedBytes(s.Plan)
		switch {
		case ctx.Err() != nil:
			return x, ctx.Err()
		case s.Err != nil:
			x.failed = append(x.failed, s)
			continue
		case freed <= 0:
			continue
		case len(found) == 0:
			env.NextStore(c)
		}
		env.Printf("%s\n", term.Cut("  "+term.Bold(term.Size(freed))+"  "+show.SessionLine(h), env.Width))
		env.PrintBound(s.Plan.Cause.Bound)
		found, x.Bytes, x.Sessions = append(found, h), x.Bytes+freed, append(x.Sessions, cleanedSession{h.ID, h.Title})
	}
	if x.n = len(found); x.n > 0 {
		env.Say("%s.", removedText([]*cleaning{x}))
	}
	x.steps = func(yield func(frame.Step) bool) {
		for _, h := range found {
			if s := step(h); (s.Err != nil || freedBytes(s.Plan) > 0) && !yield(s) {
				return
			}
		}
	}
	return x, nil
}

// freedBytes returns by how many bytes a plan makes the records smaller.
func freedBytes(p change.Plan) (n int64) {
	for _, o := range p.Ops {
		n += int64(o.Pre.Size() - o.Post.Size())
	}
	return n
}

func cleanPagesVerb(env *frame.Env) *cobra.Command {
	var f frame.WriteFlags
	cmd := &cobra.Command{
		Use:   "pages",
		Short: "Return the free pages of a database to the disk",
		Long: `After rows are deleted, a database keeps their pages for later rows. Clean pages makes
SQLite rewrite the database without free pages (VACUUM), and empties the write-ahead log.
No row changes. No other program may have the database open, and the disk needs free space
of twice the size of the remaining data.`,
		Args: frame.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cleanEach(cmd.Context(), env, f, "There is no database.", func(c *mend.Store) (*cleaning, error) {
				return findPages(cmd.Context(), env, c)
			})
		},
	}
	f.Add(cmd, "")
	return cmd
}

// findPages finds the free pages of a database, and shows how many bytes they take.
func findPages(ctx context.Context, env *frame.Env, c *mend.Store) (x *cleaning, err error) {
	x = cleaningOf(c)
	if c.ID().Kind != "sqlite" {
		return x, errors.ErrUnsupported
	}
	parts, _, err := c.Space(ctx, nil)
	if err != nil {
		return x, err
	}
	env.NextStore(c)
	for _, p := range parts {
		if p.Clean == "pages" {
			x.Bytes += p.Bytes
			env.PrintRows([][]any{partRow(p)}, "  ")
		}
	}
	x.kind, x.n = "pages", 1
	x.steps = func(yield func(frame.Step) bool) {
		yield(frame.Step{Store: c, Name: term.ShortenHome(c.ID().Root), Apply: func(*frame.Batch) (e change.Entry, err error) {
			x.Before, x.After, err = reclaim(ctx, env, c)
			return e, err
		}})
	}
	return x, nil
}

// A cleaning is the removal of data from one store.
type cleaning struct {
	cleanedJSON
	store   *mend.Store
	kind    string // events, sessions, images, snapshots or pages
	steps   iter.Seq[frame.Step]
	n       int          // number of steps, 0 if there is nothing to remove
	failed  []frame.Step // steps without a plan
	discard func()       // nil: nothing to discard
	removed bool         // data was removed
}

func cleaningOf(c *mend.Store) *cleaning {
	return &cleaning{store: c, cleanedJSON: cleanedJSON{Agent: c.ID().Agent, Store: c.ID().Root, Rows: map[string]int64{}}}
}

// cleanEach cleans all stores, and prints what was removed, or the text none if there was nothing to remove. It skips
// stores that cannot have such data.
func cleanEach(ctx context.Context, env *frame.Env, f frame.WriteFlags, none string, find func(*mend.Store) (*cleaning, error)) (left error) {
	clients, left := frame.OpenAll(ctx, env, !f.DryRun)
	var all []*cleaning
	j := frame.Job{NoDiff: true}
	var steps []iter.Seq[frame.Step]
	for _, c := range clients {
		x, err := find(c)
		if x.discard != nil { // it removes files that no plan has moved
			defer x.discard()
		}
		switch {
		case errors.Is(err, errors.ErrUnsupported) && len(clients) > 1:
			continue
		case errors.Is(err, errors.ErrUnsupported):
			return fail.New(fail.Refused, fmt.Sprintf("%q shows what takes the space there", env.CommandLine("clean")), "%s has nothing that \"mend %s\" removes", agents.Title(c.ID()), env.Command)
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			x.failed = append(x.failed, frame.Step{Name: term.ShortenHome(c.ID().Root), Err: err})
		}
		if j.Failed = append(j.Failed, x.failed...); x.n > 0 {
			all, steps, j.N = append(all, x), append(steps, x.steps), j.N+x.n
		}
	}
	cleaned := []cleanedJSON{}
	if j.N += len(j.Failed); j.N > 0 {
		j.Steps = frame.JoinSteps(steps)
		left = env.Both(ctx, left, runCleanings(ctx, env, f, j, all))
	} else if left == nil {
		env.Say("%s", none)
	}
	for _, x := range all {
		cleaned = append(cleaned, x.cleanedJSON)
	}
	env.SetAnswers(CleanedAnswer{Cleaned: cleaned})
	return left
}

// runCleanings asks once, removes the data from all stores, and returns the free space to the disk.
func runCleanings(ctx context.Context, env *frame.Env, f frame.WriteFlags, j frame.Job, all []*cleaning) error {
	if len(all) > 0 {
		from := term.ShortenHome(all[0].Store)
		if len(all) > 1 {
			from = term.Count(len(all), "store")
		}
		j.Question = fmt.Sprintf("Remove %s from %s?", removedText(all), from)
	}
	partly := ""
	j.Ended = func(s frame.Step, e change.Entry, err error) {
		if err != nil {
			partly = "a part of "
		} else if e.ID != "" {
			all[slices.IndexFunc(all, func(x *cleaning) bool { return x.store == s.Store })].removed = true
		}
	}
	j.Done = func(b *frame.Batch) {
		id := show.UndoID(b.Done[0], b.Made)
		env.Say("%s %s%s (%s). Undo: %s", term.Good("Removed"), partly, removedText(all), term.Bold(id), term.Command("mend undo "+id))
		if all[0].kind == "snapshots" { // they were only moved
			env.SayAt(2, "To return the space to the disk: %s", term.Command("mend forget "+id))
			return
		}
		for _, x := range all {
			if x.removed {
				x.returnSpace(ctx, env)
			}
		}
	}
	return env.Run(ctx, f, j)
}

// removedText describes the data of cleanings for a sentence.
func removedText(all []*cleaning) string {
	sessions, size := 0, int64(0)
	for _, x := range all {
		sessions, size = sessions+len(x.Sessions), size+x.Bytes
	}
	switch all[0].kind {
	case "images":
		return term.Size(size) + " of images and other files of " + term.Count(sessions, "session")
	case "sessions":
		return term.Count(sessions, "session")
	case "pages":
		return "the free pages"
	}
	return "the " + all[0].kind
}

// findRemovable finds the requested data in one store, and shows it. kind names the data in one word.
func findRemovable(ctx context.Context, env *frame.Env, c *mend.Store, kind string, r agent.CleanRequest) (x *cleaning, err error) {
	x = cleaningOf(c)
	progress, clear := env.ByteProgress("archiving")
	r.Progress = progress
	found, err := c.ProposeClean(ctx, kind, r)
	clear()
	x.discard = found.Discard
	if err != nil || len(found.Rows) == 0 {
		return x, err
	}
	x.kind, x.Rows, x.Bytes, x.Archive, x.Shared = kind, found.Rows, found.Content, found.Packed, found.Shared
	for _, h := range r.Sessions {
		x.Sessions = append(x.Sessions, cleanedSession{h.ID, h.Title})
	}
	if x.n = len(found.Plans); x.n == 0 {
		x.n = max(len(r.Sessions), 1)
	}
	printFound(env, c, kind, r, found)
	x.steps = frame.PlannedSteps(c, term.ShortenHome(c.ID().Root), func(each func(change.Plan) error) (err error) {
		if r.Each = each; len(found.Plans) == 0 {
			_, err = c.ProposeClean(ctx, kind, r)
		}
		for _, p := range found.Plans {
			err = cmp.Or(err, each(p))
		}
		return err
	})
	return x, nil
}

// returnSpace returns the free pages to the file system, or prints why it cannot.
func (x *cleaning) returnSpace(ctx context.Context, env *frame.Env) {
	var err error
	if x.Before, x.After, err = reclaim(ctx, env, x.store); err != nil {
		x.Note = err.Error()
		env.Say("%s the space is not returned to the disk yet; new rows use it first: %s. To return it later: %s", term.Warn("note:"), term.Sentence(err.Error()), term.Command(env.CommandLine("clean", "pages")))
	}
}

// printFound prints the data that would be removed.
func printFound(env *frame.Env, c *mend.Store, kind string, r agent.CleanRequest, found agent.Cleaned) {
	env.NextStore(c)
	env.PrintRows(show.SessionRows(env.Terminal, r.Sessions, r.Sessions), "  ")
	archive, where := "", "of "+kind
	if found.Packed > 0 {
		archive = fmt.Sprintf("; the archive, from which undo restores them, takes %s", term.Size(found.Packed))
	}
	if n := len(r.Sessions); n > 0 {
		where = "in " + term.Count(n, "session")
	}
	env.Say("%s %s%s.", term.Bold(term.Size(found.Content)), where, archive)
	for _, id := range found.Shared {
		env.Say("%s %s is shared: its page on the web stays.", term.Warn("note:"), id)
	}
}

// reclaim returns the free pages of a database to the file system, and prints the size.
func reclaim(ctx context.Context, env *frame.Env, c *mend.Store) (before, after int64, err error) {
	done := env.Busy("returning the space to the disk ...")
	before, after, err = c.Reclaim(ctx)
	if done(); err == nil && before > 0 {
		env.Say("The database had %s and has %s now.", term.Size(before), term.Size(after))
	}
	return before, after, err
}

// A CleanedAnswer is the answer of the verbs of clean that remove data.
type CleanedAnswer struct {
	Cleaned []cleanedJSON     `json:"cleaned"`
	Repairs []show.RepairJSON `json:"repairs,omitempty"`
}

// A cleanedJSON describes the data removed from a store.
type cleanedJSON struct {
	Agent    string           `json:"agent"`
	Store    string           `json:"store"`
	Sessions []cleanedSession `json:"sessions,omitempty"` // removed sessions
	Shared   []string         `json:"shared,omitempty"`   // their shared web pages
	Rows     map[string]int64 `json:"rows"`               // by table
	Bytes    int64            `json:"bytes"`              // of the rows
	Archive  int64            `json:"archive"`            // bytes of the archive
	Before   int64            `json:"before"`             // size of the database's files before its free pages were returned
	After    int64            `json:"after"`
	Note     string           `json:"note,omitempty"` // why the free pages were not returned
}

type cleanedSession struct {
	Session string `json:"session"`
	Title   string `json:"title"`
}

// largestSessions is how many of the largest sessions are listed.
const largestSessions = 10

// A CleanAnswer is the answer of clean.
type CleanAnswer struct {
	Stores []spaceJSON       `json:"stores"`
	Mend   []agent.SpacePart `json:"mend"` // mend's own files by size
}

func runSpace(ctx context.Context, env *frame.Env) error {
	clients, left := frame.OpenAll(ctx, env, false)
	stores := []spaceJSON{}
	for _, c := range clients {
		progress, clear := env.ByteProgress("measuring")
		parts, sessions, err := c.Space(ctx, progress)
		clear()
		if err != nil {
			left = env.SkipStore(ctx, left, err)
			continue
		}
		if env.JSON {
			stores = append(stores, newSpaceJSON(c, parts, sessions))
		}
		printSpace(env, c, parts, sessions)
	}
	own := []agent.SpacePart{}
	if dir, err := env.Opt.Journal.Folder(); err == nil {
		var rows [][]any
		for _, f := range [][2]string{{"journal.db", "journal, for undo"}, {"keep.db", "kept copies"}} {
			if info, err := os.Lstat(filepath.Join(dir, f[0])); err == nil {
				own = append(own, agent.SpacePart{Name: f[1], Bytes: info.Size()})
				rows = append(rows, partRow(own[len(own)-1]))
			}
		}
		if len(rows) > 0 {
			env.Printf("\n%s\n", term.Bold("mend itself"))
			env.PrintRows(rows, "  ")
		}
	}
	env.SetAnswers(CleanAnswer{stores, own})
	return left
}

// minSuggested is the minimum size in bytes of a part for which a command is suggested.
const minSuggested = 10 << 20

func printSpace(env *frame.Env, c *mend.Store, parts []agent.SpacePart, sessions []mend.SessionSize) {
	env.NextStore(c)
	var rows [][]any
	total := int64(0)
	parts = slices.SortedStableFunc(slices.Values(parts), func(a, b agent.SpacePart) int { return cmp.Compare(b.Bytes, a.Bytes) })
	for _, p := range parts {
		rows = append(rows, partRow(p))
		total += p.Bytes
	}
	env.PrintRows(append(rows, []any{"", term.Bold(term.Size(total)), term.Bold("total")}), "  ")
	for _, p := range parts {
		if p.Clean != "" && p.Bytes >= minSuggested {
			words := []string{"clean", p.Clean}
			if p.Clean == "sessions" {
				words = append(words, "--older-than", "90d")
			}
			env.Say("Next: run %s to remove up to %s (shows what it removes, and asks first).", term.Command(env.CommandLine(words...)), term.Size(p.Bytes))
			break
		}
	}
	if len(sessions) == 0 {
		return
	}
	env.Printf("\nThe largest sessions:\n")
	rows = nil
	for _, s := range sessions[:min(len(sessions), largestSessions)] {
		title := show.SessionTitle(*s.Head)
		if s.Directory == "" && s.Title == "" {
			title = term.Faint("(data of a session that does not exist)")
		}
		rows = append(rows, []any{"", term.Size(s.Total()), term.Bold(s.ID), show.AgeCell(env.Terminal, *s.Head), title})
	}
	env.PrintRows(rows, "  ")
}

func partRow(p agent.SpacePart) []any {
	return []any{"", term.Size(p.Bytes), p.Name}
}

// A spaceJSON lists the parts of a store by size.
type spaceJSON struct {
	Agent    string             `json:"agent"`
	Store    string             `json:"store"`
	Parts    []agent.SpacePart  `json:"parts"`
	Sessions []sessionSpaceJSON `json:"sessions"` // the largest first
}

type sessionSpaceJSON struct {
	Session string `json:"session"`
	Title   string `json:"title"`
	Bytes   int64  `json:"bytes"`
	agent.SessionSpace
}

func newSpaceJSON(c *mend.Store, parts []agent.SpacePart, sessions []mend.SessionSize) spaceJSON {
	j := spaceJSON{c.ID().Agent, c.ID().Root, show.NonNil(parts), []sessionSpaceJSON{}}
	for _, s := range sessions {
		j.Sessions = append(j.Sessions, sessionSpaceJSON{s.ID, s.Title, s.Total(), s.SessionSpace})
	}
	return j
}
