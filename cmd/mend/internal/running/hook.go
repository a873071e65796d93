package running

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"mend/agent"
	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/internal/fail"
	"mend/internal/hooks"
	"mend/internal/live"
	"mend/internal/mend"
	"mend/internal/ownfile"
	"mend/internal/term"
	"mend/internal/termjson"
	"mend/internal/unattended"
	"mend/internal/watch"
	"mend/repair"
)

// Hook returns the verb hook.
func Hook(env *frame.Env) *cobra.Command {
	var set []string
	var repairs, keep bool
	cmd := &cobra.Command{
		Use:    "hook",
		Hidden: true, // the plugin starts it
		Short:  "Repair sessions for the OpenCode plugin, which starts this",
		Long: `Hook serves the plugin that "mend install" writes: one JSON object per line on
standard input and output (docs/plugin-protocol.md). It exits when its input closes.
Its log is hook.log, next to the journal.

With --agent claude or codex it is a hook of that agent: it reads one JSON object, and prints
one if it has something to report (docs/claude-code.md, docs/codex.md).`,
		Args: frame.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if in := eventInstaller(env); in != nil {
				env.Opt.Journal.Actor.Channel = change.ChannelHook
				return eventHook(cmd.Context(), env, in, repairs, keep)
			}
			env.Opt.Journal.Actor.Channel = change.ChannelPlugin
			return runHook(cmd.Context(), env, set)
		},
	}
	frame.SetFlag(cmd, &set)
	cmd.Flags().BoolVar(&repairs, "repair", false, "with --agent claude: repair the session")
	cmd.Flags().BoolVar(&keep, "keep", false, "with --agent claude or codex: copy the session")
	return cmd
}

// eventInstaller returns the installer of an agent that starts mend for each event, nil for an agent that mend serves
// until the agent ends.
func eventInstaller(env *frame.Env) agent.Installer {
	if in := env.Opt.Agents[0].Installer(); in != nil && in.Installation().Deadline > 0 {
		return in
	}
	return nil
}

// byeTimeout is how long mend waits for the plugin to read the message bye.
const byeTimeout = 2 * time.Second

// runHook serves one plugin. On a setup error it sends bye with the reason, so that the plugin does not
// restart it.
func runHook(ctx context.Context, env *frame.Env, set []string) error {
	env.JSON = false // standard output carries the protocol
	// A write to an agent that has ended must not kill mend: some of its lines may be unread, and a recovery may be
	// running.
	signal.Ignore(syscall.SIGPIPE)
	pipe, lines := live.NewPipe(env.Out), live.NewLineReader(env.In)
	hello, err := pipe.Handshake(ctx, lines, env.Opt.Journal.Version)
	if errors.Is(err, io.EOF) {
		return fail.New(fail.Usage, "\"mend install\" writes the plugin that starts it", "hook got no input: it expects JSON lines from the plugin")
	}
	if err != nil {
		return err
	}
	h, err := openRecoverer(ctx, env, pipe, set)
	if err != nil {
		ctx, cancel := context.WithTimeout(ctx, byeTimeout)
		defer cancel()
		return errors.Join(err, pipe.Bye(ctx, err.Error()))
	}
	if lock, err := lockLive(env, hookLock, true); err == nil { // without the lock, status does not show this hook
		defer func() { _ = lock.Close() }()
	}
	return h.serve(ctx, pipe, lines, hello)
}

// openRecoverer returns a recoverer for the agent. It also recovers pending repairs of
// the journal.
func openRecoverer(ctx context.Context, env *frame.Env, pipe *live.Pipe, set []string) (*recoverer, error) {
	c, notes, err := frame.LoadLiveSettings(set)
	if err != nil {
		return nil, err
	}
	if !c.Enabled {
		return nil, errDisabled
	}
	client, err := mend.Open(env.Opt)
	if err == nil {
		err = client.Changeable(ctx)
	}
	if err != nil {
		return nil, err
	}
	log, err := openHookLog(env)
	if err != nil {
		return nil, err
	}
	if _, err := client.Recover(ctx, false); err != nil {
		log.Error("recovering interrupted repairs", "error", err)
	}
	logNotes(log, notes)
	return newRecoverer(pipe, env.Opt.Journal, client, c, log), nil
}

const (
	maxCatchUp = time.Minute // for the work after the agent has ended
	storePoll  = time.Second // between two reads of the store's stamp
	storeQuiet = time.Second // without a change before a session is examined
)

// serve passes the plugin's events to the hook until they end. It returns when all recoveries are done.
func (h *recoverer) serve(ctx context.Context, pipe *live.Pipe, lines *live.LineReader, hello live.Hello) error {
	h.log.Info("serving", "directory", hello.Directory, "plugin", hello.Plugin)
	w := live.NewWatch(h.hook)
	others := hooks.New(w, pipe, otherHooks(h.config, hello.Once))
	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	var work sync.WaitGroup
	work.Go(func() { w.Run(ctx) })
	work.Go(func() { others.Run(watching) })
	work.Go(func() {
		watch.Run(watching, frame.WatchedStore{Store: h.client, Reader: h.client.Reader()}, h.watchOptions(ctx, hello.Directory))
	})
	ended := make(chan error, 1)
	answer := h.questions(ctx, pipe, others)
	go func() {
		handle := func(e live.Event) {
			others.Accept(e)
			w.Accept(e)
			h.copies.accept(ctx, &work, e)
		}
		ended <- pipe.Serve(ctx, lines, handle, answer)
	}()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done(): // the pending read ends with the program
		err = ctx.Err()
	}
	w.Close()
	stopWatching()
	work.Wait()
	late, cancel := context.WithTimeout(ctx, maxCatchUp)
	defer cancel()
	h.lookOnce(late, w)
	h.copies.catchUp(late, hello.Since)
	h.log.Info("ended", "error", err)
	return err
}

// watchOptions returns how the hook follows the store, because not every failure causes an event: a prompt can fail
// before the request, and an agent can store an error when it ends. Sessions of other directories have other hooks.
func (h *recoverer) watchOptions(ctx context.Context, directory string) watch.Options {
	o := watch.Options{Since: lookBack(h.config), Quiet: storeQuiet, Poll: storePoll}
	if state, err := h.client.Reader().State(ctx); err == nil && state.Sum == ([32]byte{}) {
		o.Poll = seconds(h.config.WatchPollSeconds) // without a stamp each poll lists the sessions
	}
	o.Handle = func(ctx context.Context, head change.Head) (again bool) {
		switch {
		case head.Directory != directory:
			return false
		case h.hook.Busy(ctx, head.ID):
			return true
		}
		return errors.Is(h.hook.Look(ctx, live.Situation{Cause: live.Stored, Head: head}).Err, repair.ErrBusy)
	}
	return o
}

// lookOnce examines the sessions that had events: an agent that ends right after an error may not send its last events.
func (h *recoverer) lookOnce(ctx context.Context, w *live.Watch) {
	h.hook.EndAgent()
	for _, id := range w.Sessions() {
		head, err := h.client.Session(ctx, id)
		if err == nil {
			err = h.hook.Look(ctx, live.Situation{Cause: live.Stored, Head: head}).Err
		}
		if err != nil && ctx.Err() == nil {
			h.log.Debug("examining a session that was in use", "session", id, "error", err)
		}
	}
}

// maxHookLog is the size in bytes at which the log is rotated. One old log is kept.
const maxHookLog = 1 << 20

// openHookLog opens the log of hooks beside the journal. Several hooks may write to it.
func openHookLog(env *frame.Env) (*slog.Logger, error) {
	dir, err := env.Opt.Journal.Folder()
	if err == nil {
		err = ownfile.MakeDir(dir)
	}
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "hook.log")
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
	level := slog.LevelInfo
	if on, _ := strconv.ParseBool(os.Getenv("MEND_DEBUG")); on {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(f, &slog.HandlerOptions{Level: level})).With("pid", os.Getpid()), nil
}

// maxEvent is the maximum size of an event in bytes.
const maxEvent = 1 << 20

// eventHook reads an event of an agent, and answers with the state of the session in the form that the agent shows.
// With repair it repairs the session first, as the plugin does before a request. It never returns an error, because
// that could prevent a session from starting.
func eventHook(ctx context.Context, env *frame.Env, in agent.Installer, repair, keep bool) error {
	env.JSON = false
	ctx, cancel := context.WithTimeout(ctx, in.Installation().Deadline)
	defer cancel()
	var writing atomic.Bool
	done := make(chan []byte, 1)
	go func() {
		defer func() { _ = recover() }() // a bug of mend must not break the session
		answer, err := answerEvent(ctx, env, in, repair, keep, &writing)
		if err != nil {
			if log, unlogged := openHookLog(env); unlogged == nil {
				log.Warn("examining a session of "+env.Opt.Agents[0].Title(), "error", err)
			}
		}
		done <- answer
	}()
	var answer []byte
	select {
	case answer = <-done:
	case <-ctx.Done():
		if writing.Load() { // let a change in progress finish
			answer = <-done
		}
	}
	if answer != nil {
		_, _ = env.Write(append(termjson.Escape(answer), '\n')) // WriteError reports an error
	}
	return nil
}

// answerEvent returns the answer to an event, nil for none. It sets writing before it changes a store.
func answerEvent(
	ctx context.Context, env *frame.Env, in agent.Installer, repairs, keep bool, writing *atomic.Bool,
) ([]byte, error) {
	c, _, err := frame.LoadLiveSettings(nil)
	if err != nil || !c.Enabled {
		return nil, err
	}
	data, err := ownfile.ReadAtMost(env.In, maxEvent)
	if err != nil {
		return nil, err
	}
	e, err := in.Event(data)
	if err != nil {
		return nil, err
	}
	o := env.Opt
	o.Agents, o.Note = []agent.Agent{e.Agent}, nil
	client, err := mend.Open(o)
	if err != nil {
		return nil, err
	}
	head, err := client.Reader().SessionAt(ctx, e.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // a new session has no file yet
	}
	if err != nil {
		return nil, err
	}
	if keep && (e.Turn || e.Ended) {
		if log, err := openHookLog(env); err == nil {
			copies := copier{journal: env.Opt.Journal, config: c, log: log, client: client}
			copies.keep(ctx, []change.Head{head}, "turn", false)
		}
	}
	if e.Turn || e.Ended && !repairs {
		return nil, nil
	}
	plan, err := client.ProposeRepair(ctx, head, repair.Request{Force: true})
	if err != nil {
		return nil, err
	}
	why := whyBroken(plan)
	if why == "" || ctx.Err() != nil {
		return nil, ctx.Err()
	}
	broken := func(failed error) ([]byte, error) {
		answer, err := e.Answer(e.Broken(head, why, len(plan.Plan.Ops) > 0))
		return answer, errors.Join(failed, err)
	}
	if !repairs {
		return broken(nil)
	}
	q := live.Question{Version: head.Version, Deadline: in.Installation().Deadline, Begin: func(context.Context) (bool, error) {
		writing.Store(ctx.Err() == nil)
		return ctx.Err() == nil, nil
	}}
	h := live.New(nil, unattended.New(client), liveOptions(c))
	v := h.Look(context.WithoutCancel(ctx), live.Situation{Cause: live.AtStart, Head: head, Question: q})
	switch {
	case e.Ended:
		return nil, v.Err
	case v.Entry == "":
		return broken(v.Err)
	}
	return e.Answer(e.Repaired(head, why, v.Entry))
}

// whyBroken describes what a user notices about a broken session, "" for nothing.
func whyBroken(r repair.Result) string {
	var all []string
	for _, d := range slices.Concat(r.Fixed, r.Remaining) {
		if d.Severity == repair.Broken {
			all = append(all, string(term.Escape(d.Why))) // the agent prints it
		}
	}
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	lost := ""
	if r.Added > 0 {
		lost = fmt.Sprintf("It lost %d of %d blocks. ", r.Added, r.SentAfter)
	}
	return fmt.Sprintf("%s%s And %s.", lost, all[0], term.Count(len(all)-1, "more problem"))
}
