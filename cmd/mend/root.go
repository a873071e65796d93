package main

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/inspect"
	"mend/cmd/mend/internal/running"
	"mend/internal/mend"
)

func newRoot(env *frame.Env) *cobra.Command {
	showVersion := false
	root := &cobra.Command{
		Use:   "mend",
		Short: "Repair broken sessions of coding agents, and undo every repair",
		Long: `mend repairs sessions of OpenCode, Kilo, Claude Code and Codex, and can undo each change.
Without a command it shows what is broken, and what to do next.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if slices.Equal(args, []string{"status"}) { // its former name
				return nil
			}
			return frame.NoArgs(cmd, args)
		},
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showVersion {
				return printVersion(env)
			}
			env.Command = "status"
			return inspect.RunStatus(cmd.Context(), env, running.State)
		},
	}
	root.Flags().BoolVarP(&showVersion, "version", "V", false, "print the version")
	root.Flags().BoolVarP(&showVersion, "v", "v", false, "") // users of other programs expect it
	_ = root.Flags().MarkHidden("v")
	env.Opt.Agents = agents.All
	env.Opt.Journal, env.Opt.Note = mend.OpenJournal(""), env.Note
	env.Opt.Journal.Version = version()
	env.Opt.Journal.Writing = env.BeginWrite
	f := root.PersistentFlags()
	f.StringVar(&env.AgentName, "agent", "", "only sessions of this `AGENT`: "+agents.Names()+" (default: all)")
	f.StringVar(&env.Opt.Store, "store", "", "use the session store at `PATH`, or the one that contains PATH (default: auto-detect)")
	f.StringVar(&env.Opt.AgentVersion, "agent-version", "", "check against `VERSION` of the agent (default: the newest found in the store)")
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
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { frame.PrintHelp(env, cmd) })
	root.SetFlagErrorFunc(frame.FlagError)
	addVerbs(env, root)
	markParsed(env, root)
	return root
}

// alsoNamed has the verbs that accept sessions that are in no store, with where they look them up.
var alsoNamed = map[string]frame.Sources{
	"restore": {Gone: true},
	"forget":  {Copies: true, Journal: true},
	"log":     {Copies: true, Journal: true},
	"undo":    {Journal: true},
}

// emptyArgs has the verbs that accept an empty argument, with the number of arguments before it.
var emptyArgs = map[string]int{
	"config set": 1, // the value of a setting
	"fix":        0, // a word of a text pasted without quotes; the whole text must not be empty
}

// markParsed wraps a verb and its subcommands with what must happen before each of them runs.
func markParsed(env *frame.Env, verb *cobra.Command) {
	if run := verb.RunE; run != nil { // a help topic has none
		verb.RunE = func(cmd *cobra.Command, args []string) error {
			env.Parsed, env.Command = true, frame.CommandName(cmd)
			env.Also = alsoNamed[env.Command]
			full := args
			if n, ok := emptyArgs[env.Command]; ok {
				full = args[:n]
			}
			if err := frame.RefuseEmpty(cmd, full); err != nil {
				return err
			}
			env.Opt.Journal.Context = cmd.Context()
			env.Opt.Journal.Unlocked, _ = cmd.Flags().GetBool("dry-run")
			if err := env.SelectAgent(); err != nil {
				return err
			}
			env.Opt.Journal.Actor = change.Actor{Channel: change.ChannelCommand, Verb: env.Command}
			return run(cmd, args)
		}
	}
	for _, cmd := range verb.Commands() {
		markParsed(env, cmd)
	}
}
