package main

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mend/change"
	"mend/internal/term"
	"mend/journal"
	"mend/repair"
)

// completionVerb replaces cobra's, which exits with 0 for a shell that it does not know.
func completionVerb(env *environment) *cobra.Command {
	scripts := map[string]func(root *cobra.Command, w io.Writer) error{
		"bash":       func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"zsh":        (*cobra.Command).GenZshCompletion,
		"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
		"powershell": (*cobra.Command).GenPowerShellCompletionWithDesc,
	}
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion " + strings.Join(shells, "|"),
		Short: "Print the script that completes commands in your shell",
		Long: `Print the script that completes commands, flags, sessions and repairs in your shell.
To load it in every new shell:

  bash        mend completion bash > ~/.local/share/bash-completion/completions/mend
  zsh         mend completion zsh > "${fpath[1]}/_mend"
  fish        mend completion fish > ~/.config/fish/completions/mend.fish
  powershell  mend completion powershell >> $PROFILE`,
		Args:      oneArg("shell"),
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			write, ok := scripts[args[0]]
			if !ok {
				return usagef("no completion for %q; there are %s", args[0], strings.Join(shells, ", "))
			}
			var script strings.Builder
			if err := write(cmd.Root(), &script); err != nil {
				return err
			}
			env.setAnswers(completionAnswer{script.String()})
			env.Printf("%s", script.String())
			return nil
		},
	}
}

type completionAnswer struct {
	Script string `json:"script,omitempty"`
}

// The limits of a completion, because a user waits for it.
const (
	completionTimeout = time.Second
	maxCompletions    = 500
)

// completions returns the candidates for an argument or for the value of a flag, from the stores and the
// journal. It writes nothing, and skips what cannot be read.
type completions func(ctx context.Context, env *environment, args []string) []cobra.Completion

// argumentCompletions has the candidates for the arguments of verbs, in order; the last are for all further
// arguments.
var argumentCompletions = map[string][]completions{
	"scan":    {completeSessions},
	"keep":    {completeSessions},
	"fix":     {completeSessions, nil},
	"repair":  {completeSessions, nil},
	"restore": {completeSessions, nil},
	"undo":    {repairCompletions(undoable), nil},
	"redo":    {repairCompletions(undone), nil},
	"show":    {completeRepairs, nil},
	"resolve": {repairCompletions(conflicted), nil},
	"forget":  {completeSessionsAndRepairs, nil},
	"report":  {completeSessions, nil},
}

// flagCompletions has the candidates for flags whose values users cannot know. The help lists the values of
// other flags, or they are files.
var flagCompletions = map[string]completions{"session": completeSessions, "class": completeClasses, "store": completeStores}

// addCompletions completes the arguments and the values of flags of a command and its subcommands.
func addCompletions(env *environment, cmd *cobra.Command) {
	if cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 {
		positions := argumentCompletions[cmd.Name()]
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(positions) == 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return candidates(cmd, env, positions[min(len(args), len(positions)-1)], args, start, "")
		}
	}
	addFlag := func(f *pflag.Flag) {
		if _, exists := cmd.GetFlagCompletionFunc(f.Name); exists || f.Value.Type() == "bool" || f.Name == "output" || f.Name == "error" || f.Name == "folder" {
			return // the last three arguments are files
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
			before := "" // the elements of a list before the one to complete
			if i := strings.LastIndexByte(start, ','); f.Value.Type() == "stringSlice" && i >= 0 {
				before, start = start[:i+1], start[i+1:]
			}
			return candidates(cmd, env, flagCompletions[f.Name], args, start, before)
		})
	}
	cmd.LocalNonPersistentFlags().VisitAll(addFlag)
	cmd.PersistentFlags().VisitAll(addFlag)
	for _, sub := range cmd.Commands() {
		addCompletions(env, sub)
	}
}

// candidates returns the candidates that begin with start, each prefixed by before. If there are none, the
// shell completes nothing, not even files.
func candidates(cmd *cobra.Command, env *environment, found completions, args []string, start, before string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	if found == nil {
		return nil, directive
	}
	env.command = commandName(cmd)
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	all := slices.DeleteFunc(found(ctx, env, args), func(c cobra.Completion) bool {
		return !strings.HasPrefix(c, start) || start == "" && strings.Contains(c, "\t"+titleOfSession) // ids come with their titles
	})
	all = all[:min(len(all), maxCompletions)]
	for i := range all {
		all[i] = before + all[i]
	}
	return all, directive
}

func completeClasses(_ context.Context, env *environment, _ []string) (all []cobra.Completion) {
	for _, c := range env.opt.Agents.Classes() {
		all = append(all, cobra.CompletionWithDesc(string(c), term.FirstSentence(repair.ExplainClass(c).Meaning)))
	}
	return all
}

// titleOfSession begins the description of a title.
const titleOfSession = "title of "

// completeSessions returns the sessions with their titles, the newest first, then the titles. It prints no notes.
func completeSessions(ctx context.Context, env *environment, _ []string) (all []cobra.Completion) {
	quiet := environment{Terminal: &term.Terminal{Out: io.Discard, Err: io.Discard}, opt: env.opt, agentName: env.agentName, command: env.command}
	quiet.opt.Note = nil
	named, _, _ := namedSessions(ctx, &quiet, alsoNamed[env.command])
	for _, h := range named {
		all = append(all, cobra.CompletionWithDesc(h.ID, cmp.Or(term.OneLine(h.Title, 60), h.Directory)))
	}
	for _, h := range named {
		if title := strings.TrimSpace(h.Title); title != "" && term.OneLine(title, len(title)) == title {
			all = append(all, cobra.CompletionWithDesc(title, titleOfSession+h.ID))
		}
	}
	return all
}

func undoable(e change.Entry) bool {
	return e.State == change.Committed && e.UndoneBy == "" && !e.Forgotten && !e.IsUndo()
}

func undone(e change.Entry) bool     { return e.UndoneBy != "" && !e.Forgotten }
func conflicted(e change.Entry) bool { return e.State == change.Conflicted }

// completeRepairs returns all repairs, the newest first.
func completeRepairs(ctx context.Context, env *environment, args []string) []cobra.Completion {
	return repairCompletions(func(change.Entry) bool { return true })(ctx, env, args)
}

// repairCompletions returns the repairs for which fits holds, the newest first.
func repairCompletions(fits func(change.Entry) bool) completions {
	return func(_ context.Context, env *environment, _ []string) (all []cobra.Completion) {
		es, _ := env.opt.Journal.Log(journal.Query{})
		for _, e := range es {
			if fits(e) {
				all = append(all, cobra.CompletionWithDesc(e.ID, causeText(e)+" of "+entryTitle(e)+", "+term.Age(time.Since(e.Time))))
			}
		}
		return all
	}
}

func completeSessionsAndRepairs(ctx context.Context, env *environment, args []string) []cobra.Completion {
	return append(completeSessions(ctx, env, args), completeRepairs(ctx, env, args)...)
}

func completeStores(_ context.Context, env *environment, _ []string) (all []cobra.Completion) {
	for _, st := range env.opt.Agents.Stores() {
		all = append(all, cobra.CompletionWithDesc(st.Path, st.Layout))
	}
	return all
}
