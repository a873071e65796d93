// Package running has the verbs for running agents: install, watch and keep, and hook, which the agents start.
//
// It may import agent, change, cmd/mend/internal/agents, cmd/mend/internal/frame, cmd/mend/internal/show,
// internal/atomicfile, internal/config, internal/fail, internal/hooks, internal/keep, internal/live, internal/mend,
// internal/ownfile, internal/term, internal/termjson, internal/unattended, internal/watch, journal and repair. Read
// [Hook] and [Watch] first.
package running

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"mend/agent"
	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/config"
	"mend/internal/fail"
	"mend/internal/live"
	"mend/internal/mend"
	"mend/internal/ownfile"
	"mend/internal/term"
	"mend/internal/termjson"
	"mend/internal/unattended"
	"mend/internal/watch"
	"mend/journal"
	"mend/repair"
)

var _ live.Repairer = unattended.Repairer{}

// Watch returns the verb watch.
func Watch(env *frame.Env) *cobra.Command {
	var set []string
	once := false
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Watch the stores of all agents, and repair sessions as they break",
		Long: `Watch follows the session stores of all agents, including stores that appear later. When a
session has changed and no agent is working in it, watch examines it. If the session is
broken, or if stored data made its last turn fail, watch repairs it, and your next prompt
works. Each repair is written to the journal, and is shown with the command that undoes it.

Watch needs no server, no password and no port. It repairs what the plugin repairs before a
request, except what the setting skip names, and sends no prompts. If Claude Code has a broken
session open, watch only reports it, because Claude Code would not see the change.

Press Ctrl-C to end it. docs/running.md has a systemd unit that starts it when you log in.`,
		Example: `  mend watch                       follow all stores
  mend watch --agent claude        follow the stores of Claude Code`,
		Args: frame.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			env.JSONLines = true // an error that ends the verb early is one line, too
			c, notes, err := frame.LoadLiveSettings(set)
			if err != nil {
				return err
			}
			if !c.Enabled {
				return errDisabled
			}
			env.Opt.Journal.Actor.Channel = change.ChannelWatch
			return runWatch(cmd.Context(), env, c, notes, once)
		},
	}
	frame.SetFlag(cmd, &set)
	cmd.Flags().BoolVar(&once, "once", false, "examine the sessions used in the last hours (setting lookBackHours), and end")
	return cmd
}

// A watcher follows the stores of "mend watch".
type watcher struct {
	*frame.Env
	config config.Config
	log    *slog.Logger
	single bool // each session is handled once

	mu      sync.Mutex        // guards printed and left
	printed bool              // an event was printed
	left    map[string]string // why a session was not repaired, by store and session
}

// A WatchEvent is a line of watch's output.
type WatchEvent struct {
	SchemaVersion int              `json:"schemaVersion"`
	Command       string           `json:"command"`
	Event         string           `json:"event"` // following, lost, repaired or left
	Time          string           `json:"time"`
	Agent         string           `json:"agent"`
	Store         string           `json:"store"`
	Sessions      *int             `json:"sessions,omitempty"` // number of sessions of a followed store
	Session       string           `json:"session,omitempty"`
	Title         string           `json:"title,omitempty"`
	Why           string           `json:"why,omitempty"`
	Repair        *show.RepairJSON `json:"repair,omitempty"`
	Undo          string           `json:"undo,omitempty"` // the command
}

// Reasons not to repair a session in use.
const (
	busyOnce = "in use"
	busyLong = "still in use"
)

// runWatch follows stores until the context ends, or with once examines them once.
func runWatch(ctx context.Context, env *frame.Env, c config.Config, notes []string, once bool) error {
	if _, err := env.Opt.Journal.Log(journal.Query{Limit: 1}); err != nil {
		return err
	}
	if env.Opt.Store != "" {
		if _, err := mend.Open(env.Opt); err != nil {
			return err
		}
	}
	log, err := openHookLog(env)
	if err != nil {
		return err
	}
	lock, err := lockLive(env, watchLock, false)
	if errors.Is(err, ownfile.ErrLocked) {
		const hint = "end it first; \"mend\" shows whether one runs"
		return fail.New(fail.Refused, hint, "another mend watch runs with this journal")
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	logNotes(log, notes)
	w := &watcher{Env: env, config: c, log: log, single: once, left: map[string]string{}}
	for _, note := range notes {
		env.Note(note)
	}
	if once {
		err = w.once(ctx)
	} else {
		var group sync.WaitGroup
		sweeper := &frame.Env{Terminal: env.Terminal, Opt: env.Opt, AgentName: env.AgentName, Command: env.Command}
		sweeper.Opt.Journal = env.Opt.Journal.Clone()
		group.Go(func() { gcDaily(ctx, sweeper, c.RetentionDays, log) })
		w.follow(ctx, &group)
		group.Wait()
	}
	return cmp.Or(ctx.Err(), err)
}

// The locks of live repair, in the journal's folder: one watch, and any number of hooks.
const (
	watchLock = "watch.lock"
	hookLock  = "hooks.lock"
)

// lockLive takes a lock of live repair. It waits a little, because [isLive] may hold the lock for a moment.
func lockLive(env *frame.Env, name string, shared bool) (*ownfile.Lock, error) {
	dir, err := env.Opt.Journal.Folder()
	if err != nil {
		return nil, err
	}
	const probe = 200 * time.Millisecond
	return ownfile.Acquire(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, shared, probe)
}

// isLive reports whether a process holds a lock of live repair.
func isLive(dir, name string) bool {
	lock, err := ownfile.Acquire(filepath.Join(dir, name), os.O_RDWR, false, 0)
	if err == nil {
		_ = lock.Close()
	}
	return errors.Is(err, ownfile.ErrLocked)
}

// State implements [inspect.LiveState].
func State(env *frame.Env, journal string) (installed []show.PluginJSON, serving, watching bool) {
	installed = []show.PluginJSON{}
	for _, a := range env.Opt.Agents {
		if p := state(env, a); p.State != agent.Absent {
			installed = append(installed, p)
		}
	}
	return installed, isLive(journal, hookLock), isLive(journal, watchLock)
}

// gcDaily deletes the undo data of repairs older than days from the journal, once a day. It does nothing if days is 0.
func gcDaily(ctx context.Context, env *frame.Env, days int, log *slog.Logger) {
	if days == 0 {
		return
	}
	for day := time.NewTicker(24 * time.Hour); ; {
		freed, err := env.Opt.Journal.GC(ctx, time.Now().AddDate(0, 0, -days), nil)
		if err == nil {
			_, err = frame.Sweep(ctx, env)
		}
		if err != nil {
			log.Warn("deleting old undo data from the journal", "error", err)
		} else if freed.Images > 0 {
			log.Info("deleted old undo data from the journal", "images", freed.Images, "bytes", freed.Bytes)
		}
		select {
		case <-day.C:
		case <-ctx.Done():
			day.Stop()
			return
		}
	}
}

// follow follows each present or future store until the context ends.
func (w *watcher) follow(ctx context.Context, group *sync.WaitGroup) {
	followed := map[string]bool{}
	tick := time.NewTicker(seconds(w.config.WatchPollSeconds))
	defer tick.Stop()
	for {
		for _, o := range w.stores() {
			if followed[o.Store] {
				continue
			}
			client, err := frame.OpenWith(ctx, w.Env, o, true)
			if err != nil {
				w.Note(err.Error()) // printed once
				continue
			}
			if err := client.Changeable(ctx); err != nil { // the store is followed anyway, for its copies
				w.Note(err.Error())
			}
			followed[o.Store] = true
			group.Go(func() { watch.Run(ctx, frame.WatchedStore{Store: client, Reader: client.Reader()}, w.options(client)) })
		}
		if len(followed) == 0 && !w.JSON {
			w.Note("no session store found; waiting for one")
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// stores returns the options of each present store.
func (w *watcher) stores() (all []mend.Options) {
	if w.Opt.Store != "" {
		return []mend.Options{w.Opt}
	}
	for _, ag := range w.Opt.Agents {
		found, _ := ag.Find() // a store may appear later
		for _, at := range found {
			o := w.Opt
			o.Agents, o.Store, o.Layout, o.Journal = []agent.Agent{ag}, at.Path, at.Layout, w.Opt.Journal.Clone()
			all = append(all, o)
		}
	}
	return all
}

type watchedStore struct {
	*watcher
	store *recoverer
}

func (w *watcher) options(client *mend.Store) watch.Options {
	s := &watchedStore{w, newRecoverer(nil, w.Opt.Journal, client, w.config, w.log)}
	return watch.Options{
		Since: lookBack(w.config),
		Quiet: seconds(min(2, w.config.WatchPollSeconds)), Poll: seconds(w.config.WatchPollSeconds),
		Handle: s.handle, Notice: s.notice,
	}
}

// once looks at each store once.
func (w *watcher) once(ctx context.Context) (worse error) {
	for _, o := range w.stores() {
		client, err := frame.OpenWith(ctx, w.Env, o, true)
		if err == nil {
			err = watch.Once(ctx, frame.WatchedStore{Store: client, Reader: client.Reader()}, w.options(client))
			err = cmp.Or(err, client.Changeable(ctx))
		}
		worse = fail.Worst(worse, err)
	}
	switch {
	case len(w.stores()) == 0:
		return mend.ErrNoStore
	case worse == nil && !w.printed && !w.JSON:
		w.Say("There is nothing to repair in the sessions used in the last %s. To check all sessions: %s", term.Count(w.config.LookBackHours, "hour"), term.Command("mend scan"))
	}
	return worse
}

// notice prints that the store is followed, or that it cannot be read.
func (s *watchedStore) notice(n watch.Notice) {
	if n.Lost != nil {
		s.log.Warn("a store cannot be read", "store", s.store.client.ID().Root, "error", n.Lost)
		s.print(WatchEvent{Event: "lost", Why: n.Lost.Error()},
			"%s cannot be read; waiting until it can: %s", s.place(), n.Lost)
		return
	}
	s.print(WatchEvent{Event: "following", Sessions: &n.Sessions},
		"Following %s: %s", s.place(), term.Count(n.Sessions, "session"))
}

// place names the store.
func (s *watchedStore) place() string {
	id := s.store.client.ID()
	return agents.Title(id) + " in " + term.ShortenHome(id.Root)
}

// print prints an event, as a line of JSON or as text.
func (s *watchedStore) print(e WatchEvent, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.JSON {
		s.printed = true
		s.SayAt(0, "%s  %s", term.Faint(time.Now().Format(time.TimeOnly)), term.Sprintf(format, args...))
		return
	}
	id := s.store.client.ID()
	e.SchemaVersion, e.Command, e.Time = frame.SchemaVersion, s.Command, time.Now().UTC().Format(time.RFC3339)
	e.Agent, e.Store = id.Agent, id.Root
	text, err := termjson.Marshal(e)
	if err == nil {
		_, err = s.Write(append(text, '\n'))
	}
	if err != nil {
		s.log.Warn("writing an event", "error", err)
	}
}

// handle copies a session that changed, examines it, and repairs it. It reports whether to try again.
func (s *watchedStore) handle(ctx context.Context, head change.Head) (again bool) {
	s.store.copies.keep(ctx, []change.Head{head}, "watch", true)
	s.mu.Lock()
	reported := s.left[s.key(head)] == busyLong
	s.mu.Unlock()
	if reported && s.store.client.Reader().Busy(ctx, head, false) { // reading it again would show nothing new
		return true
	}
	v := s.store.hook.Look(ctx, live.Situation{Cause: live.Stored, Head: head})
	switch {
	case v.Entry != "":
		s.showRepair(v.Entry)
	case v.Err != nil && ctx.Err() == nil:
		s.leave(head, v.Worst, v.Err)
	}
	return errors.Is(v.Err, repair.ErrBusy)
}

func (s *watchedStore) key(head change.Head) string { return s.store.client.ID().Root + " " + head.ID }

// showRepair shows a repair.
func (s *watchedStore) showRepair(id string) {
	e, _, err := s.Opt.Journal.Show(id)
	if err != nil {
		s.log.Warn("reading a repair", "repair", id, "error", err)
		e = change.Entry{ID: id}
	}
	why := strings.Join(e.Cause.Diagnoses, " ")
	undo := "mend undo " + id
	r := show.EntryJSON(e, nil)
	s.print(WatchEvent{Event: "repaired", Session: e.Session, Title: e.Cause.Title, Why: why, Repair: &r, Undo: undo},
		"%s %s: %s Undo: %s", term.Good("Repaired"), show.QuotedTitle(e.Cause.Title, e.Session),
		term.OneLine(cmp.Or(why, e.Cause.Text), 300), term.Bold(undo))
}

// leave prints why a broken session is not repaired, each reason once. It does not print that a process uses the session
// until the next check, if there is one, finds that again: the process may end before.
func (s *watchedStore) leave(head change.Head, worst *repair.Diagnosis, why error) {
	key, text := s.key(head), why.Error()
	s.mu.Lock()
	before, reason := s.left[key], text
	if errors.Is(why, repair.ErrBusy) {
		reason = busyLong
		if before != busyOnce && before != busyLong && !s.single {
			reason = busyOnce
		}
	}
	s.left[key] = reason
	s.mu.Unlock()
	if reason == before || reason == busyOnce {
		return
	}
	if _, plain, ok := strings.Cut(text, repair.ErrBusy.Error()+": "); ok {
		text = plain
	}
	what := ""
	if worst != nil {
		what = worst.Why + " "
	}
	s.print(WatchEvent{Event: "left", Session: head.ID, Title: head.Title, Why: what + text},
		"%s %s: %s It is left unchanged: %s", term.Warn("Broken"), show.QuotedTitle(head.Title, head.ID),
		term.OneLine(what, 160), term.OneLine(text, 300))
}

var errDisabled error = fail.New(fail.Refused, `"mend config" shows where the value comes from`,
	"live repair is off: the setting \"enabled\" is false")
