package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/config"
	"mend/internal/fail"
	"mend/internal/keep"
	"mend/internal/live"
	"mend/internal/mend"
	"mend/internal/term"
)

func keepVerb(env *frame.Env) *cobra.Command {
	var f frame.WriteFlags
	var to string
	cmd := &cobra.Command{
		Use:   "keep [SESSION...]",
		Short: "Copy sessions, so that lost ones can be restored",
		Long: `Copy every session of all agents, or the named ones, to keep.db beside the journal. If a
session was copied before, only the new data is copied. "mend restore" brings back a session
that its agent has deleted, cut or overwritten.

The copies contain the texts of your conversations, compressed, in a file that only you can
read. Older copies are thinned: one stays for each of 24 hours, 14 days and 12 weeks. The
setting keepMaxMB limits their total size. "mend forget SESSION" erases the copies of a
session.

With --to, the copies are made in the folder mend of another disk or of a synced folder,
with all that "mend restore --from" needs. They are not encrypted: the administrators of
that disk or service can read them.

With the setting keep, a copy is also made when a turn ends: by "mend watch", and by the
plugin or hook of "mend install --keep", which turns the setting on. "mend config set keep
false" turns it off; existing copies stay.`,
		Example: `  mend keep            all sessions, for example once a day
  mend keep .          the newest session of this folder`,
		RunE: func(cmd *cobra.Command, names []string) error {
			return runKeep(cmd.Context(), env, names, to, f)
		},
	}
	f.Add(cmd, "")
	cmd.Flags().StringVar(&to, "to", "", "make the copies in the folder mend of the folder `DIR`, such as another disk")
	return cmd
}

// A keptJSON is the result of copying the sessions of a store.
type keptJSON struct {
	Agent    string `json:"agent"`
	Store    string `json:"store"`
	Sessions int    `json:"sessions"`
	New      int    `json:"new"`  // sessions that were copied, or with --dry-run would be read
	Same     int    `json:"same"` // unchanged sessions
	Failed   int    `json:"failed"`
	Partly   int    `json:"partly"` // sessions that could be copied only in part
	Bytes    int64  `json:"bytes"`  // growth of the copies
}

type keepAnswer struct {
	File   string               `json:"file,omitempty"`
	Bytes  int64                `json:"bytes,omitempty"` // of the file
	Kept   []keptJSON           `json:"kept,omitempty"`
	States []show.KeptStateJSON `json:"states,omitempty"` // new copies
}

func runKeep(ctx context.Context, env *frame.Env, names []string, to string, f frame.WriteFlags) error {
	c, err := frame.LoadSettings(nil)
	if err != nil {
		return err
	}
	clients, left, err := frame.OpenNamed(ctx, env, false, names)
	if err != nil {
		return err
	}
	dir, err := env.Opt.Journal.Folder()
	if to != "" {
		dir, err = secondPlace(env, to)
	}
	if err != nil {
		return err
	}
	if len(clients) > 0 && !f.DryRun && to == "" {
		noteFirstKeep(env, dir)
	}
	r := keepRun{Env: env, dry: f.DryRun, states: []show.KeptStateJSON{}}
	err = env.Opt.Journal.KeptIn(dir, keep.Options{ReadOnly: f.DryRun, Context: ctx, Notice: env.Note}, func(k *keep.Keep) error {
		r.stores, r.states = []keptJSON{}, r.states[:0]
		for _, client := range clients {
			if err := r.store(ctx, k, client); err != nil {
				if ctx.Err() != nil || frame.ExitCode(err) != frame.ExitUnusable || errors.Is(err, keep.ErrDamaged) {
					return err
				}
				left = env.SkipStore(ctx, left, err)
			}
		}
		if !f.DryRun && (k.ThinDue(time.Hour) || k.Size() > int64(c.KeepMaxMB)<<20) && k.ThinDue(time.Minute) {
			freed, err := k.Thin(ctx, frame.KeepPolicy(c))
			if err != nil {
				return err
			}
			r.thinned(freed, c)
		}
		r.size = k.Size()
		return nil
	})
	if err != nil {
		return err
	}
	if to != "" && !f.DryRun {
		env.Say("The copies are in %s, with the texts of your conversations. Here only you can read them. They are not encrypted: anyone who has or administers that disk or folder can read them.", term.Escape(term.ShortenHome(keep.Path(dir))))
	}
	env.SetAnswers(keepAnswer{keep.Path(dir), r.size, r.stores, r.states})
	return fail.Worst(left, r.failed)
}

// secondPlace returns mend's folder in a folder that the user names, which must exist: an unmounted disk gets
// no copies.
func secondPlace(env *frame.Env, to string) (string, error) {
	dir, err := filepath.Abs(filepath.Join(to, "mend"))
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(filepath.Dir(dir)); err != nil || !info.IsDir() {
		return "", fail.New(fail.Usage, "", "--to %s: there is no such folder", to)
	}
	if whose := env.OwnerOf(dir); whose != "" {
		return "", fail.New(fail.Refused, "name another folder", "--to %s: mend makes no copies among the files of %s", to, whose)
	}
	return dir, nil
}

// A keepRun is one run of "mend keep".
type keepRun struct {
	*frame.Env
	dry    bool
	stores []keptJSON
	states []show.KeptStateJSON
	size   int64
	failed error
}

// store copies the sessions of a store.
func (r *keepRun) store(ctx context.Context, k *keep.Keep, client frame.StoreSessions) error {
	s := keptJSON{Agent: client.ID().Agent, Store: client.ID().Root}
	var progress *term.Progress
	var failures []string
	err := client.KeepAll(ctx, k, client.Named, mend.KeptAsked, r.dry, func(n int, is mend.Kept) {
		if progress == nil {
			progress = r.Progress(n, "keeping")
		}
		progress.Step()
		if is.None != nil {
			if client.Named != nil {
				r.Note(fmt.Sprintf("%s has no copy of its own: %s", term.Escape(is.Session.ID), whyNone(is.None)))
			}
			return
		}
		if failure := r.count(&s, is); failure != "" {
			failures = append(failures, failure)
		}
	})
	if progress != nil {
		progress.Clear()
	}
	if err != nil {
		return err
	}
	r.stores = append(r.stores, s)
	verb := "Kept "
	if r.dry {
		verb = "Would read "
	}
	text := verb + term.Count(s.New, "session") + " of " + agents.Title(client.ID())
	if s.New > 0 && !r.dry {
		text += " (" + term.Size(s.Bytes) + " more)"
	}
	if s.Same > 0 {
		text += fmt.Sprintf("; %s as kept before", term.CountWords(s.Same, "is", "are"))
	}
	r.Say("%s.", text)
	for _, why := range failures {
		r.Note("not kept: " + why)
		r.failed = fail.New(fail.Problems, "", "not everything could be read: not every session has a complete copy of its present state")
	}
	return nil
}

// count counts the result of a session, and describes what was not copied; "" for nothing.
func (r *keepRun) count(s *keptJSON, is mend.Kept) (failure string) {
	id := term.Escape(is.Session.ID)
	if is.Err != nil && id == "" {
		return is.Err.Error()
	}
	s.Sessions++
	if without := is.Saved.State.Unread; without != "" {
		s.Partly++
		failure = fmt.Sprintf("a part of %s: %s", id, without)
	}
	switch {
	case is.Err != nil:
		s.Failed++
		failure = fmt.Sprintf("%s: %v", id, is.Err)
	case is.Same:
		s.Same++
	default:
		s.New++
		s.Bytes += is.Saved.Bytes
		if is.Saved.New && r.JSON {
			r.states = append(r.states, show.KeptState(&is.Saved.State))
		}
	}
	return failure
}

// whyNone describes why a session has no copy.
func whyNone(err error) string {
	if errors.Is(err, keep.ErrNothing) {
		return keep.ErrNothing.Error()
	}
	return "it is in the copy of the session that it belongs to"
}

// thinned prints the result of thinning.
func (r *keepRun) thinned(freed keep.Freed, c config.Config) {
	if freed.States > 0 {
		r.Say("%s older copies were removed (%s).", term.Thousands(freed.States), term.Size(freed.Bytes))
	}
	if over := freed.Left - int64(c.KeepMaxMB)<<20; over > 0 {
		r.Note(fmt.Sprintf("the copies take %s more than the setting keepMaxMB allows: only one of each session is left, and that stays", term.Size(over)))
	}
}

// noteFirstKeep prints once what is copied.
func noteFirstKeep(env *frame.Env, dir string) {
	if _, err := os.Lstat(keep.Path(dir)); err == nil {
		return
	}
	env.Say("%s", keepNotice(dir))
}

// keepOffer describes what mend can copy.
func keepOffer(dir string) string {
	return "mend can keep copies of your sessions, with the texts of your conversations, in " + term.Escape(term.ShortenHome(keep.Path(dir))) +
		", so that a session can be restored that its agent has deleted."
}

// keepNotice describes what is copied, where, and how to turn it off.
func keepNotice(dir string) string {
	return "mend keeps copies of your sessions, with the texts of your conversations, in " + term.Escape(term.ShortenHome(keep.Path(dir))) +
		", which only you can read. \"mend restore\" brings sessions back, \"mend forget SESSION\" erases the copies of one, \"mend config set keep false\" turns automatic copies off."
}

// askKeep asks, during an installation, whether copies are made at the end of turns. If no question can be
// asked, the answer is no.
func askKeep(ctx context.Context, env *frame.Env, f frame.WriteFlags) (bool, error) {
	if f.Yes || f.DryRun || env.JSON || !env.CanAsk {
		return false, nil
	}
	dir, err := env.Opt.Journal.Folder()
	if err != nil {
		return false, err
	}
	env.Say("%s", keepOffer(dir))
	key, err := env.Ask(ctx, "Copy each session when one of its turns ends?", frame.YesOrNo)
	return key == "y", err
}

// agreeToKeep turns automatic copies on, and prints once what that means.
func agreeToKeep(env *frame.Env) error {
	dir, err := env.Opt.Journal.Folder()
	if err != nil || frame.LoadsKeep() {
		return err
	}
	value := "true"
	if _, err := frame.ChangeSetting("keep", &value); err != nil {
		return fmt.Errorf("turning automatic copies on: %w", err)
	}
	env.Say("%s", keepNotice(dir))
	return nil
}

// An automaticKeep makes copies at the end of turns, if the user has agreed and the settings allow it.
type automaticKeep struct {
	journal *mend.Journal
	dir     string
	config  config.Config
	log     *slog.Logger
}

// keepLockWait is how long a turn waits for another process that writes the copies. Afterwards the next turn
// copies.
const keepLockWait = 500 * time.Millisecond

// A turnKeeper copies sessions of a running agent when their turns end, each session at most once at a time.
type turnKeeper struct {
	automaticKeep
	client *mend.Store

	mu    sync.Mutex
	again map[string]bool // sessions being copied: whether another turn has ended meanwhile
}

func newTurnKeeper(a automaticKeep, client *mend.Store) *turnKeeper {
	return &turnKeeper{automaticKeep: a, client: client, again: map[string]bool{}}
}

// accept copies the session of an event that ends a turn. It does not wait.
func (t *turnKeeper) accept(ctx context.Context, work *sync.WaitGroup, e live.Event) {
	if e.Type != live.EventIdle && e.Type != live.EventStatus {
		return
	}
	p, err := e.Decode()
	if err != nil || p.SessionID == "" || e.Type == live.EventStatus && p.Status.Type != "idle" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_, running := t.again[p.SessionID]
	if t.again[p.SessionID] = running; running {
		return
	}
	work.Go(func() {
		for more := true; more && ctx.Err() == nil; {
			t.copy(ctx, p.SessionID)
			t.mu.Lock()
			if more = t.again[p.SessionID]; more {
				t.again[p.SessionID] = false
			} else {
				delete(t.again, p.SessionID)
			}
			t.mu.Unlock()
		}
	})
}

func (t *turnKeeper) copy(ctx context.Context, session string) {
	if !t.on() {
		return
	}
	head, err := t.client.Session(ctx, session)
	if err != nil {
		t.log.Warn("keeping a session", "session", session, "error", err)
		return
	}
	t.keep(ctx, t.client, []change.Head{head}, "turn", true)
}

// catchUp copies the sessions that have changed since a time without a reported end of a turn: "opencode run"
// ends with the turn.
func (t *turnKeeper) catchUp(ctx context.Context, since time.Time) {
	if !t.on() {
		return
	}
	heads, err := t.client.Sessions(ctx)
	if err != nil {
		t.log.Warn("keeping sessions", "error", err)
		return
	}
	from := since.Add(-time.Second).UnixMilli()
	t.keep(ctx, t.client, slices.DeleteFunc(heads, func(h change.Head) bool { return h.Updated < from }), "turn", false)
}

// on reports whether copies are made.
func (a automaticKeep) on() bool { return a.config.Keep }

// keep copies sessions. It reports errors only in the log.
func (a automaticKeep) keep(ctx context.Context, client *mend.Store, heads []change.Head, why string, thin bool) {
	if !a.on() || len(heads) == 0 {
		return
	}
	notice := func(text string) { a.log.Warn("keeping", "note", text) }
	err := a.journal.Kept(keep.Options{Timeout: keepLockWait, Context: ctx, Notice: notice}, func(k *keep.Keep) error {
		var failed error
		err := client.KeepAll(ctx, k, heads, why, false, func(_ int, is mend.Kept) { failed = errors.Join(failed, is.Err) })
		err = errors.Join(err, failed)
		if err == nil && thin && k.ThinDue(24*time.Hour) {
			_, err = k.Thin(ctx, frame.KeepPolicy(a.config))
		}
		return err
	})
	if err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, keep.ErrNothing) && ctx.Err() == nil {
		a.log.Warn("keeping sessions", "error", err)
	}
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

// A coverageJSON counts the sessions of a store with a complete copy.
type coverageJSON struct {
	Agent    string `json:"agent"`
	Sessions int    `json:"sessions"`
	Covered  int    `json:"covered"`
	Last     string `json:"last"` // when the newest copy was made; "" for none
	Gone     int    `json:"gone"` // sessions with a complete copy that the agent no longer has

	last time.Time
}

// A keepStatusJSON is the part of status about copies.
type keepStatusJSON struct {
	Automatic bool            `json:"automatic"`
	Bytes     int64           `json:"bytes"`
	Agents    []coverageJSON  `json:"agents"`
	Lacking   int             `json:"lacking"` // sessions that lack content of a copy, as far as a short look shows
	Gone      []goneStoreJSON `json:"gone"`    // missing stores whose sessions were copied
	Damaged   []string        `json:"damaged"` // files that were set aside
}

// A goneStoreJSON is a missing store.
type goneStoreJSON struct {
	Agent    string `json:"agent"`
	Store    string `json:"store"`
	Sessions int    `json:"sessions"` // with a copy
	remake   string
}

// keepLook is how long status searches for sessions that lack content of a copy.
const keepLook = time.Second

// keepStatus returns the coverage of each agent, nil if it is unknown.
func keepStatus(ctx context.Context, env *frame.Env, clients []*mend.Store) *keepStatusJSON {
	s := keepStatusJSON{Automatic: frame.LoadsKeep(), Agents: []coverageJSON{}, Gone: []goneStoreJSON{}, Damaged: show.NonNil(frame.DamagedBefore(env, time.Now().Add(time.Minute)))}
	look, stop := context.WithTimeout(ctx, keepLook)
	defer stop()
	err := env.Opt.Journal.Kept(keep.Options{ReadOnly: true, Context: ctx}, func(k *keep.Keep) error {
		s.Bytes = k.Size()
		for _, client := range clients {
			id := client.ID()
			coverage := coverageJSON{Agent: id.Agent}
			heads, err := client.Cached().Sessions(ctx)
			if err != nil {
				continue // status has reported it
			}
			complete := map[string]bool{}
			err = k.Each(keep.Query{Store: client.HasCopiesOf}, func(st *keep.State) {
				complete[st.Session] = complete[st.Session] || st.Complete()
				coverage.last = st.Time
			})
			if err != nil {
				return err
			}
			if coverage.Sessions = len(heads); len(complete) > 0 || s.Automatic {
				coverage.Sessions = client.Copyable(look, heads, complete)
			}
			for _, whole := range complete {
				if whole {
					coverage.Gone++
				}
			}
			for _, h := range heads {
				if complete[h.ID] {
					coverage.Covered, coverage.Gone = coverage.Covered+1, coverage.Gone-1
				}
			}
			if len(complete) > 0 {
				coverage.Last = coverage.last.UTC().Format(time.RFC3339)
			}
			s.Agents = append(s.Agents, coverage)
			if len(complete) > 0 {
				found, _ := client.Restorables(look, k) // unreadable sessions were reported
				for _, r := range found {
					if r.State == mend.Shortened || r.State == mend.Replaced {
						s.Lacking++
					}
				}
			}
		}
		unfound, err := frame.ListUnfound(ctx, env, clients, k)
		for _, x := range unfound {
			id := x.StoreID()
			i := slices.IndexFunc(s.Gone, func(g goneStoreJSON) bool { return g.Store == id.Root })
			if i < 0 {
				i, s.Gone = len(s.Gone), append(s.Gone, goneStoreJSON{Agent: id.Agent, Store: id.Root, remake: env.RemakeText(id, "mend restore --all")})
			}
			s.Gone[i].Sessions++
		}
		return err
	})
	if err != nil {
		env.NoteSkipped(err)
		return nil
	}
	return &s
}

// covers reports whether each session of the agent has a copy.
func (s *keepStatusJSON) covers(agent string) bool {
	return s != nil && slices.ContainsFunc(s.Agents, func(c coverageJSON) bool {
		return c.Agent == agent && c.Covered >= c.Sessions
	})
}

// gone returns how many sessions with a copy are missing.
func (s *keepStatusJSON) gone() (n int) {
	if s != nil {
		for _, c := range s.Agents {
			n += c.Gone
		}
	}
	return n
}

// text returns the text of status about copies; "" for nothing.
func (s *keepStatusJSON) text() string {
	if s == nil {
		return ""
	}
	var parts []string
	for _, c := range s.Agents {
		if c.Last == "" && !s.Automatic {
			continue
		}
		text := fmt.Sprintf("%s: %d of %s covered", agents.Title(change.StoreID{Agent: c.Agent}), c.Covered, term.Count(c.Sessions, "session"))
		if c.Last != "" {
			text += ", last " + term.Age(time.Since(c.last))
		}
		if c.Gone > 0 {
			text += "; " + term.CountWords(c.Gone, "copied session is gone", "copied sessions are gone") + term.Faint(" (mend restore)")
		}
		parts = append(parts, text)
	}
	for _, g := range s.Gone {
		parts = append(parts, term.Warn(term.Escape(term.ShortenHome(g.Store))+" is gone")+fmt.Sprintf(", and %s of it %s kept: %s",
			term.Count(g.Sessions, "session"), map[bool]string{true: "was", false: "were"}[g.Sessions == 1], g.remake))
	}
	if s.Lacking > 0 {
		parts = append(parts, term.Warn(term.CountWords(s.Lacking, "session lacks", "sessions lack")+" data that was kept")+term.Faint(" (mend restore lists and restores it)"))
	}
	for _, path := range s.Damaged {
		parts = append(parts, term.Warn("a damaged file was set aside: ")+term.Escape(term.ShortenHome(path))+term.Faint(" (mend forget removes it)"))
	}
	if len(parts) == 0 {
		return ""
	}
	if !s.Automatic {
		parts = append(parts, term.Faint("automatic copies are off (mend install --keep)"))
	}
	return strings.Join(parts, "\n")
}
