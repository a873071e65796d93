package running

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
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

// Keep returns the verb keep.
func Keep(env *frame.Env) *cobra.Command {
	var f frame.WriteFlags
	var to string
	cmd := &cobra.Command{
		Use:   "keep [SESSION...]",
		Short: "Copy sessions, so that lost ones can be restored",
		Long: `Copy every session of all agents, or the named ones, to keep.db beside the journal. If a
session was copied before, only the new data is copied. "mend restore" brings back a session
that its agent has deleted, cut short or overwritten.

The copies contain the texts of your conversations, in a file that only you can read. Of older
copies, the last one of each of 24 hours, 14 days and 12 weeks stays; the setting keepMaxMB
limits their size. "mend forget SESSION" erases the copies of a session.

With --to, the copies are made in the folder DIR/mend, for example on another disk, with all
that "mend restore --from DIR" needs. They are not encrypted: the administrators of that disk
or service can read them.

With the setting keep, "mend watch", and the plugin or hook of "mend install --keep", also copy
a session when a turn ends. "mend config set keep false" ends that; existing copies stay.`,
		Example: `  mend keep            all sessions, for example once a day
  mend keep .          the newest session of this folder`,
		RunE: func(cmd *cobra.Command, names []string) error {
			return runKeep(cmd.Context(), env, names, to, f)
		},
	}
	f.Add(cmd, "")
	cmd.Flags().StringVar(&to, "to", "", "make the copies in the folder DIR/mend, such as on another disk, instead of on this one; `DIR` must exist")
	return cmd
}

// A keptJSON is the result of copying the sessions of a store.
type keptJSON struct {
	Agent    string `json:"agent"`
	Store    string `json:"store"`
	Sessions int    `json:"sessions"`
	New      int    `json:"new"`  // number of sessions that were copied, or with --dry-run would be read
	Same     int    `json:"same"` // number of unchanged sessions
	Failed   int    `json:"failed"`
	Partly   int    `json:"partly"` // number of sessions that could be copied only in part
	Bytes    int64  `json:"bytes"`  // growth of the copies
}

// A KeepAnswer is the answer of keep.
type KeepAnswer struct {
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
		dir, err = copiesFolder(to)
	}
	if err != nil {
		return err
	}
	if _, none := os.Lstat(keep.Path(dir)); none != nil && len(clients) > 0 && !f.DryRun && to == "" {
		env.Say("%s", keepNotice(dir))
	}
	r := keepRun{Env: env, dry: f.DryRun, states: []show.KeptStateJSON{}}
	err = env.Opt.Journal.WithCopies(dir, keep.Options{ReadOnly: f.DryRun, Context: ctx, Notice: env.Note}, func(k *keep.Keep) error {
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
			r.printThinning(freed, c)
		}
		r.size = k.Size()
		return nil
	})
	if err != nil {
		return err
	}
	if to != "" && !f.DryRun {
		env.Say("The copies are in %s, with the texts of your conversations. On this machine only you can read them. They are not encrypted: anyone who has or administers that disk or folder can read them.", term.ShortenHome(keep.Path(dir)))
	}
	env.SetAnswers(KeepAnswer{keep.Path(dir), r.size, r.stores, r.states})
	return fail.Worst(left, r.failed)
}

// copiesFolder returns mend's folder in a folder that the user names. That folder must exist, so that nothing is copied
// to an unmounted disk.
func copiesFolder(to string) (string, error) {
	dir, err := filepath.Abs(filepath.Join(to, "mend"))
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(filepath.Dir(dir)); err != nil || !info.IsDir() {
		return "", fail.New(fail.Usage, "", "--to %s: there is no such folder", to)
	}
	return dir, nil
}

type keepRun struct {
	*frame.Env
	dry    bool
	stores []keptJSON
	states []show.KeptStateJSON
	unkept []string // what was not copied of the present store
	size   int64
	failed error
}

// store copies the sessions of a store, and prints the counts and what was not copied.
func (r *keepRun) store(ctx context.Context, k *keep.Keep, client frame.StoreSessions) error {
	s := keptJSON{Agent: client.ID().Agent, Store: client.ID().Root}
	var progress *term.Progress
	r.unkept = nil
	err := client.KeepAll(ctx, k, client.Named, mend.KeptAsked, r.dry, func(n int, kept mend.Kept) {
		if progress == nil {
			progress = r.Progress(n, "keeping")
		}
		progress.Step()
		switch {
		case kept.None == nil:
			r.count(&s, kept)
		case client.Named != nil && errors.Is(kept.None, keep.ErrNothing):
			r.Note(fmt.Sprintf("%s has no copy: %v", kept.Session.ID, keep.ErrNothing))
		case client.Named != nil:
			r.Note(kept.Session.ID + " has no copy of its own: it is in the copy of the session that it belongs to")
		}
	})
	if progress != nil {
		progress.Clear()
	}
	if err != nil {
		return err
	}
	r.stores = append(r.stores, s)
	text := either(r.dry, "Kept ", "Would read ") + term.Count(s.New, "session") + " of " + agents.Title(client.ID())
	if s.New > 0 && !r.dry {
		text += " (" + term.Size(s.Bytes) + " more)"
	}
	if s.Same > 0 {
		text += fmt.Sprintf("; %s unchanged", term.CountWords(s.Same, "is", "are"))
	}
	r.Say("%s.", text)
	for _, why := range r.unkept {
		r.Note("not kept: " + why)
		r.failed = fail.New(fail.Problems, "", "not everything could be read, so not every session has a complete copy of its present state")
	}
	return nil
}

// count counts the result of copying a session.
func (r *keepRun) count(s *keptJSON, kept mend.Kept) {
	id := kept.Session.ID
	if kept.Err != nil && id == "" {
		r.unkept = append(r.unkept, kept.Err.Error())
		return
	}
	s.Sessions++
	if unread := kept.Saved.State.Unread; unread != "" {
		s.Partly++
		r.unkept = append(r.unkept, fmt.Sprintf("a part of %s: %s", id, unread))
	}
	switch {
	case kept.Err != nil:
		s.Failed++
		r.unkept = append(r.unkept, fmt.Sprintf("%s: %v", id, kept.Err))
	case kept.Same:
		s.Same++
	default:
		s.New++
		s.Bytes += kept.Saved.Bytes
		if kept.Saved.New && r.JSON {
			r.states = append(r.states, show.KeptState(&kept.Saved.State))
		}
	}
}

// printThinning prints the result of thinning.
func (r *keepRun) printThinning(freed keep.Freed, c config.Config) {
	if freed.States > 0 {
		r.Say("%s older copies were removed (%s).", term.Thousands(freed.States), term.Size(freed.Bytes))
	}
	if excess := freed.Left - int64(c.KeepMaxMB)<<20; excess > 0 {
		r.Note(fmt.Sprintf("the copies take %s more than the setting keepMaxMB allows: the copies that are left are never removed", term.Size(excess)))
	}
}

// keepNotice describes what is copied, where, and how to turn it off.
func keepNotice(dir string) string {
	return "mend keeps copies of your sessions, with the texts of your conversations, in " + term.ShortenHome(keep.Path(dir)) +
		", which only you can read. \"mend forget SESSION\" erases the copies of a session; \"mend config set keep false\" ends automatic copies."
}

// enableKeep turns automatic copies on, and prints what that means, unless they are on.
func enableKeep(env *frame.Env) error {
	dir, err := env.Opt.Journal.Folder()
	if err != nil || frame.KeepsAutomatically() {
		return err
	}
	if _, err := frame.ChangeSetting("keep", "true"); err != nil {
		return fmt.Errorf("turning automatic copies on: %w", err)
	}
	env.Say("%s", keepNotice(dir))
	return nil
}

// A copier makes copies of the sessions of a store at the end of turns, one at a time, if the setting keep is on.
type copier struct {
	journal *mend.Journal
	config  config.Config
	log     *slog.Logger
	client  *mend.Store
	copying sync.Mutex
}

// keepLockWait is how long the end of a turn waits while another process writes the copies. Then the session is only
// copied at the end of its next turn.
const keepLockWait = 500 * time.Millisecond

// accept copies the session of an event that ends a turn. It does not wait.
func (c *copier) accept(ctx context.Context, work *sync.WaitGroup, e live.Event) {
	if !c.config.Keep {
		return
	}
	p, err := e.Decode()
	if err != nil || p.SessionID == "" || !e.Idle(p) {
		return
	}
	work.Go(func() {
		head, err := c.client.Session(ctx, p.SessionID)
		if err == nil {
			c.keep(ctx, []change.Head{head}, "turn", true)
		} else if ctx.Err() == nil {
			c.log.Warn("keeping a session", "session", p.SessionID, "error", err)
		}
	})
}

// catchUp copies the sessions that have changed since a time. The end of the last turn may not be reported: "opencode
// run" ends with the turn.
func (c *copier) catchUp(ctx context.Context, since time.Time) {
	if !c.config.Keep {
		return
	}
	heads, err := c.client.Sessions(ctx)
	if err != nil {
		c.log.Warn("keeping sessions", "error", err)
		return
	}
	from := since.Add(-time.Second).UnixMilli()
	c.keep(ctx, slices.DeleteFunc(heads, func(h change.Head) bool { return h.Updated < from }), "turn", false)
}

// keep copies sessions; why is the reason that the copies record. It reports errors only in the log.
func (c *copier) keep(ctx context.Context, heads []change.Head, why string, thin bool) {
	c.copying.Lock()
	defer c.copying.Unlock()
	if !c.config.Keep || len(heads) == 0 || ctx.Err() != nil {
		return
	}
	notice := func(text string) { c.log.Warn("keeping", "note", text) }
	err := c.journal.Kept(keep.Options{Timeout: keepLockWait, Context: ctx, Notice: notice}, func(k *keep.Keep) error {
		var failed error
		err := c.client.KeepAll(ctx, k, heads, why, false, func(_ int, kept mend.Kept) { failed = errors.Join(failed, kept.Err) })
		err = errors.Join(err, failed)
		if err == nil && thin && k.ThinDue(24*time.Hour) {
			_, err = k.Thin(ctx, frame.KeepPolicy(c.config))
		}
		return err
	})
	if err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, keep.ErrNothing) && ctx.Err() == nil {
		c.log.Warn("keeping sessions", "error", err)
	}
}
