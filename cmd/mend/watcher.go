package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/spf13/cobra"

	"mend/change"
	"mend/internal/config"
	"mend/internal/live"
	"mend/internal/mend"
)

// A watcher follows the servers of "mend watch".
type watcher struct {
	*app
	cmd    *cobra.Command
	config config.Config
	log    *slog.Logger
	counts *recoveryCounter
}

// followNamed follows the servers at these addresses until the context ends, or until each
// has rejected it.
func (w *watcher) followNamed(ctx context.Context, addresses []string) error {
	servers := make([]*live.Server, len(addresses))
	for i, address := range addresses {
		var err error
		if servers[i], err = w.newServer(address); err != nil {
			return usagef("--server: %w", err)
		}
	}
	errs := make([]error, len(servers))
	var group sync.WaitGroup
	for i, server := range servers {
		group.Go(func() {
			errs[i] = w.follow(ctx, server)
			if ctx.Err() == nil && len(servers) > 1 { // else the program ends with it
				w.log.Error("following a server", "server", server.String(), "error", errs[i])
			}
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(errs...)
}

func (w *watcher) newServer(address string) (*live.Server, error) {
	return live.NewServer(address, os.Getenv("OPENCODE_SERVER_USERNAME"), os.Getenv("OPENCODE_SERVER_PASSWORD"), w.log)
}

// followFound follows the servers of this user on this machine, as they come and go, until
// the context ends. If wait is false and none is running, it returns [errNoServer].
func (w *watcher) followFound(ctx context.Context, wait bool) error {
	var group sync.WaitGroup
	defer group.Wait()
	var (
		followed = map[string]bool{}
		rejected = map[string]string{} // the sockets of servers that rejected the password, or send no events
		ended    = make(chan followEnd)
		seen     map[string]string // the listeners at the last search
		again    = true
		waiting  = false
	)
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		now, known := listeners()
		if again || !known || !maps.Equal(now, seen) {
			found := w.findServers(ctx, w.stores(), func(address string) bool {
				at, ok := rejected[address]
				return followed[address] || ok && at == now[portOf(address)]
			})
			seen, again = now, found.again
			for _, address := range found.servers {
				followed[address] = true
				group.Go(func() {
					end := followEnd{address, w.followUntilGone(ctx, address)}
					select {
					case ended <- end:
					case <-ctx.Done():
					}
				})
			}
			if len(followed) == 0 && !waiting && ctx.Err() == nil {
				if err := noServer(found.other); !wait {
					return err
				}
				w.sayWaiting(found.other)
				waiting = true
			}
		}
		select {
		case end := <-ended:
			delete(followed, end.address)
			if !errors.Is(end.err, live.ErrServerGone) { // else it would be found again at once
				rejected[end.address] = seen[portOf(end.address)]
			}
			again, waiting = true, false
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stores returns the paths of the stores that the watch is for, nil if there are none yet.
func (w *watcher) stores() (paths []string) {
	if w.opt.Store != "" {
		return []string{w.opt.Store}
	}
	found, err := w.opt.Agents[0].Find(w.opt.Layout)
	if err != nil {
		return nil
	}
	for _, at := range found {
		paths = append(paths, at.Path)
	}
	return paths
}

// portOf returns the port of the address of a server.
func portOf(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

// A followEnd says why a server is no longer followed.
type followEnd struct {
	address string
	err     error
}

// noServer returns the error that no server is found. other is that of a program of another
// user, if there is one.
func noServer(other error) error {
	if other != nil {
		return usagef("%w: to follow it anyway, name it with --server", other)
	}
	return errNoServer
}

func (w *watcher) sayWaiting(other error) {
	if other != nil {
		w.log.Warn("not followed: name it with --server to follow it anyway", "why", other)
	}
	w.log.Info("no OpenCode server is running; waiting for one to start")
}

// followUntilGone follows a server that was found until it ends.
func (w *watcher) followUntilGone(ctx context.Context, address string) error {
	server, err := w.newServer(address)
	if err != nil {
		return err
	}
	server.Guard(ownSocket)
	server.EndWithServer()
	err = w.follow(ctx, server)
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, live.ErrServerGone):
		w.log.Info("the server has ended", "server", address)
	default:
		w.log.Error("a server is not followed", "server", address, "error", err)
	}
	return err
}

// A follower follows one server. After each connection it looks for the store that the
// server reads: an upgrade of OpenCode moves the sessions to another one.
type follower struct {
	*watcher
	server *live.Server
	group  sync.WaitGroup // of the recoveries

	choosing sync.Mutex // held while the store is looked for
	ended    bool       // guarded by choosing

	mu        sync.Mutex
	store     change.StoreID
	recoverer *recoverer // nil until there is a store
	events    *live.Watch
}

// follow follows a server until the context ends, or as [live.Server.Follow] says. It
// recovers sessions as they break, and after each connection those that broke before. It
// returns when the recoveries are done.
func (w *watcher) follow(ctx context.Context, server *live.Server) error {
	defer server.Close()
	f := &follower{watcher: w, server: server}
	defer f.end()
	w.log.Info("following", "server", server.String())
	connected := make(chan bool, 1)
	defer close(connected)
	f.group.Go(func() { f.recoverMissed(ctx, connected) })
	return server.Follow(ctx, func() {
		sure := f.chooseStore(ctx, true) // before any event is read
		select {
		case <-connected: // it was not noticed yet
		default:
		}
		connected <- sure
	}, f.accept)
}

// end waits for the recoveries that have begun, also if the server is gone.
func (f *follower) end() {
	f.choosing.Lock()
	f.ended = true
	if f.events != nil {
		f.events.Close()
	}
	f.choosing.Unlock()
	f.group.Wait()
}

// accept passes an event to the recoveries of the current store. Without a store there is
// nothing to repair.
func (f *follower) accept(e live.Event) {
	f.mu.Lock()
	events := f.events
	f.mu.Unlock()
	if events != nil {
		events.Accept(e)
	}
}

// recoverMissed recovers, after each connection, the sessions that broke before, until there
// are no more connections. While it is not sure which store the server reads, it looks for
// that again.
func (f *follower) recoverMissed(ctx context.Context, connected <-chan bool) {
	wait := &backoff.ExponentialBackOff{InitialInterval: 5 * time.Second, MaxInterval: 5 * time.Minute, Multiplier: 2}
	again := time.NewTimer(0)
	again.Stop()
	defer again.Stop()
	for {
		var sure, open bool
		select {
		case sure, open = <-connected:
			if !open {
				return
			}
			wait.Reset()
		case <-again.C:
			sure = f.chooseStore(ctx, false)
		case <-ctx.Done():
			return
		}
		f.mu.Lock()
		r := f.recoverer
		f.mu.Unlock()
		if r != nil {
			r.recoverMissed(ctx, time.Now(), "")
		}
		if !sure {
			again.Reset(wait.NextBackOff())
		}
	}
}

// chooseStore looks for the store that the server reads, and reports whether it is found.
// If it is not, that is logged with a new connection. Recoveries in another store go on
// until they are done.
func (f *follower) chooseStore(ctx context.Context, connected bool) (sure bool) {
	f.choosing.Lock()
	defer f.choosing.Unlock()
	if f.ended {
		return false
	}
	log := f.log.With("server", f.server.String())
	version, err := f.server.Version(ctx)
	if err != nil {
		version, err = f.server.Version(ctx) // see [probeTimeout]
	}
	if err != nil && connected {
		log.Warn("asking for the agent's version", "error", err)
	}
	o, sure, err := f.findStore(ctx)
	if err == nil {
		err = f.useStore(ctx, o)
	}
	if err != nil {
		if connected && ctx.Err() == nil {
			log.Warn("no store to repair yet", "version", version, "error", err)
		}
		return false
	}
	f.recoverer.hook.SetVersion(version)
	log = log.With("store", f.store.Root)
	if connected || sure {
		log.Info("connected", "version", version)
	}
	if connected && !sure && ctx.Err() == nil {
		log.Warn("errors are only reported until a session of the server is found in the store: check --store")
	}
	return sure
}

// findStore returns the options that open the store that the server reads: the first one
// that shares a session with it, or else an empty one. If there is none of these, sure is
// false, and the options open the first one.
func (f *follower) findStore(ctx context.Context) (o mend.Options, sure bool, err error) {
	candidates := []mend.Options{f.opt}
	if f.opt.Store == "" {
		found, err := f.opt.Agents[0].Find(f.opt.Layout)
		if err != nil {
			return o, false, err
		}
		candidates = candidates[:0]
		for _, at := range found {
			o := f.opt
			o.Store, o.Layout = at.Path, at.Layout
			candidates = append(candidates, o)
		}
	}
	var first, empty *mend.Options
	var unread error
	for i := range candidates {
		c, err := mend.Open(candidates[i])
		var heads []change.Head
		if err == nil {
			heads, err = c.Sessions(ctx)
		}
		if err != nil {
			unread = cmp.Or(unread, err)
			continue
		}
		switch {
		case len(heads) == 0:
			empty = cmp.Or(empty, &candidates[i])
		case f.hook(c).CheckStore(ctx) == nil:
			return candidates[i], true, nil
		}
		first = cmp.Or(first, &candidates[i])
	}
	switch {
	case unread != nil: // the server may read that one
		return o, false, unread
	case empty != nil:
		return *empty, true, nil
	}
	return *first, false, nil
}

// useStore makes the recoveries of later events those of the store.
func (f *follower) useStore(ctx context.Context, o mend.Options) error {
	client, err := f.openWith(f.cmd, o, true)
	if err != nil {
		return err
	}
	if f.recoverer != nil && f.store.Same(client.ID()) {
		return nil
	}
	r := &recoverer{hook: f.hook(client), config: f.config, log: f.log}
	events := live.NewWatch(r.hook)
	f.group.Go(func() { events.Run(ctx) })
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.events != nil {
		f.events.Close()
	}
	f.store, f.recoverer, f.events = client.ID(), r, events
	return nil
}

// hook returns the recoveries of the server's sessions in a store.
func (f *follower) hook(client *mend.Store) *live.Hook {
	o := liveOptions(f.config)
	o.CheckStore = true // a server at this address may read another store
	return newRecoverer(f.server, client, f.config, o, f.log, f.counts).hook
}
