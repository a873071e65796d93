package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"mend/agent"
	"mend/agent/opencode"
	"mend/internal/config"
	"mend/internal/fail"
	"mend/internal/live"
	"mend/internal/mend"
	"mend/internal/termjson"
	"mend/journal"
)

var _ live.Repairer = (*mend.Store)(nil)

func (a *app) watchVerb() *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Follow running OpenCode servers, and repair sessions as they break",
		Long: `Watch follows the events of running OpenCode servers. When the provider refuses a
session, watch repairs the stored session with a journal entry, and shows a
notification; your next prompt works. It sends prompts for you only if "autoResume"
is on (see "mend config").

Without --server it follows all servers on this machine that run as the same user, and
waits for those that start later. With --server it follows only those, and waits for
them too. It acts on a session only if the server and the store have the same newest
messages of it; errors of another store are only reported. Without --store it uses the
store that the server reads, also after an upgrade of OpenCode. It uses no proxy and
follows no redirect.

The password comes from $OPENCODE_SERVER_PASSWORD. Press Ctrl-C to end it.
"mend watch install" runs it whenever you are logged in.

The plugin ("mend plugin install") needs no server, and repairs a session before the error.`,
		Example: `  mend watch                       follow the servers that run here
  mend watch --server http://127.0.0.1:4096 --set autoResume=true`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, notes, err := loadLiveSettings(f.set)
			if err != nil {
				return err
			}
			if !c.Enabled {
				return errDisabled
			}
			return a.watch(cmd, f, c, notes)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.noWait, "no-wait", false, "exit if no server runs now")
	cmd.AddCommand(a.watchInstallVerb(), a.watchUninstallVerb())
	return cmd
}

// watchFlags are the flags of watch.
type watchFlags struct {
	servers, set []string
	noWait       bool
}

// add adds the flags that an installed watch has too.
func (f *watchFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.servers, "server", nil, "the `URL` of a server; can be given several times (default: auto-detect)")
	setFlag(cmd, &f.set)
}

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func (a *app) watch(cmd *cobra.Command, f watchFlags, c config.Config, notes []string) error {
	journal, err := a.opt.Journal.Folder()
	if err != nil {
		return err
	}
	if err := a.checkWatch(); err != nil {
		return err
	}
	log, err := a.watchLog(journal, c.Debug)
	if err != nil {
		return err
	}
	log.Info(logWatching)
	logNotes(log, notes)
	w := &watcher{app: a, cmd: cmd, config: c, log: log, counts: newRecoveryCounter(journal)}
	w.opt.Agents = []agent.Agent{opencode.Agent{}}
	ctx, cancel := context.WithCancel(cmd.Context())
	var cleaning sync.WaitGroup
	cleaning.Go(func() { a.gcDaily(ctx, c.RetentionDays, w.log) })
	if len(f.servers) > 0 {
		err = w.followNamed(ctx, f.servers)
	} else {
		err = w.followFound(ctx, !f.noWait)
	}
	cancel()
	cleaning.Wait()
	log.Info(logEnded)
	a.setAnswer("recoveries", w.counts.sinceStart())
	return err
}

// watchLog returns the log of watch: that of the terminal, and that of all live repairs, which
// status reads.
func (a *app) watchLog(journal string, debug bool) (*slog.Logger, error) {
	shared, err := openHookLog(journal, debug)
	if err != nil {
		return nil, err
	}
	return slog.New(slog.NewMultiHandler(a.logger(debug).Handler(), shared.Handler())), nil
}

// checkWatch returns an error if no recovery could succeed: the journal, or the store that
// the user names, cannot be used. Without a name the store may come with the server.
func (a *app) checkWatch() error {
	if _, err := a.opt.Journal.Log(journal.Query{Limit: 1}); err != nil {
		return err
	}
	if a.opt.Store == "" {
		return nil
	}
	_, err := mend.Open(a.opt)
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
	client *mend.Store
	config config.Config
	log    *slog.Logger

	journal string // the folder of the journal; "" for watch
}

// logNotes logs what a user should know of the settings.
func logNotes(log *slog.Logger, notes []string) {
	for _, note := range notes {
		log.Info("settings", "note", note)
	}
}

func newRecoverer(agent live.Agent, client *mend.Store, c config.Config, o live.Options, log *slog.Logger, counts *recoveryCounter) *recoverer {
	o.Versions = versionLog{filepath.Dir(counts.path), agentName(client.ID())}
	o.Log, o.Count, o.Claim = log, counts.add(log), claimMessages(filepath.Dir(counts.path), client.ID(), log)
	return &recoverer{hook: live.New(agent, client, o), client: client, config: c, log: log}
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
		freed, err := a.opt.Journal.GC(ctx, time.Now().AddDate(0, 0, -days))
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

var (
	errNoServer       = usagef("no running OpenCode server found: start one with \"opencode serve\", name it with --server URL, or use \"mend plugin install\"")
	errDisabled error = fail.New(fail.Refused, `"mend config" shows where the value comes from`, "live repair is off: the setting \"enabled\" is false")
)
