package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
	"golang.org/x/mod/semver"

	"mend/agent"
	"mend/agent/claude"
	"mend/agent/opencode"
	"mend/change"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/termjson"
	"mend/txn"
)

// An app is one run of the command: its terminal, and the flags of every verb.
type app struct {
	terminal
	opt       mend.Options
	asJSON    bool
	command   string         // the verb, as in "plugin install"
	agentName string         // the agent that the user names; "" for all
	answer    map[string]any // of --json, printed at the end
	writeErr  error          // the first failure to write to out
	stdin     *bufio.Reader  // see input
	gitPatch  bool           // patches are in the form of "git diff"
	jsonLines bool           // the answer is the last of several lines

	parsed bool // the command line is valid and the verb runs
	noting sync.Mutex
	noted  map[string]bool // the texts that printNote has printed

	writing sync.RWMutex // locked for reading during a change of the journal or of a store
	changes changes
}

// agents are all supported agents.
var agents = []agent.Agent{opencode.Agent{}, claude.Agent{}}

// root returns the command with all its verbs.
func (a *app) root() *cobra.Command {
	showVersion := false
	root := &cobra.Command{
		Use:   "mend",
		Short: "Repair broken sessions of coding agents, and undo every repair",
		Long: `mend finds sessions of OpenCode and Claude Code that the provider refuses, or that have
lost their past. It explains why, and repairs them with the smallest possible change.
It keeps a journal, so that every repair can be undone.

Run "mend" without a command to see the current status.`,
		Args:          noArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showVersion {
				return a.printVersion()
			}
			a.command = "status"
			return a.status(cmd.Context())
		},
	}
	root.Flags().BoolVarP(&showVersion, "version", "V", false, "print the version")
	root.Flags().BoolVarP(&showVersion, "v", "v", false, "") // as other programs have it
	_ = root.Flags().MarkHidden("v")
	a.opt.Agents = agents
	a.opt.Journal, a.opt.Note = mend.OpenJournal(""), a.printNote
	a.opt.Journal.Version = version()
	a.opt.Journal.Writing = func() func() {
		a.writing.RLock()
		a.changes.open.Store(true)
		return a.writing.RUnlock
	}
	f := root.PersistentFlags()
	f.StringVar(&a.agentName, "agent", "", "only sessions of this `AGENT`: "+agentNames()+" (default: all)")
	f.StringVar(&a.opt.Store, "store", "", "use the session store at `PATH`, or the one that PATH is in (default: auto-detect)")
	f.StringVar(&a.opt.Layout, "layout", "", "use `LAYOUT` for the store: opencode, opencode-0, opencode-state, supercode or sqlite (default: auto-detect)")
	f.StringVar(&a.opt.AgentVersion, "agent-version", "", "check against `VERSION` of the agent (default: the newest found in the store)")
	f.BoolVar(&a.asJSON, "json", false, "print one JSON object")
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { a.printHelp(cmd) })
	root.SetFlagErrorFunc(flagError)
	a.addVerbs(root)
	a.addCompletions(root)
	a.markParsed(root)
	return root
}

// markParsed makes the verb and its subcommands set a.parsed when they run.
func (a *app) markParsed(verb *cobra.Command) {
	if run := verb.RunE; run != nil { // a topic of the help has none
		verb.RunE = func(cmd *cobra.Command, args []string) error {
			a.parsed, a.command = true, commandName(cmd)
			a.opt.Journal.Context = cmd.Context()
			a.opt.Journal.Unlocked, _ = cmd.Flags().GetBool("dry-run")
			if err := a.selectAgent(); err != nil {
				return err
			}
			a.opt.Journal.Actor = change.Actor{Channel: a.channel(), Verb: a.command}
			return run(cmd, args)
		}
	}
	for _, cmd := range verb.Commands() {
		a.markParsed(cmd)
	}
}

// channel returns how this mend was started.
func (a *app) channel() change.Channel {
	switch {
	case a.command == "watch":
		return change.ChannelWatch
	case a.command == "hook" && a.isClaude():
		return change.ChannelHook
	case a.command == "hook":
		return change.ChannelPlugin
	}
	return change.ChannelCommand
}

// report prints the error unless that was done, prints the JSON answer, and returns the exit
// code.
func (a *app) report(err error) int {
	if err != nil && !a.parsed {
		err = asUsageError(err)
	}
	var already *reportedError
	printed := errors.Is(err, errProblems) || errors.As(err, &already)
	if a.asJSON {
		a.printAnswer(err)
	} else if err != nil && !printed {
		a.printError(err)
	}
	if a.writeErr != nil && (err == nil || printed) {
		lost := fmt.Errorf("writing the answer: %w", a.writeErr)
		a.printError(lost)
		err = fail.Worst(err, lost)
	}
	return exitCode(err)
}

// printAnswer writes the object of a JSON answer, including the error if there is one.
func (a *app) printAnswer(err error) {
	answer := a.newAnswer()
	maps.Copy(answer, a.answer)
	if err != nil && !errors.Is(err, errProblems) {
		answer["error"] = a.errorJSON(err)
	}
	var conflict *change.ConflictError
	if errors.As(err, &conflict) {
		answer["conflicts"] = conflictsJSON(conflict.Conflicts)
	}
	marshal := termjson.MarshalIndent
	if a.jsonLines {
		marshal = termjson.Marshal
	}
	text, err := marshal(answer)
	if err != nil {
		a.writeErr = err
		return
	}
	_, _ = a.Write(append(text, '\n')) // a.writeErr keeps it
}

// errorJSON returns an error as a JSON answer has it.
func (a *app) errorJSON(err error) map[string]string {
	return map[string]string{"code": codeName(exitCode(err)), "message": err.Error(), "hint": a.hint(err)}
}

// newAnswer returns the members that every JSON answer has.
func (a *app) newAnswer() map[string]any {
	return map[string]any{"schemaVersion": schemaVersion, "command": a.command}
}

// setAnswer sets a member of the JSON answer.
func (a *app) setAnswer(name string, v any) {
	if a.answer == nil {
		a.answer = map[string]any{}
	}
	a.answer[name] = v
}

// Write writes to standard output and keeps the first error, except a closed pipe.
func (a *app) Write(b []byte) (int, error) {
	n, err := a.out.Write(b)
	a.setWriteErr(err)
	return n, err
}

// setWriteErr keeps the first error of standard output.
func (a *app) setWriteErr(err error) {
	if err != nil && a.writeErr == nil && !errors.Is(err, syscall.EPIPE) {
		a.writeErr = err
	}
}

// printError prints an error and its hint on stderr.
func (a *app) printError(err error) {
	a.printMessage(bad("mend:"), escape(err.Error()))
	if h := a.hint(err); h != "" {
		a.printMessage("     ", faint(escape(h)))
	}
}

// printMessage prints a text on stderr after a label. On a terminal it wraps the text, and further
// lines begin below the first.
func (a *app) printMessage(label, text string) {
	if a.errWidth > 0 {
		text = indentWrapped(text, ansi.StringWidth(label)+1, a.errWidth)
	}
	fmt.Fprintf(a.err, "%s %s\n", label, text)
}

// noteSkipped reports that something is not examined while the verb goes on: in a note, and in the
// JSON answer, each once.
func (a *app) noteSkipped(err error) {
	a.printNote(err.Error())
	skipped, _ := a.answer["skipped"].([]map[string]string)
	if e := a.errorJSON(err); !slices.ContainsFunc(skipped, func(s map[string]string) bool { return maps.Equal(s, e) }) {
		a.setAnswer("skipped", append(skipped, e))
	}
}

// printNote prints a note on stderr, each text once.
func (a *app) printNote(text string) {
	a.noting.Lock()
	defer a.noting.Unlock()
	if !a.noted[text] {
		a.printMessage(warn("note:"), escape(text))
	}
	if a.noted == nil {
		a.noted = map[string]bool{}
	}
	a.noted[text] = true
}

// bufferOutput buffers standard output until the returned function is called.
func (a *app) bufferOutput() (end func()) {
	out := a.out
	w := bufio.NewWriterSize(out, 64<<10)
	a.out = w
	return func() {
		a.out = out
		a.setWriteErr(w.Flush())
	}
}

// printf writes to standard output, except in JSON mode.
func (a *app) printf(format string, args ...any) {
	if !a.asJSON {
		fmt.Fprintf(a, format, args...)
	}
}

// open opens the store of the first agent that has one. For a verb that writes it first
// recovers pending repairs.
func (a *app) open(cmd *cobra.Command, write bool) (*mend.Store, error) {
	return a.openWith(cmd, a.opt, write)
}

// openWith is open with other options.
func (a *app) openWith(cmd *cobra.Command, o mend.Options, write bool) (*mend.Store, error) {
	if write && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(10) // memory is dearer here than time: less of it is garbage
	}
	c, err := mend.Open(o)
	if err != nil {
		return nil, err
	}
	if v := a.opt.AgentVersion; v != "" && !semver.IsValid("v"+v) {
		return nil, usagef("--agent-version %s: want a version such as 1.1.53", v)
	}
	a.warnAbandoned(c)
	if !write {
		a.warnPending(cmd.Context(), c)
		return c, nil
	}
	done, err := c.Recover(cmd.Context())
	for _, e := range done {
		fmt.Fprintf(a.err, "Recovered the pending repair %s: %s.\n", e.ID, e.State)
		if e.State == change.Conflicted {
			a.printMessage("     ", faint(resolveHint(e.ID)))
		}
	}
	if left, ok := errors.AsType[txn.UndecidedError](err); ok { // a plan for these records fails
		for _, e := range left {
			a.printPending(e.Entry)
		}
		err = nil
	}
	return c, err
}

// warnPending reports pending repairs. Verbs that only read do not recover them, and work even
// if the journal cannot be read.
func (a *app) warnPending(ctx context.Context, c *mend.Store) {
	pending, err := c.Pending(ctx)
	if err != nil {
		a.printError(err)
	}
	for _, e := range pending {
		a.printPending(e)
	}
}

func (a *app) printPending(e change.Entry) {
	a.printMessage(warn("mend:"), fmt.Sprintf("repair %s is pending: %s", e.ID, a.withStore(`run "mend recover"`)))
}

// warnAbandoned reports staged changes that belong to no entry of this journal.
func (a *app) warnAbandoned(c *mend.Store) {
	found, _ := c.Abandoned() // a verb that needs the journal or the store reports the error
	for _, path := range found {
		a.printMessage(warn("mend:"), escape(path)+" belongs to a change of another journal: another mend is running, or one was interrupted and its journal is lost. mend does not touch it")
	}
}

// resolveHint returns the hint for a conflict.
func resolveHint(id string) string {
	return fmt.Sprintf("another program changed its records: \"mend show %[1]s\" shows them, \"mend resolve %[1]s\" resolves the conflict", id)
}
