package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mend/change"
	"mend/internal/fail"
	"mend/internal/keep"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/repair"
)

const restoreHelp = `Restore brings a session back:

  archived     it is listed again
  hidden       OpenCode treats its folder as another project: it is moved to that project
  deleted      by you, by the agent or by its clean-up: restored from a copy
  shortened    cut, reverted, emptied or overwritten: the missing part is restored
               from a copy
  not loaded   the agent finds no conversation in it: restored from a copy
  prompts only deleted by Claude Code, no copy: your prompts, without answers
  elsewhere    in a store that OpenCode does not read: the files of OpenCode 1.1, which
               1.18 does not import, or the database of another channel

Without SESSION, restore lists what can be brought back, newest first, and asks.

The copies are those of "mend keep". Before restore replaces a session, it keeps a copy of
its present state. If the agent has continued the session, the missing messages are added
and the new ones stay. If the id now belongs to another conversation, restore replaces that
only with --force.

With --at, restore uses an older state: an age ("2h ago", 3d), a date, a time, or the id of
a repair, for the state before that repair. --from STORE takes the session from another
store of the agent; without SESSION, it brings back all sessions there that this store
lacks. --from DIR, with the folder of "mend keep --to DIR", uses the copies there. --all
brings back every copied session that its agent no longer has, for example after its
database was removed.

With --compaction, restore removes the newest compaction, so that the agent again sends the
messages that a summary had replaced. Broken messages among them are repaired in the same
step. If the next request would be too large for the model, nothing is changed; with --trim,
outputs of tools are trimmed until it fits, as with "mend trim".`

func restoreVerb(env *environment) *cobra.Command {
	var f writeFlags
	var at, from string
	var all, compaction bool
	u := repair.UncompactRequest{Protected: repair.ProtectedTools()}
	cmd := &cobra.Command{
		Use:   "restore [SESSION]",
		Short: "Bring back a session that is hidden, archived, deleted or damaged",
		Long:  restoreHelp,
		Example: `  mend restore                     list what can be brought back, and ask
  mend restore "dark mode"         the session with this in its title
  mend restore 3cffaf78 --at "2h ago"
  mend restore ses_1 --dry-run     show what would be done
  mend restore --all               after a database or a folder was removed
  mend restore --from ~/.local/share/opencode/storage
  mend restore --compaction .      the newest session of this folder, as it was before its compaction`,
		Args: atMostOne("session"),
		RunE: func(cmd *cobra.Command, names []string) error {
			switch {
			case compaction && (at != "" || from != "" || all):
				return usagef("--compaction cannot be combined with --at, --from or --all")
			case compaction:
				u.Force = f.force
				return runUncompact(cmd.Context(), env, names, f, u)
			case u.Trim:
				return usagef("--trim needs --compaction")
			}
			r, err := parseRestore(at, time.Now())
			if err != nil {
				return err
			}
			if env.usesCopies(from) {
				from = ""
			}
			if r.Force = f.force; from != "" {
				if r.From, err = filepath.Abs(from); err != nil || at != "" {
					return cmp.Or(err, usagef("--from and --at cannot be combined"))
				}
				if len(names) == 0 {
					return runRestoreFrom(cmd.Context(), env, f, r)
				}
			}
			if all {
				if len(names) > 0 || at != "" || from != "" {
					return usagef("--all cannot be combined with a session, --at or --from")
				}
				return runRestoreAll(cmd.Context(), env, f, r)
			}
			if len(names) == 0 {
				if at != "" || f.yes {
					return usagef("--at and --yes need a session; mend restore alone lists what can be brought back")
				}
				return runRestorable(cmd.Context(), env, f, r)
			}
			return runRestore(cmd.Context(), env, names[0], f, r)
		},
	}
	f.add(cmd, "restore even if an agent is using the session, or has continued it with another conversation, or not all of it can be read")
	cmd.Flags().StringVar(&at, "at", "", "restore the state at a `TIME`: an age, a date, a time, or the id of a repair (the state before it)")
	cmd.Flags().BoolVar(&all, "all", false, "bring back every copied session that its agent no longer has")
	cmd.Flags().BoolVar(&compaction, "compaction", false, "remove the newest compaction, so that the messages before it are sent again")
	cmd.Flags().BoolVar(&u.Trim, "trim", false, "with --compaction: trim outputs of tools if the next request would be too large")
	cmd.Flags().StringVar(&from, "from", "", "take the session from another `STORE` of the agent, or from a folder with copies of mend keep --to; without SESSION, take all that this store lacks")
	return cmd
}

// usesCopies reports whether a path is a folder with copies of "mend keep --to", or leads to their file. If it is, the
// command reads these copies instead of the local ones.
func (env *environment) usesCopies(path string) bool {
	if path == "" {
		return false
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	if dir := filepath.Dir(path); path == keep.Path(dir) {
		path = dir
	}
	for _, dir := range []string{filepath.Join(path, "mend"), path} {
		if _, err := os.Lstat(keep.Path(dir)); err == nil {
			env.opt.Journal.Copies = dir
			return true
		}
	}
	return false
}

// parseRestore parses --at.
func parseRestore(at string, now time.Time) (r mend.RestoreRequest, err error) {
	text := strings.TrimSpace(at)
	r.At, err = parseWhen("at", text, now)
	if err == nil || change.ValidateID(text) != nil || strings.ContainsAny(text[:1], "0123456789-") {
		return r, err
	}
	r.State = text
	return r, nil
}

// A restorable is a session that can be restored, with its store.
type restorable struct {
	mend.Restorable
	store *mend.Store // nil if the store is missing
}

// storeID returns the id of the store that the session belongs to.
func (x restorable) storeID() change.StoreID {
	if x.store == nil {
		return *x.Gone
	}
	return x.store.ID()
}

// remakeText returns a text that says how a missing store is created again, so that its sessions can be restored.
func (env *environment) remakeText(store change.StoreID, restore string) string {
	if env.opt.Agents.Folders(store) != nil {
		return restore + " makes it again"
	}
	return fmt.Sprintf("start %s once, so that its store exists; then %s", agentOf(store), restore)
}

// noStore returns the error for a session with a missing store.
func (s namedSession) noStore(env *environment) error {
	return fail.New(fail.Problems, env.remakeText(s.storeID, env.cmdline("restore", s.ID)),
		"session %s was kept, but its store is not there now: %s", s.ID, term.ShortenHome(s.storeID.Root))
}

// makeStore makes the folders of a store that is gone, after a question. It reports false in a dry run, and if only the
// agent can make its store.
func makeStore(ctx context.Context, env *environment, f writeFlags, store change.StoreID) (made bool, err error) {
	folders := slices.DeleteFunc(env.opt.Agents.Folders(store), func(folder string) bool {
		_, err := os.Lstat(folder)
		return err == nil
	})
	if f.dryRun || len(folders) == 0 {
		return false, nil
	}
	question := fmt.Sprintf("The folder of %s, %s, is gone. Make it again?", agentOf(store), term.ShortenHome(store.Root))
	if err := confirmChange(ctx, env.Terminal, f, question, nil); err != nil {
		return false, fmt.Errorf("%s is gone; making it again: %w", term.ShortenHome(store.Root), err)
	}
	for _, folder := range folders {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return false, fmt.Errorf("making the folder of %s: %w", agentOf(store), err)
		}
	}
	return true, nil
}

// named returns the session as one that a name can mean.
func (x restorable) named() namedSession { return namedSession{x.Session, x.storeID(), x.store} }

// listUnfound returns the copied sessions of missing stores.
func listUnfound(ctx context.Context, env *environment, clients []*mend.Store, k *keep.Keep) (all []restorable, err error) {
	if k == nil || env.opt.Store != "" {
		return nil, nil
	}
	found, err := env.opt.Agents.Unfound(ctx, k, clients)
	for _, r := range found {
		all = append(all, restorable{Restorable: r})
	}
	return all, err
}

// withKept runs f with the kept copies open for reading; with nil if they cannot be used: then a note is
// printed and env.unkept has the reason.
func withKept(env *environment, f func(*keep.Keep) error) error {
	opened := false
	err := env.opt.Journal.Kept(keep.Options{ReadOnly: true}, func(k *keep.Keep) error {
		opened = true
		return f(k)
	})
	if opened || err == nil {
		return err
	}
	env.unkept = fmt.Errorf("the copies are not checked: %w", err)
	env.noteSkipped(env.unkept)
	if errors.Is(err, keep.ErrDamaged) {
		env.Note("\"mend keep\" brings over what can be read of it to a new file")
	}
	return f(nil)
}

// unkeptError returns an error if copies would have been needed and cannot be used; a note was printed.
func (env *environment) unkeptError(doing string) error {
	code, hint := fail.Of(env.unkept)
	return fail.New(code, hint, "%s, and the copies are not checked", doing)
}

// listRestorable returns the restorable sessions of the stores, newest first, and the worst error of the
// stores that cannot be read.
func listRestorable(ctx context.Context, env *environment, clients []*mend.Store, k *keep.Keep, left error) (all []restorable, _ error) {
	for _, c := range clients {
		found, err := c.Restorables(ctx, k)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			left = env.skipStore(ctx, left, err)
		}
		for _, r := range found {
			all = append(all, restorable{r, c})
		}
	}
	unfound, err := listUnfound(ctx, env, clients, k)
	if err != nil && left == nil { // otherwise it was reported
		left = env.skipStore(ctx, left, err)
	}
	all = append(all, unfound...)
	slices.SortStableFunc(all, func(a, b restorable) int { return b.Time().Compare(a.Time()) })
	return all, left
}

// runRestorable lists the restorable sessions, and lets the user choose.
func runRestorable(ctx context.Context, env *environment, f writeFlags, r mend.RestoreRequest) error {
	clients, left := openAll(ctx, env, false)
	if len(clients) == 0 && (env.opt.Store != "" || !errors.Is(left, mend.ErrNoStore)) {
		return lostStore(env, left)
	}
	var all []restorable
	err := withKept(env, func(k *keep.Keep) (err error) {
		all, err = listRestorable(ctx, env, clients, k, left)
		if k == nil {
			err = fail.Worst(err, env.unkeptError("looking for what is missing: only sessions that are not shown are known"))
		}
		return err
	})
	if env.hasSkipped() && err == nil {
		err = fail.New(fail.Unusable, "", "looking for what is missing: not all sessions are examined")
	}
	if env.JSON {
		list := []restorableJSON{}
		for _, x := range all {
			list = append(list, newRestorableJSON(env, x))
		}
		env.setAnswers(restoreAnswer{Sessions: list})
	}
	if env.JSON || ctx.Err() != nil {
		return err
	}
	if len(all) == 0 && err != nil {
		return lostStore(env, err)
	}
	if len(all) == 0 {
		env.Say("Nothing to bring back: no session is archived or hidden, and none lacks data of its copy. If a folder was renamed or moved: %s", term.Command(env.cmdline("move")))
		return nil
	}
	rows := restorableRows(env.Terminal, all)
	if !env.CanAsk || f.dryRun || err != nil {
		env.PrintRows(rows, "")
		env.Printf("\n")
		if c := all[0].store; c != nil && c.Changeable(ctx) != nil {
			env.Say("To read one: %s. Nothing can be brought back into this database.", term.Command(env.cmdline("scan", all[0].Session.ID, "--text")))
		} else {
			env.Say("To bring one back: %s", term.Command(env.cmdline("restore", all[0].Session.ID)))
		}
		if i := slices.IndexFunc(all, func(x restorable) bool { return x.store == nil }); i >= 0 {
			err := all[i].named().noStore(env)
			_, hint := fail.Of(err)
			env.Note(err.Error() + ": " + hint)
		}
		return err
	}
	i, err := env.Pick(ctx, "Which session do you want back?", rows)
	if err != nil {
		return err
	}
	if all[i].store == nil {
		return runRestore(ctx, env, all[i].Session.ID, f, r)
	}
	return restoreOne(ctx, env, all[i].store, all[i].Session, f, r)
}

// restorableRows returns a row for each session: id, state, messages, age and title.
func restorableRows(t *term.Terminal, all []restorable) [][]string {
	heads := make([]change.Head, len(all))
	for i, x := range all {
		heads[i] = x.Session
	}
	short := shortIDs(t, heads)
	rows := make([][]string, len(all))
	for i, x := range all {
		rows[i] = []string{
			term.Bold(short[x.Session.ID]), term.Faint(t.AgeCell(term.Age(time.Since(x.Time())))), term.Faint(agentOf(x.storeID())),
			term.Warn(x.State), messagesText(x), titleOf(x.Session),
		}
	}
	return rows
}

// messagesText returns the present and the former number of messages of a session, or where it is.
func messagesText(x restorable) string {
	switch {
	case x.Kept > 0 && x.Missing > 0:
		return fmt.Sprintf("%d messages, kept %d, %s missing", x.Now, x.Kept, term.CountWords(x.Missing, "item", "items"))
	case x.Kept > 0:
		return fmt.Sprintf("%d messages, kept %d", x.Now, x.Kept)
	case x.State == mend.PromptsOnly:
		return "typed in " + term.OneLine(term.ShortenHome(x.Session.Directory), 60)
	case x.Other != "":
		return "in " + term.OneLine(term.ShortenHome(x.Other), 60)
	}
	return fmt.Sprintf("%d messages", x.Now)
}

type restorableJSON struct {
	Session   string `json:"session"`
	Agent     string `json:"agent"`
	Title     string `json:"title"`
	Directory string `json:"directory"`
	State     string `json:"state"`
	Messages  struct {
		Now  int `json:"now"`
		Kept int `json:"kept"`
	} `json:"messages"`
	Missing int    `json:"missing,omitempty"` // records of the copy that are missing or empty, if it has at least as many messages now
	Time    string `json:"time"`              // when it was copied, or last used
	Store   string `json:"store,omitempty"`   // the store that has it, if that is another one
	Command string `json:"command"`
}

func newRestorableJSON(env *environment, x restorable) restorableJSON {
	j := restorableJSON{
		Session: x.Session.ID, Agent: x.storeID().Agent, Title: x.Session.Title, Directory: x.Session.Directory, State: x.State,
		Missing: x.Missing, Time: x.Time().UTC().Format(time.RFC3339), Store: x.Other, Command: env.cmdline("restore", x.Session.ID),
	}
	j.Messages.Now, j.Messages.Kept = x.Now, x.Copied
	return j
}

// runRestore restores the session that the user names.
func runRestore(ctx context.Context, env *environment, name string, f writeFlags, r mend.RestoreRequest) error {
	found, unread, err := lookUp(ctx, env, alsoNamed["restore"], []string{name})
	switch {
	case errors.Is(err, mend.ErrNoSession) && unread != nil:
		return lostStore(env, unread) // it may be in that store
	case errors.Is(err, mend.ErrNoSession) && env.unkept == nil:
		err = fail.WithHint(err, "\"mend restore\" lists what can be brought back; nothing was kept of a session that it does not list")
	}
	if err != nil {
		return err
	}
	if found[0].store == nil {
		if made, err := makeStore(ctx, env, f, found[0].storeID); err != nil || made {
			if err == nil {
				err = runRestore(ctx, env, name, f, r)
			}
			return err
		}
	}
	c, left, err := openLost(ctx, env, &found[0], unread, !f.dryRun)
	if err == nil {
		err = restoreOne(ctx, env, c, found[0].Head, f, r)
	}
	return env.both(ctx, left, err)
}

// openLost opens the store of a session that may be missing, as [openFound] does. It reports unread, the error of the
// skipped stores, and returns it as left.
func openLost(ctx context.Context, env *environment, s *namedSession, unread error, write bool) (c *mend.Store, left, err error) {
	switch {
	case errors.Is(unread, mend.ErrNoStore):
		left = &reportedError{unread} // the other error is more specific
	case unread != nil:
		left = env.skipStore(ctx, nil, unread)
	}
	if s.store == nil {
		return nil, left, s.noStore(env)
	}
	all, err := openFound(ctx, env, []namedSession{*s}, write)
	if err == nil {
		s.Head = all[0].named[0]
	}
	return s.store, left, err
}

// lostStore returns the error if there is no store, with the next step if its sessions were copied.
func lostStore(env *environment, left error) error {
	if !errors.Is(left, mend.ErrNoStore) {
		return left
	}
	_ = withKept(env, func(k *keep.Keep) error { // unreadable copies cause a note
		if k == nil {
			return nil
		}
		var store change.StoreID
		err := k.Each(keep.Query{}, func(s *keep.State) { store = s.Store })
		if store.Root != "" {
			hint := fmt.Sprintf("sessions of %s were kept: %s", term.ShortenHome(store.Root), env.remakeText(store, env.cmdline("restore", "--all")))
			if _, said := errors.AsType[*reportedError](left); said {
				env.Note(hint)
			}
			left = fail.WithHint(left, hint)
		}
		return err
	})
	return left
}

// proposeRestore plans to restore a session, if necessary from a copy.
func proposeRestore(ctx context.Context, env *environment, c *mend.Store, head change.Head, r mend.RestoreRequest) (done mend.Restored, err error) {
	err = withKept(env, func(k *keep.Keep) (err error) {
		done, err = c.ProposeRestore(ctx, k, head, r)
		if k == nil && (errors.Is(err, mend.ErrNothingKept) || err == nil && len(done.Plan.Ops) == 0) {
			err = env.unkeptError(fmt.Sprintf("restoring session %s: nothing else of it is found", head.ID))
		}
		return err
	})
	return done, err
}

// restoreOne plans to restore a session, shows the plan, asks, and applies it.
func restoreOne(ctx context.Context, env *environment, c *mend.Store, head change.Head, f writeFlags, r mend.RestoreRequest) error {
	done, err := proposeRestore(ctx, env, c, head, r)
	if err != nil {
		return err
	}
	var below []change.Head
	if done.State == mend.Deleted {
		if below, err = missingSubagents(ctx, env, c, head); err != nil {
			return err
		}
	}
	answer := newRestoreJSON(c, head, done)
	env.setAnswers(restoreAnswer{Restore: &answer})
	printHeader(env.Terminal, head)
	printRestore(env, head, done)
	env.printBound(done.Plan)
	if len(below) > 0 {
		env.SayAt(2, fmt.Sprintf("%s.", term.CountWords(len(below), "session of a subagent comes back with it", "sessions of subagents come back with it")))
	}
	if len(done.Plan.Ops) == 0 {
		env.setAnswer("repairs", []repairJSON{})
		return finishRestore(ctx, env, c, done.Session)
	}
	done.Plan.Cause.Title = cmp.Or(done.Plan.Cause.Title, head.Title)
	r.Gone = r.From == "" // else the subagents may be from another store
	restored, failed := false, false
	err = env.run(ctx, f, job{
		question: fmt.Sprintf("Restore %s?", quotedTitle(head.Title, head.ID)), n: 1 + len(below),
		steps: func(yield func(step) bool) {
			more := yield(restoreStep(c, head, done, nil))
			for _, h := range below {
				if !more || failed {
					return
				}
				p, err := proposeRestore(ctx, env, c, h, r)
				more = err == nil && len(p.Plan.Ops) == 0 || yield(restoreStep(c, h, p, err))
			}
		},
		ended: func(_ step, _ change.Entry, err error) { failed = err != nil && !restored },
		done: func(b *batch) {
			restored = true
			e := b.done[0]
			if len(b.done) > 1 {
				e.ID = mend.OperationOf(e)
			}
			printCommitted(env.Terminal, e, head.Title, "")
		},
	})
	switch {
	case f.dryRun && err == nil && done.Unread != "":
		return errProblems
	case !restored:
		return err
	}
	if done.IsAside() {
		env.Say("It is large, and was not examined. To examine it: %s", term.Command(env.cmdline("scan", head.ID)))
		env.printContinueCommand(c.ID().Agent, done.Session, "it")
		return err
	}
	if next := finishRestore(ctx, env, c, done.Session); !errors.Is(next, errProblems) { // it prints the next step
		return fail.Worst(next, err)
	}
	return err
}

// restoreStep restores a session after copying its present state.
func restoreStep(c *mend.Store, h change.Head, done mend.Restored, err error) step {
	return step{store: c, plan: done.Plan, name: quotedTitle(h.Title, h.ID), err: err, apply: func(b *batch) (e change.Entry, err error) {
		n := len(b.done)
		if err = applyRestore(b, c, done); len(b.done) > n {
			e = b.done[n]
		}
		if err == nil && done.Unread != "" {
			b.noteSkipped(fail.New(fail.Problems, "", "%s is back without what could not be read: %s", quotedTitle(h.Title, h.ID), done.Unread))
			b.err = fail.Worst(b.err, errProblems)
		}
		return e, err
	}}
}

// missingSubagents returns the missing sessions that have a copy and are subagents of a session, at any depth.
func missingSubagents(ctx context.Context, env *environment, c *mend.Store, head change.Head) (below []change.Head, err error) {
	err = withKept(env, func(k *keep.Keep) error {
		gone, _, err := c.Gone(ctx, k) // [namedSessions] has reported other stores that cannot be read
		by := map[string][]change.Head{}
		for _, h := range gone {
			by[h.Parent] = append(by[h.Parent], h)
		}
		delete(by, "")
		below = []change.Head{head}
		for i := 0; i < len(below); i++ {
			id := below[i].ID
			below = append(below, by[id]...)
			delete(by, id)
		}
		below = below[1:]
		return err
	})
	return below, err
}

// applyRestore restores a session after copying its present state.
func applyRestore(b *batch, c *mend.Store, done mend.Restored) error {
	if done.From != nil && done.State != mend.Deleted {
		if err := b.opt.Journal.Kept(keep.Options{Notice: b.Note}, func(k *keep.Keep) error { return c.KeepBefore(b.ctx, k, done.Plan) }); err != nil {
			b.Note("what the session has now is in the journal only: " + err.Error()) // the plan has everything that it replaces
		}
	}
	if done.IsAside() {
		return applyAside(b, c, done)
	}
	for range 2 { // the copy may be of an archived session, or name a project that was replaced since
		if _, err := b.apply(c, done.Plan); err != nil {
			return err
		}
		if done.From == nil && done.Other == "" {
			break
		}
		rows, err := c.ProposeRepair(b.ctx, done.Session, repair.Request{Restore: true, Force: true})
		if err != nil || len(rows.Plan.Ops) == 0 {
			break
		}
		done.Plan, done.From, done.Other = rows.Plan, nil, ""
	}
	return nil
}

// applyAside restores a session with a transcript too large for memory.
func applyAside(b *batch, c *mend.Store, done mend.Restored) error {
	if len(done.Files.Ops) > 0 {
		if _, err := b.apply(c, done.Files); err != nil {
			return err
		}
		done.Plan.Seen = nil
	}
	var discard func() error
	err := b.opt.Journal.Kept(keep.Options{ReadOnly: true, Context: b.ctx}, func(k *keep.Keep) (err error) {
		discard, err = c.BuildAside(b.ctx, k, done)
		return err
	})
	if err != nil {
		return err
	}
	_, err = b.apply(c, done.Plan)
	return errors.Join(err, discard())
}

// stateTexts describe the states of restorable sessions.
var stateTexts = map[string]string{
	string(repair.Archived):  "It is archived.",
	string(repair.Hidden):    "It is not listed: its folder is of another project now.",
	string(repair.NotLoaded): "Its agent finds no conversation in it.",
	mend.Deleted:             "The agent has nothing of it any more.",
	mend.Shortened:           "It lacks messages, parts, files or texts that were kept.",
	mend.Replaced:            "It has other messages than were kept.",
	mend.Elsewhere:           "Its agent does not read the store that has it.",
	mend.PromptsOnly:         "The agent deleted it. What you typed is left; the answers are lost.",
}

// printRestore describes a restore.
func printRestore(env *environment, head change.Head, done mend.Restored) {
	if text := stateTexts[done.State]; text != "" && len(done.Fixed) == 0 {
		env.SayAt(2, text)
	}
	switch from := done.From; {
	case len(done.Plan.Ops) == 0 && done.State != "":
		env.SayAt(2, "It is as it was then.")
	case len(done.Plan.Ops) == 0:
		env.SayAt(2, "Nothing of its conversation is missing. Files of the project that are gone, as after git clean, are no part of it: mend does not bring those back.")
	case done.State == mend.PromptsOnly:
		env.SayAt(2, fmt.Sprintf("%s, after a note that tells the model what is missing. %s stays as it is.", term.CountWords(done.Messages-1, "prompt comes back", "prompts come back"), term.Escape(term.ShortenHome(done.Other))))
	case done.Other != "":
		env.SayAt(2, fmt.Sprintf("It is in %s with %s, and comes into this store. That one stays as it is.", term.Escape(term.ShortenHome(done.Other)), term.Count(done.Messages, "message")))
	case from == nil && strings.HasPrefix(done.State, "before"):
		env.SayAt(2, fmt.Sprintf("It becomes as it was %s: %s from the journal.", done.State, term.Count(len(done.Plan.Ops), "change")))
	case from == nil:
		for _, d := range done.Fixed {
			env.SayAt(2, term.OneLine(d.Why, 400))
			env.SayAt(2, "After the restore: "+term.OneLine(strings.ToLower(d.Fix[:1])+d.Fix[1:], 400))
		}
	default:
		env.SayAt(2, fmt.Sprintf("It was kept on %s, %s, with %s; it has %d now.", from.Time.Local().Format(time.DateTime), term.Age(time.Since(from.Time)), term.Count(from.Messages, "message"), done.Now))
		if other := done.Beside; other != nil {
			when := "later"
			if other.Time.Before(from.Time) {
				when = "earlier"
			}
			env.SayAt(2, fmt.Sprintf("It was also kept %s, on %s, with %s: for that, %s.", when, other.Time.Local().Format(time.DateTime), term.Count(other.Messages, "message"), term.Command(env.cmdline("restore", head.ID, "--at", other.ID))))
		}
		if done.Joined {
			env.SayAt(2, fmt.Sprintf("What it has now stays, and what is missing is added: %s then.", term.Count(done.Messages, "message")))
		}
	}
	if done.Unread != "" {
		env.SayAt(2, fmt.Sprintf("%s it is not complete. Not read: %s.", term.Warn("note:"), term.OneLine(done.Unread, 300)))
	}
}

// finishRestore prints whether a session can be continued, and how.
func finishRestore(ctx context.Context, env *environment, c *mend.Store, session change.Head) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	head, err := c.Session(ctx, session.ID)
	if err != nil {
		return err
	}
	f, err := c.ScanOne(ctx, head)
	if err != nil {
		return err
	}
	return printContinue(env, c, f)
}

// printContinue prints the command that continues a session, and what must be done before it can be continued
// or is listed. Then the error is errProblems.
func printContinue(env *environment, c *mend.Store, f mend.Finding) error {
	command, why := firstCommand(env, f)
	switch {
	case command != "":
		env.setAnswer("next", command)
		env.Say("%s: %s", why, term.Command(command))
	case why != "":
		env.Say("%s.", why)
	}
	if f.Severity() != repair.Broken {
		env.printContinueCommand(c.ID().Agent, f.Session, "it")
	}
	if why != "" {
		return errProblems
	}
	return nil
}

// isKept reports whether a session has a copy.
func (env *environment) isKept(session string) bool {
	if env.kept == nil {
		env.kept = map[string]bool{}
		_ = withKept(env, func(k *keep.Keep) error { // unreadable copies cause a note
			if k == nil {
				return nil
			}
			return k.Each(keep.Query{}, func(s *keep.State) { env.kept[s.Session] = true })
		})
	}
	return env.kept[session]
}

// firstCommand returns the command that is needed before a session can be continued, or is listed, and the
// reason; "" for both if nothing is wrong with it. The command may be "".
func firstCommand(env *environment, f mend.Finding) (command, why string) {
	h := f.Session
	switch f.Shown() {
	case repair.NotLoaded:
		why := "The agent finds no conversation in it"
		if !env.isKept(h.ID) {
			return "", why + ", and no copy of it was kept"
		}
		return env.cmdline("restore", h.ID), why
	case repair.NoFolder:
		return env.cmdline("move"), "Its folder is gone"
	case repair.Hidden:
		return env.cmdline("restore", h.ID), "It is not listed"
	case repair.Archived:
		return env.cmdline("restore", h.ID), "It is archived"
	case repair.TakenOver, repair.Listed:
	}
	if f.Severity() == repair.Broken {
		return env.cmdline("fix", h.ID), "It is broken"
	}
	if f.Severity() == repair.Latent && slices.ContainsFunc(f.Diagnoses, func(d repair.Diagnosis) bool { return d.Fix != "" }) {
		return env.cmdline("fix", h.ID, "--at-risk"), "It is " + atRisk
	}
	return "", ""
}

type restoreAnswer struct {
	Sessions  []restorableJSON `json:"sessions,omitempty"` // restorable sessions
	Restore   *restoreJSON     `json:"restore,omitempty"`
	Repairs   []repairJSON     `json:"repairs,omitempty"`
	Next      string           `json:"next,omitempty"` // the command that is needed before the session can be continued
	Uncompact *uncompactJSON   `json:"uncompact,omitempty"`
	Text      string           `json:"text,omitempty"` // with --text: the conversation as Markdown
	continueAnswer
}

// A restoreJSON describes a restore.
type restoreJSON struct {
	Session  string    `json:"session"`
	Agent    string    `json:"agent"`
	Title    string    `json:"title"`
	State    string    `json:"state"`            // before the restore
	Restored string    `json:"restored"`         // the restored session; another one if both stay
	Joined   bool      `json:"joined"`           // the present content stays, and the missing content is added
	From     *fromJSON `json:"from"`             // null if its own records are enough
	Store    string    `json:"store,omitempty"`  // the store that has it, if that is another one
	Unread   string    `json:"unread,omitempty"` // content that is not restored
	Messages struct {
		Now  int `json:"now"`
		Then int `json:"then"`
	} `json:"messages"`
}

// A fromJSON is a copy of a session.
type fromJSON struct {
	State    string    `json:"state"`
	Time     time.Time `json:"time"`
	Messages int       `json:"messages"`
}

// newRestoreJSON converts the plan of a restore.
func newRestoreJSON(c *mend.Store, head change.Head, done mend.Restored) restoreJSON {
	j := restoreJSON{Session: head.ID, Agent: c.ID().Agent, Title: head.Title, State: done.State, Restored: done.Session.ID, Joined: done.Joined}
	j.Store, j.Unread, j.Messages.Now, j.Messages.Then = done.Other, done.Unread, done.Now, done.Messages
	if done.From != nil {
		j.From = &fromJSON{done.From.ID, done.From.Time, done.From.Messages}
	}
	return j
}
