package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/mod/semver"

	"mend/agent"
	"mend/agent/claude"
	"mend/agent/codex"
	"mend/agent/opencode"
	"mend/change"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/internal/termjson"
	"mend/journal"
	"mend/txn"
)

// An environment has everything that a verb needs besides its own options: the terminal, the stores and the
// journal of the global flags, and the JSON answer.
type environment struct {
	*term.Terminal
	opt       mend.Options
	agentName string          // the agent that the user names; "" for all
	command   string          // the verb, as in "plugin install"
	parsed    bool            // the command line is valid and the verb runs
	answer    map[string]any  // for --json, printed at the end
	jsonLines bool            // the answer is the last of several JSON lines
	stores    int             // number of stores that [environment.nextStore] has named
	unkept    error           // why the kept copies cannot be used, see [withKept]
	kept      map[string]bool // sessions with a copy; nil until needed

	writing sync.RWMutex // read-locked while the journal or a store is changed
	changes changes
}

// agents are all supported agents.
var agents = []agent.Agent{opencode.Agent{}, claude.Agent{}, codex.Agent{}, opencode.Kilo()}

// newRoot returns the command with all its verbs.
func newRoot(env *environment) *cobra.Command {
	showVersion := false
	root := &cobra.Command{
		Use:   "mend",
		Short: "Repair broken sessions of coding agents, and undo every repair",
		Long: `mend repairs sessions of OpenCode, Kilo, Claude Code and Codex, and can undo each change.
Without a command it shows what is broken, and what to do next.`,
		Args:          noArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showVersion {
				return printVersion(env)
			}
			env.command = "status"
			return runStatus(cmd.Context(), env, liveNow)
		},
	}
	root.Flags().BoolVarP(&showVersion, "version", "V", false, "print the version")
	root.Flags().BoolVarP(&showVersion, "v", "v", false, "") // like other programs
	_ = root.Flags().MarkHidden("v")
	env.opt.Agents = agents
	env.opt.Journal, env.opt.Note = mend.OpenJournal(""), env.Note
	env.opt.Journal.Version = version()
	env.opt.Journal.Writing = env.beginWrite
	f := root.PersistentFlags()
	f.StringVar(&env.agentName, "agent", "", "only sessions of this `AGENT`: "+agentNames()+" (default: all)")
	f.StringVar(&env.opt.Store, "store", "", "use the session store at `PATH`, or the one that PATH is in (default: auto-detect)")
	f.StringVar(&env.opt.Layout, "layout", "", "use `LAYOUT` for the store: opencode (a JSON tree) or sqlite (default: auto-detect)")
	f.StringVar(&env.opt.AgentVersion, "agent-version", "", "check against `VERSION` of the agent (default: the newest found in the store)")
	f.BoolVar(&env.JSON, "json", false, "print one JSON object")
	quiet := false
	f.BoolVarP(&quiet, "quiet", "q", false, "print only errors, and ask nothing: commands that ask need --yes")
	root.PersistentPreRun = func(*cobra.Command, []string) {
		if quiet && !env.JSON {
			env.Out, env.CanAsk, env.CanDraw = io.Discard, false, false
		}
	}
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { printHelp(env, cmd) })
	root.SetFlagErrorFunc(flagError)
	addVerbs(env, root)
	addCompletions(env, root)
	markParsed(env, root)
	return root
}

// markParsed adds to the verb and its subcommands what has to happen before each runs.
func markParsed(env *environment, verb *cobra.Command) {
	if run := verb.RunE; run != nil { // a help topic has none
		verb.RunE = func(cmd *cobra.Command, args []string) error {
			env.parsed, env.command = true, commandName(cmd)
			if err := refuseEmpty(cmd, args); err != nil {
				return err
			}
			env.opt.Journal.Context = cmd.Context()
			env.opt.Journal.Unlocked, _ = cmd.Flags().GetBool("dry-run")
			if err := env.selectAgent(); err != nil {
				return err
			}
			env.opt.Journal.Actor = change.Actor{Channel: change.ChannelCommand, Verb: env.command}
			return run(cmd, args)
		}
	}
	for _, cmd := range verb.Commands() {
		markParsed(env, cmd)
	}
}

// report prints the error unless it was printed, prints the JSON answer, and returns the exit code.
func (env *environment) report(err error) int {
	if err != nil && !env.parsed {
		err = asUsageError(err)
	}
	var already *reportedError
	printed := errors.Is(err, errProblems) || errors.As(err, &already)
	var lost error
	if env.JSON {
		lost = env.printAnswer(err)
	} else if err != nil && !printed {
		env.printError(err)
	}
	if lost = cmp.Or(lost, env.Lost()); lost != nil && (err == nil || printed) {
		lost = fmt.Errorf("writing the answer: %w", lost)
		env.printError(lost)
		err = fail.Worst(err, lost)
	}
	return exitCode(err)
}

// printAnswer writes the JSON answer, including an error.
func (env *environment) printAnswer(err error) error {
	answer := env.newAnswer()
	maps.Copy(answer, env.answer)
	if err != nil && !errors.Is(err, errProblems) {
		answer["error"] = env.errorJSON(err)
	}
	var conflict *change.ConflictError
	if errors.As(err, &conflict) {
		answer["conflicts"] = conflictsJSON(conflict.Conflicts)
	}
	marshal := termjson.MarshalIndent
	if env.jsonLines {
		marshal = termjson.Marshal
	}
	text, err := marshal(answer)
	if err != nil {
		return err
	}
	_, err = env.Write(append(text, '\n'))
	return err
}

// errorJSON returns an error in the form of a JSON answer.
func (env *environment) errorJSON(err error) errorAnswer {
	return errorAnswer{codeName(exitCode(err)), env.hint(err), err.Error()}
}

// An errorAnswer is an error in a JSON answer.
type errorAnswer struct {
	Code    string `json:"code"`
	Hint    string `json:"hint"` // what to do; "" if the message is enough
	Message string `json:"message"`
}

// newAnswer returns the members common to all JSON answers.
func (env *environment) newAnswer() map[string]any {
	return map[string]any{"schemaVersion": schemaVersion, "command": env.command}
}

// setAnswer sets a member of the JSON answer.
func (env *environment) setAnswer(name string, v any) {
	if env.answer == nil {
		env.answer = map[string]any{}
	}
	env.answer[name] = v
}

// answerRepairs makes a list of repairs the whole JSON answer.
func (env *environment) answerRepairs(list []repairJSON) {
	env.answer = map[string]any{"repairs": list}
}

// hasSkipped reports whether [environment.noteSkipped] was called.
func (env *environment) hasSkipped() bool { return env.answer["skipped"] != nil }

// setAnswers sets the members of a struct in the JSON answer: all but those that may be left out and have no value.
func (env *environment) setAnswers(answer any) { env.setMembers(reflect.ValueOf(answer)) }

func (env *environment) setMembers(of reflect.Value) {
	for f, value := range of.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			if value = reflect.Indirect(value); value.IsValid() {
				env.setMembers(value)
			}
		case !f.IsExported():
		case value.IsZero() && value.Kind() != reflect.Bool && !value.CanInt() && strings.Contains(options, "omit"):
		default:
			env.setAnswer(name, value.Interface())
		}
	}
}

// printError prints an error and its hint on stderr.
func (env *environment) printError(err error) {
	env.Message(term.Bad("mend:"), term.Escape(err.Error()))
	if h := env.hint(err); h != "" {
		env.Message("     ", term.Faint(term.Escape(h)))
	}
}

// noteSkipped reports that something is not examined while the verb continues: in a note, and in the JSON
// answer, each once.
func (env *environment) noteSkipped(err error) {
	env.Note(err.Error())
	skipped, _ := env.answer["skipped"].([]errorAnswer)
	if e := env.errorJSON(err); !slices.Contains(skipped, e) {
		env.setAnswer("skipped", append(skipped, e))
	}
}

// openFirst opens the store of the first agent that has one. For a verb that writes it first recovers pending
// repairs.
func openFirst(ctx context.Context, env *environment, write bool) (*mend.Store, error) {
	return openWith(ctx, env, env.opt, write)
}

// openAt opens the store at a path that the user did not name.
func (env *environment) openAt(root string) (*mend.Store, error) {
	o := env.opt
	o.Store, o.Layout = root, ""
	return mend.Open(o)
}

// openWith opens a store with other options.
func openWith(ctx context.Context, env *environment, o mend.Options, write bool) (*mend.Store, error) {
	c, err := mend.Open(o)
	if err == nil {
		_, err = prepare(ctx, env, c, write)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// prepare reports changes that a crash has cut in a store. For a verb that writes it first recovers them. It
// reports whether that changed anything.
func prepare(ctx context.Context, env *environment, c *mend.Store, write bool) (recovered bool, _ error) {
	if garbage := 200; os.Getenv("GOGC") == "" { // a scan has little in memory at a time
		if write {
			garbage = 10 // memory is scarcer here than time
		}
		debug.SetGCPercent(garbage)
	}
	if v := env.opt.AgentVersion; v != "" && !semver.IsValid("v"+v) {
		return false, usagef("--agent-version %s: want a version such as 1.1.53", v)
	}
	warnAbandoned(env.Terminal, env.opt.Journal, c)
	if !write {
		warnPending(ctx, env, c)
		return false, nil
	}
	done, err := c.Recover(ctx, false)
	for _, e := range done {
		env.PrintErr("Recovered the pending repair %s: %s.\n", e.ID, e.State)
		if e.State == change.Conflicted {
			env.Message("     ", term.Faint(resolveHint(e.ID)))
		}
	}
	if left, ok := errors.AsType[txn.UndecidedError](err); ok { // a plan for these records fails later
		for _, e := range left {
			printPending(env, e.Entry)
		}
		err = nil
	}
	return len(done) > 0, err
}

// warnPending reports pending repairs. Verbs that only read do not recover them, and work even if the journal
// cannot be read.
func warnPending(ctx context.Context, env *environment, c *mend.Store) {
	pending, err := c.Log(ctx, journal.Query{State: change.Pending})
	if err != nil {
		env.printError(err)
	}
	for _, e := range pending {
		printPending(env, e)
	}
}

func printPending(env *environment, e change.Entry) {
	env.Message(term.Warn("mend:"), fmt.Sprintf("repair %s is pending: %s", e.ID, env.withStore(`run "mend recover"`)))
}

// warnAbandoned reports staged changes without an entry in this journal.
func warnAbandoned(t *term.Terminal, l *mend.Journal, c *mend.Store) {
	var found []string
	if own, err := l.ID(); err == nil { // otherwise a verb that needs the journal reports the error
		found, _ = c.Reader().Abandoned(own)
	}
	for _, path := range found {
		t.Message(term.Warn("mend:"), term.Escape(path)+" belongs to a change of another journal: another mend is running, or one was interrupted and its journal is lost. mend does not touch it")
	}
}

// resolveHint returns the hint for a conflict.
func resolveHint(id string) string {
	return fmt.Sprintf("another program changed the same places: \"mend log %[1]s\" shows them, \"mend recover %[1]s\" resolves the conflict", id)
}

// paged runs print, and shows its output in the user's pager if standard output is a terminal.
func (env *environment) paged(print func() error) (err error) {
	t := env.Terminal
	t.Page(func(page *term.Terminal) {
		env.Terminal = page
		err = print()
	})
	env.Terminal = t
	return err
}
