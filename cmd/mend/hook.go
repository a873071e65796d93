package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"mend"
	"mend/internal/ownfile"
	"mend/live"
)

func (a *app) hookVerb() *cobra.Command {
	var set []string
	cmd := &cobra.Command{
		Use:    "hook",
		Hidden: true, // the plugin starts it
		Short:  "Repair sessions for the OpenCode plugin, which starts this",
		Long: `Hook serves the plugin that "mend plugin install" writes: one JSON object a line on
standard input and output (docs/plugin-protocol.md). It exits when its input closes.
Its log is hook.log, next to the journal.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.hook(cmd, set) },
	}
	setFlag(cmd, &set)
	return cmd
}

// byeTimeout is how long the plugin may take to read bye.
const byeTimeout = 2 * time.Second

// hook serves one plugin. On a setup error it sends bye with the reason, so that the
// plugin does not restart it.
func (a *app) hook(cmd *cobra.Command, set []string) error {
	a.asJSON = false // standard output carries the protocol
	// A write to an agent that has ended must not kill mend, because lines of the agent
	// may be unread and a recovery may be running.
	signal.Ignore(syscall.SIGPIPE)
	ctx := cmd.Context()
	pipe, lines := live.NewPipe(a.out), live.NewLineReader(a.in)
	hello, err := pipe.Handshake(ctx, lines, a.opt.Version)
	if err != nil {
		return err
	}
	h, err := a.openRecoverer(ctx, pipe, set)
	if err != nil {
		ctx, cancel := context.WithTimeout(ctx, byeTimeout)
		defer cancel()
		return errors.Join(err, pipe.Bye(ctx, err.Error()))
	}
	return h.serve(ctx, pipe, lines, hello)
}

// openRecoverer returns a recoverer for the agent. It also recovers pending repairs of
// the journal.
func (a *app) openRecoverer(ctx context.Context, agent live.Agent, set []string) (*recoverer, error) {
	c, err := loadSettings(set)
	if err != nil {
		return nil, err
	}
	if !c.Enabled {
		return nil, errDisabled
	}
	client, err := mend.Open(a.opt)
	if err != nil {
		return nil, err
	}
	journal, err := a.opt.JournalDir()
	if err != nil {
		return nil, err
	}
	log, err := openHookLog(journal, c.Debug)
	if err != nil {
		return nil, err
	}
	if _, err := client.Recover(ctx); err != nil {
		log.Error("recovering interrupted repairs", "error", err)
	}
	h := newRecoverer(agent, client, c, liveOptions(c), log, newRecoveryCounter(journal))
	h.journal = journal
	return h, nil
}

// maxCatchUp limits the time for the recovery of missed and of unreported errors, each.
const maxCatchUp = time.Minute

// serve passes the events of the plugin to the hook until they end, and returns when
// all recoveries are done.
func (h *recoverer) serve(ctx context.Context, pipe *live.Pipe, lines *live.LineReader, hello live.Hello) error {
	h.log.Info(logServing, "directory", hello.Directory, "plugin", hello.Plugin)
	w := live.NewWatch(h.hook)
	var work sync.WaitGroup
	work.Go(func() { w.Run(ctx) })
	work.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, maxCatchUp)
		defer cancel()
		h.recoverMissed(ctx, hello.Since, hello.Directory)
	})
	ended := make(chan error, 1)
	answer := h.preflight(ctx, pipe)
	go func() { ended <- pipe.Serve(ctx, lines, w.Accept, answer) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done(): // the read from the plugin ends with the program
		err = ctx.Err()
	}
	w.Close()
	work.Wait()
	h.recoverUnreported(ctx, w, hello.Since)
	h.log.Info(logEnded, "error", err)
	return err
}

// recoverUnreported recovers sessions whose errors the agent did not report.
func (h *recoverer) recoverUnreported(ctx context.Context, w *live.Watch, since time.Time) {
	ctx, cancel := context.WithTimeout(ctx, maxCatchUp)
	defer cancel()
	if err := w.RecoverUnreported(ctx, since); err != nil && ctx.Err() == nil {
		h.log.Warn("looking for sessions that broke unreported", "error", err)
	}
}

// maxHookLog is the size in bytes at which the log is rotated. One old log is kept.
const maxHookLog = 1 << 20

// openHookLog opens the log of hook in dir, which it creates if necessary. Several hooks
// may write to the log.
func openHookLog(dir string, debug bool) (*slog.Logger, error) {
	path := filepath.Join(dir, "hook.log")
	if err := ownfile.MakeDir(dir); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() > maxHookLog {
		if err := errors.Join(ownfile.Check(path), ownfile.Check(path+".1")); err != nil {
			return nil, err
		}
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, err
		}
	}
	f, err := ownfile.Open(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY)
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	return slog.New(slog.NewTextHandler(f, logOptions(debug))).With("pid", os.Getpid()), nil
}
