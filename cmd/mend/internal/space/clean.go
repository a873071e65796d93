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
		cleanAllVerb(env, "events", "Remove the events of OpenCode, a second copy of every session", `OpenCode stores everything a second time, as events, which can be 96 % of its database.
OpenCode needs them only to synchronise machines, not for prompts, lists, forks or exports.
Clean events removes all events and leaves their counters.

Events help "mend salvage" to rebuild a damaged database.`, agent.CleanRequest{Events: true}),
		cleanSessionsVerb(env), cleanImagesVerb(env),
		cleanAllVerb(env, "snapshots", "Remove the snapshots of projects without sessions", `OpenCode keeps a repository with the files of each project, to undo the changes of a
session. It never deletes these repositories, even if all sessions of the project are
deleted. Clean snapshots removes those of projects without a session in any database or
JSON tree in OpenCode's data folder.

They are moved, not copied: "mend undo" moves them back, and "mend forget" frees their
space.`, agent.CleanRequest{Snapshots: true}),
		cleanPagesVerb(env),
	)
	return cmd
}

// cleanAllVerb returns the verb that removes the requested data from all stores.
func cleanAllVerb(env *frame.Env, use, short, long string, request agent.CleanRequest) *cobra.Command {
	var f frame.WriteFlags
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Args: frame.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runClean(cmd.Context(), env, f, use, func(context.Context, *mend.Store) (agent.CleanRequest, error) { return request, nil })
		},
	}
	f.Add(cmd, "")
	return cmd
}

func cleanSessionsVerb(env *frame.Env) *cobra.Command {
	var f frame.WriteFlags
	var pick selectionFlags
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
			if !pick.any() == (len(names) == 0) {
				return frame.Usagef("clean sessions needs names of sessions, or --older-than AGE, or --folder DIR")
			}
			s, err := pick.selection(cmd.Context(), env, names)
			if err != nil {
				return err
			}
			return runClean(cmd.Context(), env, f, "sessions", func(ctx context.Context, c *mend.Store) (r agent.CleanRequest, err error) {
				r.Sessions, err = s.selectSessions(ctx, env, c)
				return r, err
			})
		},
	}
	f.Add(cmd, "")
	pick.add(cmd)
	return cmd
}

// selectionFlags select the sessions to clean.
type selectionFlags struct {
	older, folder string
}

func (p *selectionFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.older, "older-than", "", "sessions not used since `WHEN`: an age such as 90d, or a date")
	cmd.Flags().StringVar(&p.folder, "folder", "", "sessions of the folder `DIR` and of the folders below it")
}

func (p *selectionFlags) any() bool { return p.older != "" || p.folder != "" }

// A cleanSelection has the sessions to clean: the named ones, or else a selection.
type cleanSelection struct {
	mend.Selection
	named []frame.NamedSession
}

// selectSessions returns the sessions of a store to clean, and prints why others stay.
func (s *cleanSelection) selectSessions(ctx context.Context, env *frame.Env, c *mend.Store) ([]change.Head, error) {
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

// selection returns the sessions selected by flags and names.
func (p *selectionFlags) selection(ctx context.Context, env *frame.Env, names []string) (s cleanSelection, err error) {
	now := time.Now()
	if s.Before, err = frame.ParseWhen("older-than", p.older, now); err != nil {
		return s, err
	}
	if p.folder != "" {
		if s.Folder, err = filepath.Abs(p.folder); err != nil {
			return s, err
		}
	}
	if len(names) > 0 {
		s.named, err = frame.FindSessions(ctx, env, names)
	}
	return s, err
}

func cleanImagesVerb(env *frame.Env) *cobra.Command {
	var f frame.WriteFlags
	var pick selectionFlags
	cmd := &cobra.Command{
		Use:   "images [SESSION...]",
		Short: "Replace images and other large files with a line of text",
		Long: `Clean images removes images, PDFs and other large files from prompts and tool results: in
the named sessions, in sessions of an age or a folder, or in all. A line of text tells you and
the model what was there. The newest turns of each session do not change. The bytes are
moved to the journal, and "mend undo" restores them.`,
		Example: `  mend clean images --older-than 30d --dry-run
  mend clean images "dark mode"`,
		RunE: func(cmd *cobra.Command, names []string) error {
			if pick.any() && len(names) > 0 {
				return frame.Usagef("name sessions, or use --older-than and --folder")
			}
			s, err := pick.selection(cmd.Context(), env, names)
			if err != nil {
				return err
			}
			return cleanEach(cmd.Context(), env, f, "There is nothing to remove: the newest turns of each session stay as they are. Nothing was changed.", func(c *mend.Store) (*cleaning, error) {
				heads, err := s.selectSessions(cmd.Context(), env, c)
				if err != nil {
					return &cleaning{}, err
				}
				return findImages(cmd.Context(), env, c, heads)
			})
		},
	}
	f.Add(cmd, "")
	pick.add(cmd)
	return cmd
}

// findImages finds the images and other files to remove from the sessions of one store. The plan of a session is made
// again when they are removed.
func findImages(ctx context.Context, env *frame.Env, c *mend.Store, heads []change.Head) (x *cleaning, err error) {
	propose := func(h change.Head) (change.Plan, error) {
		t, err := c.ProposeTrim(ctx, h, repair.TrimRequest{Files: true, KeepTurns: repair.DefaultKeepTurns})
		t.Plan.Cause.Title = h.Title
		return t.Plan, err
	}
	stepOf := func(h change.Head, p change.Plan, err error) frame.Step {
		p.Session = h.ID
		return frame.Step{Store: c, Plan: p, Name: show.QuotedTitle(h.Title, h.ID), Err: err}
	}
	x = cleaningOf(c)
	var named []change.Head
	for _, h := range heads {
		p, err := propose(h)
		freed := freedBytes(p)
		switch {
		case ctx.Err() != nil:
			return x, ctx.Err()
		case err != nil:
			x.failed = append(x.failed, stepOf(h, p, err))
			continue
		case freed <= 0:
			continue
		case len(named) == 0:
			env.NextStore(c)
		}
		env.Printf("%s\n", term.Cut("  "+term.Bold(term.Size(freed))+"  "+show.SessionLine(h), env.Width))
		env.PrintBound(p.Cause.Bound)
		named, x.Bytes, x.Sessions = append(named, h), x.Bytes+freed, append(x.Sessions, cleanedSession{h.ID, h.Title})
	}
	x.n, x.images, x.what = len(named), true, term.Size(x.Bytes)+" of images and other files"
	if x.n > 0 {
		env.Say("%s.", x.what)
	}
	x.steps = func(yield func(frame.Step) bool) {
		for _, h := range named {
			p, err := propose(h)
			if (err != nil || freedBytes(p) > 0) && !yield(stepOf(h, p, err)) {
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
	x.n, x.pages = 1, true
	x.steps = func(yield func(frame.Step) bool) {
		yield(frame.Step{Store: c, Name: term.ShortenHome(c.ID().Root), Apply: func(*frame.Batch) (e change.Entry, err error) {
			x.Before, x.After, err = reclaim(ctx, env, c)
			return e, err
		}})
	}
	return x, nil
}

// runClean removes the requested data from all stores that have any. what names the data in one word.
func runClean(ctx context.Context, env *frame.Env, f frame.WriteFlags, what string, request func(context.Context, *mend.Store) (agent.CleanRequest, error)) error {
	return cleanEach(ctx, env, f, "There is nothing to remove. Nothing was changed.", func(c *mend.Store) (*cleaning, error) {
		r, err := request(ctx, c)
		if err != nil || !r.Events && !r.Snapshots && len(r.Sessions) == 0 {
			return &cleaning{}, err
		}
		r.DryRun = f.DryRun
		return findRemovable(ctx, env, c, what, r)
	})
}

// A cleaning is the removal of data from one store.
type cleaning struct {
	cleanedJSON
	store   *mend.Store
	what    string       // describes the data in a sentence
	failed  []frame.Step // steps without a plan
	partly  bool         // a step failed
	steps   iter.Seq[frame.Step]
	n       int          // number of steps, 0 if there is nothing to remove
	pages   bool         // only free pages are returned
	images  bool         // images and other files move into the journal
	moved   bool         // the data was only moved: "mend forget" frees its space
	discard func() error // nil: nothing to discard
	made    int          // number of entries made
	first   change.Entry // the first of these entries
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
			defer func() { left = env.Both(ctx, left, x.discard()) }()
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
	if j.N += len(j.Failed); j.N == 0 {
		env.SetAnswers(CleanedAnswer{Cleaned: []cleanedJSON{}})
		if left == nil {
			env.Say("%s", none)
		}
		return left
	}
	j.Question, j.Steps = cleanQuestion(all), frame.JoinSteps(steps)
	j.Ended = func(s frame.Step, e change.Entry, err error) {
		x := all[slices.IndexFunc(all, func(x *cleaning) bool { return x.store == s.Store })]
		if err != nil {
			x.partly = true
			return
		}
		if e.ID == "" {
			return
		}
		if x.made++; x.made == 1 {
			x.first = e
		}
	}
	j.Done = func(b *frame.Batch) {
		for _, x := range all {
			x.finish(ctx, env, b.Made)
		}
		if !slices.ContainsFunc(all, func(x *cleaning) bool { return x.made == b.Made }) { // several stores
			env.Say("Undo all of it: %s", term.Command(show.UndoCommand(b.Done[0], b.Made)))
		}
	}
	left = env.Both(ctx, left, env.Run(ctx, f, j))
	done := []cleanedJSON{}
	for _, x := range all {
		done = append(done, x.cleanedJSON)
	}
	env.SetAnswers(CleanedAnswer{Cleaned: done})
	return left
}

// cleanQuestion returns the question about all cleanings.
func cleanQuestion(all []*cleaning) string {
	if len(all) == 0 {
		return ""
	}
	sessions, size := 0, int64(0)
	what, from := all[0].what, term.ShortenHome(all[0].Store)
	for _, x := range all {
		sessions, size = sessions+len(x.Sessions), size+x.Bytes
	}
	if len(all) > 1 {
		from = term.Count(len(all), "store")
	}
	switch {
	case all[0].pages:
		return fmt.Sprintf("Return the free pages of %s to the disk?", from)
	case all[0].images:
		return fmt.Sprintf("Move %s of images and other files of %s into the journal?", term.Size(size), term.Count(sessions, "session"))
	case sessions > 0:
		what = term.Count(sessions, "session")
	}
	return fmt.Sprintf("Remove %s from %s?", what, from)
}

// findRemovable finds the requested data in one store, and shows it.
func findRemovable(ctx context.Context, env *frame.Env, c *mend.Store, what string, r agent.CleanRequest) (x *cleaning, err error) {
	x = cleaningOf(c)
	progress, clear := env.ByteProgress("archiving")
	r.Progress = progress
	found, err := c.ProposeClean(ctx, what, r)
	clear()
	x.discard = found.Discard
	if err != nil || len(found.Rows) == 0 {
		return x, err
	}
	x.Rows, x.Bytes, x.Archive, x.Shared = found.Rows, found.Content, found.Packed, found.Shared
	for _, h := range r.Sessions {
		x.Sessions = append(x.Sessions, cleanedSession{h.ID, h.Title})
	}
	x.what, x.n, x.moved = "the "+what, max(len(found.Plans), 1), r.Snapshots
	if n := len(r.Sessions); n > 0 {
		x.what = term.Count(n, "session")
	}
	if len(found.Plans) == 0 {
		x.n = len(r.Sessions)
	}
	printFound(env, c, what, r, found)
	x.steps = frame.PlannedSteps(c, term.ShortenHome(c.ID().Root), func(each func(change.Plan) error) (err error) {
		if r.Each = each; len(found.Plans) == 0 {
			_, err = c.ProposeClean(ctx, what, r)
		}
		for _, p := range found.Plans {
			err = cmp.Or(err, each(p))
		}
		return err
	})
	return x, nil
}

// finish prints what was removed. It returns the free pages to the file system, or prints why it cannot. For data that
// was only moved, it prints how to free the space. total is the number of entries made in all stores.
func (x *cleaning) finish(ctx context.Context, env *frame.Env, total int) {
	if x.made == 0 {
		return
	}
	what, id := x.what, x.first.ID
	if x.partly && !x.images {
		what = "a part of " + what
	}
	var undo term.Text
	if x.made == 1 || x.made == total { // this undo reverts no other store
		undo = term.Sprintf(" Undo: %s", term.Command(show.UndoCommand(x.first, x.made)))
	}
	env.Say("%s %s (%s).%s", term.Good("Removed"), what, term.Bold(id), undo)
	if x.moved {
		env.SayAt(2, "To return the space to the disk: %s", term.Command("mend forget "+id))
		return
	}
	var err error
	if x.Before, x.After, err = reclaim(ctx, env, x.store); err != nil {
		x.Note = err.Error()
		env.Say("%s the space is not returned to the disk yet; new rows use it first: %s. To return it later: %s", term.Warn("note:"), term.Sentence(err.Error()), term.Command(env.CommandLine("clean", "pages")))
	}
}

// printFound prints the data that would be removed.
func printFound(env *frame.Env, c *mend.Store, what string, r agent.CleanRequest, found agent.Cleaned) {
	env.NextStore(c)
	env.PrintRows(show.SessionRows(env.Terminal, r.Sessions, r.Sessions), "  ")
	archive, where := "", "of "+what
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
