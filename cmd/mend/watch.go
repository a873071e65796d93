package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"mend"
	"mend/config"
	"mend/internal/termjson"
	"mend/live"
)

var _ live.Repairer = (*mend.Client)(nil)

func (a *app) watchVerb() *cobra.Command {
	var server string
	var set []string
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Follow a running OpenCode server, and repair sessions as they break",
		Long: `Watch follows the events of a running OpenCode server. When the provider refuses a
session, watch repairs the stored session with a journal entry, and shows a
notification; your next prompt works. It sends prompts for you only if "autoResume"
is on (see "mend config").

Without --server it follows only a server that runs as the same user. It acts on a
session only if the server and the store have the same newest messages of it; errors
of another store are only reported. It uses no proxy and follows no redirect.

The password comes from $OPENCODE_SERVER_PASSWORD. Press Ctrl-C to end it.`,
		Example: `  mend watch                       follow the server that runs here
  mend watch --server http://127.0.0.1:4096 --set autoResume=true`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadSettings(set)
			if err != nil {
				return err
			}
			if !c.Enabled {
				return errDisabled
			}
			return a.watch(cmd, server, c)
		},
	}
	cmd.Flags().StringVar(&server, "server", "", "the `URL` of the server (default: auto-detect)")
	setFlag(cmd, &set)
	return cmd
}

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func (a *app) watch(cmd *cobra.Command, address string, c config.Config) error {
	ctx := cmd.Context()
	log := a.logger(c.Debug)
	named := address != ""
	address, err := a.serverAddress(ctx, address)
	if err != nil {
		return err
	}
	server, err := live.NewServer(address, os.Getenv("OPENCODE_SERVER_USERNAME"), os.Getenv("OPENCODE_SERVER_PASSWORD"), log)
	if err != nil {
		return usagef("--server: %w", err)
	}
	defer server.Close()
	if !named {
		server.Guard(ownSocket)
	}
	client, err := a.open(cmd, true)
	if err != nil {
		return err
	}
	journal, err := a.opt.JournalDir()
	if err != nil {
		return err
	}
	log.Info("watching", "server", server.String(), "store", client.Store().Root)
	counts := newRecoveryCounter(journal)
	o := liveOptions(c)
	o.CheckStore = true // a server at this address may read another store
	h := newRecoverer(server, client, c, o, log, counts)
	err = a.follow(ctx, server, h)
	a.setAnswer("recoveries", counts.sinceStart())
	return err
}

// logger returns the log of a long-running verb: text, or JSON with --json.
func (a *app) logger(debug bool) *slog.Logger {
	if a.asJSON {
		return slog.New(slog.NewJSONHandler(termjson.NewWriter(a.err), logOptions(debug)))
	}
	return slog.New(slog.NewTextHandler(a.err, logOptions(debug)))
}

func logOptions(debug bool) *slog.HandlerOptions {
	if debug {
		return &slog.HandlerOptions{Level: slog.LevelDebug}
	}
	return &slog.HandlerOptions{Level: slog.LevelInfo}
}

// A recoverer recovers the sessions of one agent according to the settings.
type recoverer struct {
	hook   *live.Hook
	config config.Config
	log    *slog.Logger

	journal string // the folder of the journal; "" for watch
}

func newRecoverer(agent live.Agent, client *mend.Client, c config.Config, o live.Options, log *slog.Logger, counts *recoveryCounter) *recoverer {
	o.Log, o.Count = log, counts.add(log)
	return &recoverer{hook: live.New(agent, client, o), config: c, log: log}
}

// follow passes the events of the server to the hook until the context ends. After each
// connection it also recovers sessions that broke before.
func (a *app) follow(ctx context.Context, server *live.Server, h *recoverer) error {
	w := live.NewWatch(h.hook)
	var group sync.WaitGroup
	defer group.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group.Go(func() { w.Run(ctx) })
	group.Go(func() { a.gcDaily(ctx, h.config.RetentionDays, h.log) })
	connected := make(chan struct{}, 1)
	group.Go(func() {
		for {
			select {
			case <-connected:
				h.onConnect(ctx, server)
			case <-ctx.Done():
				return
			}
		}
	})
	return server.Follow(ctx, func() {
		select {
		case connected <- struct{}{}:
		default: // a recovery is already due
		}
	}, w.Accept)
}

// onConnect runs after each connection to the event stream.
func (h *recoverer) onConnect(ctx context.Context, server *live.Server) {
	listening := time.Now()
	version, err := server.Version(ctx)
	if err != nil {
		h.log.Warn("asking for the agent's version", "error", err)
	}
	h.hook.SetVersion(version)
	h.log.Info("connected", "version", version)
	if err := h.hook.CheckStore(ctx); err != nil && ctx.Err() == nil {
		h.log.Warn("errors are only reported until a session of the server is found in the store: check --store", "error", err)
	}
	h.recoverMissed(ctx, listening, "")
}

// recoverMissed recovers sessions that broke before listening, in one directory or, for
// "", in all.
func (h *recoverer) recoverMissed(ctx context.Context, listening time.Time, directory string) {
	if h.config.LookBackHours == 0 {
		return
	}
	since := time.Now().Add(-time.Duration(h.config.LookBackHours) * time.Hour)
	if err := h.hook.RecoverMissed(ctx, since, listening, directory); err != nil && ctx.Err() == nil {
		h.log.Warn("looking for sessions that broke before", "error", err)
	}
}

// gcDaily deletes images from the journal that are older than days, once a day. It does
// nothing if days is 0.
func (a *app) gcDaily(ctx context.Context, days int, log *slog.Logger) {
	if days == 0 {
		return
	}
	for day := time.NewTicker(24 * time.Hour); ; {
		freed, err := a.opt.GC(ctx, time.Now().AddDate(0, 0, -days))
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

// serverAddress returns the given address or, if it is "", that of the only server on
// this machine.
func (a *app) serverAddress(ctx context.Context, given string) (string, error) {
	if given != "" {
		return given, nil
	}
	found, other := findServers(ctx)
	switch len(found) {
	case 0:
		if other != nil {
			return "", usagef("%w: to follow it anyway, name it with --server", other)
		}
		return "", errNoServer
	case 1:
		return found[0], nil
	}
	return "", usagef("several OpenCode servers are running: %v; name one with --server", found)
}

var (
	errNoServer = &usageError{err: errors.New("no running OpenCode server found: start one with \"opencode serve\", name it with --server URL, or use \"mend plugin install\"")}
	errDisabled = errors.New("live repair is off: the setting \"enabled\" is false")
)
