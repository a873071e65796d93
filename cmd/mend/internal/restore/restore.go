// Package restore has the verbs that bring sessions back: restore, move and salvage.
//
// It may import agent, change, cmd/mend/internal/agents, cmd/mend/internal/frame, cmd/mend/internal/show,
// internal/fail, internal/keep, internal/mend, internal/term and repair. Read [One] and [RunSalvage] first.
package restore

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
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/fail"
	"mend/internal/keep"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/repair"
)

const restoreHelp = `Restore brings a session back:

  archived     it is listed again
  hidden       OpenCode treats its folder as another project, or its main session is gone:
               it is listed again
  deleted      by you, by the agent or by its clean-up: restored from a copy
  shortened    cut, emptied or overwritten: the missing part is restored from a copy;
               what you reverted with /undo only if you name the session
  not loaded   the agent finds no conversation in it: restored from a copy
  prompts      Claude Code deleted it, and there is no copy: its prompts are restored,
               without the answers
  elsewhere    in a store that OpenCode does not read: the files of OpenCode 1.1, which
               1.18 does not import, or the database of another channel

Without SESSION, restore lists what can be brought back, newest first, and asks.

The copies are those of "mend keep". If the agent has continued the session, the missing
messages are added and the new ones stay. If the id now belongs to another conversation,
restore replaces that only with --force.

With --from STORE but without SESSION, restore brings back all sessions there that this store
lacks. DIR of "mend keep --to DIR" is a STORE, too.

With --compaction, the agent again sends the messages that a summary had replaced. Broken ones
among them are repaired in the same step. If the next request would be too large for the
model, nothing is changed, or with --trim, outputs of tools are trimmed until it fits.`

// Restore returns the verb restore.
func Restore(env *frame.Env) *cobra.Command {
	var f frame.WriteFlags
	var at, from string
	var all, compaction bool
	u := repair.UncompactRequest{Protected: repair.ProtectedTools()}
	cmd := &cobra.Command{
		Use:     "restore [SESSION]",
		Aliases: []string{"uncompact"}, // the former name of restore --compaction
		Short:   "Bring back a session that is hidden, archived, deleted or incomplete",
		Long:    restoreHelp,
		Example: `  mend restore                     list what can be brought back, and ask
  mend restore "dark mode"         the session with this in its title
  mend restore 3cffaf78 --at "2h ago"
  mend restore ses_1 --dry-run     show what would be done
  mend restore --all               after a database or a folder was removed
  mend restore --from ~/.local/share/opencode/storage
  mend restore --compaction .      the newest session of this folder, as it was before its compaction`,
		Args: frame.AtMostOne("session"),
		RunE: func(cmd *cobra.Command, names []string) error {
			ctx := cmd.Context()
			compaction = compaction || cmd.CalledAs() == "uncompact"
			r, err := parseRestore(at, time.Now())
			switch {
			case err != nil:
				return err
			case compaction && (at != "" || from != "" || all):
				return frame.Usagef("--compaction cannot be combined with --at, --from or --all")
			case u.Trim && !compaction:
				return frame.Usagef("--trim needs --compaction")
			case all && (len(names) > 0 || at != "" || from != "" && !env.UsesCopies(from)):
				return frame.Usagef("--all cannot be combined with a session, --at or --from STORE")
			}
			u.Force, r.Force = f.Force, f.Force
			if from != "" && !env.UsesCopies(from) {
				if r.From, err = filepath.Abs(from); err != nil || at != "" {
					return cmp.Or(err, frame.Usagef("--from STORE cannot be combined with --at"))
				}
			}
			switch {
			case compaction:
				return runUncompact(ctx, env, names, f, u)
			case all:
				return runRestoreAll(ctx, env, f, r)
			case r.From != "":
				return runRestoreFrom(ctx, env, names, f, r)
			case len(names) > 0:
				return runRestore(ctx, env, names[0], f, r)
			case at != "" || f.Yes:
				return frame.Usagef("--at and --yes need a session; mend restore alone lists what can be brought back")
			}
			_, err = List(ctx, env, f, r)
			return err
		},
	}
	f.Add(cmd, "restore even if an agent is using the session, or has continued it with another conversation, or not all of it can be read")
	cmd.Flags().StringVar(&at, "at", "", "restore the state at a `TIME`: an age, a date, a time, or the id of a repair (the state before it)")
	cmd.Flags().BoolVar(&all, "all", false, "bring back every copied session that its agent no longer has")
	cmd.Flags().BoolVar(&compaction, "compaction", false, "remove the newest compaction, so that the messages before it are sent again")
	cmd.Flags().BoolVar(&u.Trim, "trim", false, "with --compaction: trim outputs of tools if the next request would be too large")
	cmd.Flags().StringVar(&from, "from", "", "take the session from another `STORE` of the agent, or from a folder with copies of mend keep --to; without SESSION, take all that this store lacks")
	return cmd
}

// parseRestore parses --at.
func parseRestore(at string, now time.Time) (r mend.RestoreRequest, err error) {
	text := strings.TrimSpace(at)
	r.At, err = frame.ParseWhen("at", text, now)
	if err == nil || change.ValidateID(text) != nil || strings.ContainsAny(text[:1], "0123456789-") {
		return r, err
	}
	r.State = text
	return r, nil
}

// makeStore creates the folders of a missing store, after a question. It returns false in a dry run, and if only the
// agent can create the store.
func makeStore(ctx context.Context, env *frame.Env, f frame.WriteFlags, store change.StoreID) (made bool, err error) {
	folders := slices.DeleteFunc(env.Opt.Agents.Folders(store), func(folder string) bool {
		_, err := os.Lstat(folder)
		return err == nil
	})
	if f.DryRun || len(folders) == 0 {
		return false, nil
	}
	question := fmt.Sprintf("The folder of %s, %s, is gone. Create it again?", agents.Title(store), term.ShortenHome(store.Root))
	if err := frame.ConfirmChange(ctx, env.Terminal, f, question, nil); err != nil {
		return false, fmt.Errorf("%s is gone; creating it again: %w", term.ShortenHome(store.Root), err)
	}
	for _, folder := range folders {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return false, fmt.Errorf("creating the folder of %s: %w", agents.Title(store), err)
		}
	}
	return true, nil
}

// listRestorable returns the restorable sessions of all agents. left is the worst error: also of the copies, if they
// cannot be read while doing something.
func listRestorable(ctx context.Context, env *frame.Env, write bool, doing string) (all []frame.Restorable, left error) {
	clients, left := frame.OpenAll(ctx, env, write)
	if len(clients) == 0 && (env.Opt.Store != "" || !errors.Is(left, mend.ErrNoStore)) {
		return nil, left
	}
	err := frame.WithKept(env, func(k *keep.Keep) error {
		if all, left = frame.ListRestorable(ctx, env, clients, k, left); k == nil {
			left = fail.Worst(left, env.UnkeptError(doing))
		}
		return nil
	})
	return all, fail.Worst(left, err)
}

// List lists the restorable sessions, and restores the one that the user picks.
func List(ctx context.Context, env *frame.Env, f frame.WriteFlags, r mend.RestoreRequest) (restored bool, err error) {
	all, err := listRestorable(ctx, env, false, "looking for missing sessions: only hidden ones were found")
	if env.HasSkipped() && err == nil {
		err = fail.New(fail.Unusable, "", "looking for missing sessions: not all sessions were examined")
	}
	if len(all) == 0 && err != nil && ctx.Err() == nil {
		err = lostStore(env, err)
	}
	if env.JSON {
		env.SetAnswers(Answer{Sessions: restorablesJSON(env, all)})
	}
	if env.JSON || ctx.Err() != nil || len(all) == 0 && err != nil {
		return false, err
	}
	if len(all) == 0 {
		env.Say("Nothing to bring back: no session is archived or hidden, and none lacks data that its copy has. If a folder was renamed or moved: %s", term.Command(env.CommandLine("move")))
		if hint := env.CleanedHint(""); hint != "" {
			env.Note("for a session that is gone: " + hint)
		}
		return false, nil
	}
	rows := restorableRows(env.Terminal, all)
	if !env.CanAsk || f.DryRun || err != nil {
		env.PrintRows(rows, "")
		env.Printf("\n")
		if c := all[0].Store; c != nil && c.Changeable(ctx) != nil {
			env.Say("To read one: %s. Nothing can be brought back into this database.", term.Command(env.CommandLine("scan", all[0].Session.ID, "--text")))
		} else {
			env.Say("To bring one back: %s", term.Command(env.CommandLine("restore", all[0].Session.ID)))
		}
		if i := slices.IndexFunc(all, func(x frame.Restorable) bool { return x.Store == nil }); i >= 0 {
			err := all[i].NamedSession().NoStore(env)
			_, hint := fail.Classify(err)
			env.Note(err.Error() + ": " + hint)
		}
		return false, err
	}
	i, err := env.Pick(ctx, "Which session do you want back?", rows)
	if err != nil {
		return false, err
	}
	if all[i].Store == nil {
		err = runRestore(ctx, env, all[i].Session.ID, f, r)
	} else {
		err = One(ctx, env, all[i].Store, all[i].Session, f, r)
	}
	return err == nil, err
}

// restorableRows returns a row for each session: id, age, agent, state, messages and title.
func restorableRows(t *term.Terminal, all []frame.Restorable) [][]any {
	heads := make([]change.Head, len(all))
	for i, x := range all {
		heads[i] = x.Session
	}
	short := show.ShortIDs(t, heads)
	rows := make([][]any, len(all))
	for i, x := range all {
		rows[i] = []any{
			term.Bold(short[x.Session.ID]), term.Faint(t.AgeCell(time.Since(x.Time()))), term.Faint(agents.Title(x.StoreID())),
			term.Warn(x.State), frame.MessagesText(x), show.SessionTitle(x.Session),
		}
	}
	return rows
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
	Missing int    `json:"missing,omitempty"` // number of records of the copy that are missing or empty, unless it has fewer messages now
	Time    string `json:"time"`              // when it was copied, or last used
	Store   string `json:"store,omitempty"`   // the store that has it, if that is another one
	Command string `json:"command"`
}

func restorablesJSON(env *frame.Env, all []frame.Restorable) []restorableJSON {
	list := make([]restorableJSON, len(all))
	for i, x := range all {
		list[i] = restorableJSON{
			Session: x.Session.ID, Agent: x.StoreID().Agent, Title: x.Session.Title, Directory: x.Session.Directory, State: x.State,
			Missing: x.Missing, Time: x.Time().UTC().Format(time.RFC3339), Store: x.Other, Command: env.CommandLine("restore", x.Session.ID),
		}
		list[i].Messages.Now, list[i].Messages.Kept = x.Now, x.Copied
	}
	return list
}

// runRestore restores the session that the user names.
func runRestore(ctx context.Context, env *frame.Env, name string, f frame.WriteFlags, r mend.RestoreRequest) error {
	found, unread, err := frame.LookUp(ctx, env, frame.Sources{Gone: true}, []string{name})
	switch {
	case errors.Is(err, mend.ErrNoSession) && unread != nil:
		return lostStore(env, unread) // an unreadable store may have the session
	case errors.Is(err, mend.ErrNoSession) && env.Unkept == nil:
		err = fail.WithHint(err, cmp.Or(env.CleanedHint(name), "\"mend restore\" lists what can be brought back; of any other session there is no copy"))
	}
	if err != nil {
		return err
	}
	if found[0].Store == nil {
		if made, err := makeStore(ctx, env, f, found[0].StoreID); err != nil || made {
			if err == nil {
				err = runRestore(ctx, env, name, f, r)
			}
			return err
		}
	}
	c, left, err := frame.OpenLost(ctx, env, &found[0], unread, !f.DryRun)
	if err == nil {
		err = One(ctx, env, c, found[0].Head, f, r)
	}
	return env.Both(ctx, left, err)
}

// lostStore adds a hint to the error that there is no store: how to create it again if sessions of it were copied.
func lostStore(env *frame.Env, left error) error {
	if !errors.Is(left, mend.ErrNoStore) {
		return left
	}
	_ = frame.WithKept(env, func(k *keep.Keep) error { // unreadable copies cause a note
		if k == nil {
			return nil
		}
		var store change.StoreID
		err := k.Each(keep.Query{}, func(s *keep.State) { store = s.Store })
		if store.Root != "" {
			hint := fmt.Sprintf("sessions of %s were kept: %s", term.ShortenHome(store.Root), env.RemakeText(store, env.CommandLine("restore", "--all")))
			if _, reported := errors.AsType[*frame.ReportedError](left); reported {
				env.Note(hint)
			}
			left = fail.WithHint(left, hint)
		}
		return err
	})
	return left
}

// One plans to restore a session, shows the plan, asks, and applies it.
func One(ctx context.Context, env *frame.Env, c *mend.Store, head change.Head, f frame.WriteFlags, r mend.RestoreRequest) error {
	done, err := frame.ProposeRestore(ctx, env, c, head, r)
	if err != nil {
		return err
	}
	var below []change.Head
	if done.State == mend.Deleted {
		if below, err = missingSubagents(ctx, env, c, head); err != nil {
			return err
		}
	}
	answer := show.NewRestoreJSON(c, head, done)
	env.SetAnswers(Answer{Restore: &answer})
	show.Header(env.Terminal, head)
	frame.PrintRestore(env, head, done)
	env.PrintBound(done.Plan.Cause.Bound)
	if len(below) > 0 {
		env.SayAt(2, "%s.", term.CountWords(len(below), "session of a subagent comes back with it", "sessions of subagents come back with it"))
	}
	if len(done.Plan.Ops) == 0 {
		env.SetAnswer("repairs", []show.RepairJSON{})
		return finishRestore(ctx, env, c, done.Session)
	}
	done.Plan.Cause.Title = cmp.Or(done.Plan.Cause.Title, head.Title)
	r.Gone = r.From == "" // with From, the subagents may be from another store
	restored, failed, aside := false, false, done.IsAside()
	err = env.Run(ctx, f, frame.Job{
		Question: fmt.Sprintf("Restore %s?", show.QuotedTitle(head.Title, head.ID)), N: 1 + len(below),
		Steps: func(yield func(frame.Step) bool) {
			more := yield(restoreStep(c, head, &done, nil))
			for _, h := range below {
				if !more || failed {
					return
				}
				p, err := frame.ProposeRestore(ctx, env, c, h, r)
				more = err == nil && len(p.Plan.Ops) == 0 || yield(restoreStep(c, h, &p, err))
			}
		},
		Ended: func(_ frame.Step, _ change.Entry, err error) { failed = err != nil && !restored },
		Done: func(b *frame.Batch) {
			restored = true
			e := b.Done[0]
			e.ID = show.UndoID(e, b.Made)
			show.PrintCommitted(env.Terminal, e, head.Title, "")
		},
	})
	switch {
	case f.DryRun && err == nil && done.Unread != "":
		return frame.ErrProblems
	case !restored:
		return err
	}
	if aside {
		env.Say("It is large, and was not examined. To examine it: %s", term.Command(env.CommandLine("scan", head.ID)))
		env.PrintContinueCommand(ctx, c, done.Session, "it")
		return err
	}
	if next := finishRestore(ctx, env, c, done.Session); !errors.Is(next, frame.ErrProblems) { // that is printed, and no failure of restore
		return fail.Worst(next, err)
	}
	return err
}

// restoreStep returns the step that restores a session; err is why there is no plan.
func restoreStep(c *mend.Store, h change.Head, done *mend.Restored, err error) frame.Step {
	return frame.Step{Store: c, Plan: done.Plan, Name: show.QuotedTitle(h.Title, h.ID), Err: err, Apply: func(b *frame.Batch) (change.Entry, error) {
		err := frame.ApplyRestore(b, c, done)
		if err == nil && done.Unread != "" {
			b.NoteSkipped(fail.New(fail.Problems, "", "%s is back without what could not be read: %s", show.QuotedTitle(h.Title, h.ID), done.Unread))
			b.Worst = fail.Worst(b.Worst, frame.ErrProblems)
		}
		return change.Entry{}, err // the batch has the entries
	}}
}

// missingSubagents returns the missing sessions that have a copy and are subagents of a session, at any depth.
func missingSubagents(ctx context.Context, env *frame.Env, c *mend.Store, head change.Head) (below []change.Head, err error) {
	err = frame.WithKept(env, func(k *keep.Keep) error {
		gone, _, err := c.Gone(ctx, k) // [frame.NamedSessions] has reported other stores that cannot be read
		below = subagents(gone, head.ID)
		return err
	})
	return below, err
}

// finishRestore prints how a session can be continued, or what must come first.
func finishRestore(ctx context.Context, env *frame.Env, c *mend.Store, session change.Head) error {
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
	return frame.PrintContinue(ctx, env, c, f)
}

// An Answer is the answer of restore.
type Answer struct {
	Sessions  []restorableJSON  `json:"sessions,omitempty"` // restorable sessions
	Restore   *show.RestoreJSON `json:"restore,omitempty"`
	Repairs   []show.RepairJSON `json:"repairs,omitempty"`
	Next      string            `json:"next,omitempty"` // the command to run before the session is continued
	Uncompact *uncompactJSON    `json:"uncompact,omitempty"`
	frame.ContinueAnswer
}

// openSameAgent opens the store of the agent whose other store is at the path.
func openSameAgent(ctx context.Context, env *frame.Env, path string, write bool) (*mend.Store, error) {
	var first error
	options, _ := frame.AgentOptions(env) // a note has the error
	for _, o := range options {
		c, err := mend.Open(o)
		if err == nil {
			err = c.CheckOther(path)
		}
		if err == nil {
			return frame.OpenWith(ctx, env, o, write)
		}
		if first == nil || errors.Is(first, mend.ErrNoStore) && !errors.Is(err, mend.ErrNoStore) {
			first = err
		}
	}
	if errors.Is(first, mend.ErrNoStore) {
		first = fail.WithHint(first, "--from needs the folder or the database of an agent that has sessions here, too, or a folder with copies of mend keep --to")
	}
	return nil, first
}

// runRestoreFrom restores sessions that another store of the agent has and this one lacks: all, or the one that the
// user names, with its subagents.
func runRestoreFrom(ctx context.Context, env *frame.Env, names []string, f frame.WriteFlags, r mend.RestoreRequest) error {
	c, err := openSameAgent(ctx, env, r.From, !f.DryRun)
	if err != nil {
		return err
	}
	heads, unread, err := c.ListMissing(ctx, r.From)
	if err != nil {
		return err
	}
	if unread != nil {
		unread = env.SkipStore(ctx, nil, unread)
	}
	slices.SortStableFunc(heads, func(a, b change.Head) int { return cmp.Compare(b.Updated, a.Updated) })
	if len(names) > 0 {
		if heads, err = withSubagents(heads, names[0], r.From); err != nil {
			return env.Both(ctx, unread, err)
		}
		if len(heads) == 1 {
			return env.Both(ctx, unread, One(ctx, env, c, heads[0], f, r))
		}
	}
	env.NextStore(c)
	var rows []frame.Restorable
	for _, h := range heads {
		rows = append(rows, frame.Restorable{Restorable: mend.Restorable{Session: h, State: mend.Elsewhere, Other: r.From}, Store: c})
	}
	return env.Both(ctx, unread, restoreSeveral(ctx, env, f, r, rows, "Nothing to bring back: this store has each session that is found in "+term.ShortenHome(r.From)+"."))
}

// withSubagents returns the session among heads that the user names, and its subagents, at any depth.
func withSubagents(heads []change.Head, name, from string) ([]change.Head, error) {
	i, err := mend.FindSession(heads, name, show.WorkingFolder())
	if errors.Is(err, mend.ErrNoSession) {
		return nil, fail.New(fail.Usage, "\"mend restore --from\" without a session shows all of them", "%s has no session %q that this store lacks", term.ShortenHome(from), name)
	}
	if err != nil {
		return nil, fail.WithHint(err, "use the whole id")
	}
	return append([]change.Head{heads[i]}, subagents(heads, heads[i].ID)...), nil
}

// subagents returns the sessions among heads that are subagents of a session, at any depth.
func subagents(heads []change.Head, id string) (below []change.Head) {
	by := map[string][]change.Head{}
	for _, h := range heads {
		if h.ID != id {
			by[h.Parent] = append(by[h.Parent], h)
		}
	}
	below = by[id]
	for i := 0; i < len(below); i++ {
		delete(by, id)
		id = below[i].ID
		below = append(below, by[id]...)
	}
	return below
}

// runRestoreAll restores all sessions with a copy that their agents no longer have.
func runRestoreAll(ctx context.Context, env *frame.Env, f frame.WriteFlags, r mend.RestoreRequest) error {
	all, left := listRestorable(ctx, env, !f.DryRun, "restoring all deleted sessions: none was found")
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var gone []frame.Restorable
	lost := map[string]frame.Restorable{} // by the root of their store
	for _, x := range all {
		switch {
		case x.State != mend.Deleted:
		case x.Store == nil:
			lost[x.StoreID().Root] = x
		default:
			gone = append(gone, x)
		}
	}
	made := false
	for _, x := range lost {
		ok, err := makeStore(ctx, env, f, x.StoreID())
		if made = made || ok; err == nil && !ok {
			err = x.NamedSession().NoStore(env)
		}
		if !ok {
			left = fail.Worst(left, err)
		}
	}
	switch {
	case made:
		return runRestoreAll(ctx, env, f, r)
	case len(gone) == 0 && errors.Is(left, mend.ErrNoStore):
		return lostStore(env, left)
	}
	none := "Nothing to bring back: no copied session is gone."
	if left != nil {
		none = "" // one may be in that store
	}
	return env.Both(ctx, left, restoreSeveral(ctx, env, f, r, gone, none))
}

// restoreSeveral restores sessions that their stores lack, after a question and as one operation. If there are none, it
// prints the text none.
func restoreSeveral(ctx context.Context, env *frame.Env, f frame.WriteFlags, r mend.RestoreRequest, rows []frame.Restorable, none string) error {
	if env.JSON {
		env.SetAnswers(Answer{Sessions: restorablesJSON(env, rows), Repairs: []show.RepairJSON{}})
	}
	if len(rows) == 0 {
		if none != "" {
			env.Say("%s", none)
		}
		return nil
	}
	env.PrintRows(restorableRows(env.Terminal, rows), "")
	env.Printf("\n")
	r.Gone = true
	brought := false
	err := env.Run(ctx, f, frame.Job{
		Question: fmt.Sprintf("Bring back %s?", term.Count(len(rows), "session")), NoDiff: true, N: len(rows),
		Steps: func(yield func(frame.Step) bool) {
			for _, x := range rows {
				p, err := frame.ProposeRestore(ctx, env, x.Store, x.Session, r)
				if err == nil && len(p.Plan.Ops) == 0 { // another mend has restored it
					continue
				}
				if !yield(restoreStep(x.Store, x.Session, &p, err)) {
					return
				}
			}
		},
		Done: func(b *frame.Batch) {
			brought = true
			env.Say("%s %s. Undo: %s", term.Good("Brought back"), term.Count(b.Made, "session"), term.Command("mend undo "+mend.OperationOf(b.Done[0])))
		},
	})
	if !brought && err == nil && !f.DryRun && none != "" {
		env.Say("%s", none)
	}
	return err
}

// runUncompact removes the newest compaction of a session.
func runUncompact(ctx context.Context, env *frame.Env, names []string, f frame.WriteFlags, r repair.UncompactRequest) error {
	c, head, err := frame.OpenSession(ctx, env, names, env.Command, !f.DryRun)
	if err != nil {
		return err
	}
	u, err := c.ProposeUncompact(ctx, head, r)
	if err != nil {
		return err
	}
	env.SetAnswers(Answer{Repairs: []show.RepairJSON{}, Uncompact: &uncompactJSON{
		head.ID, u.Messages, u.Earlier, u.Before, u.After, u.Window, show.TrimmedJSON(u.Outputs),
	}})
	show.Header(env.Terminal, head)
	env.Printf("  %s sent again.\n", term.CountWords(u.Messages, "message is", "messages are"))
	for _, d := range u.Fixed {
		env.SayAt(2, "%s", term.OneLine(d.Why+" "+d.Fix, 400))
	}
	show.PrintTrimmed(env.Terminal, u.Outputs)
	show.Sizes(env.Terminal, u.Before, u.After, u.Window)
	if err := frame.ApplyOne(ctx, env, c, f, u.Plan, head, "Remove the newest compaction of %s?"); err != nil {
		return err
	}
	if u.Earlier > 0 {
		env.Say("There is an earlier compaction. Run \"mend restore --compaction %s\" again to remove it, too.", head.ID)
	}
	return nil
}

type uncompactJSON struct {
	Session  string            `json:"session"`
	Messages int               `json:"messages"` // number of messages that are sent again
	Earlier  int               `json:"earlier"`  // number of earlier compactions, which remain
	Before   int               `json:"before"`
	After    int               `json:"after"`
	Window   int               `json:"window"`
	Outputs  []show.OutputJSON `json:"outputs"`
}
