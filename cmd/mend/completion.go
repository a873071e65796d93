package main

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/inspect"
	"mend/cmd/mend/internal/show"
	"mend/internal/config"
	"mend/internal/term"
	"mend/journal"
)

// completionVerb replaces the verb of cobra, which exits with 0 for an unknown shell.
func completionVerb(env *frame.Env) *cobra.Command {
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
		Args:      cobra.ExactArgs(1),
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			write, ok := scripts[args[0]]
			if !ok {
				return frame.Usagef("no completion for %q: want one of %s", args[0], strings.Join(shells, ", "))
			}
			var script strings.Builder
			if err := write(cmd.Root(), &script); err != nil {
				return err
			}
			env.SetAnswers(completionAnswer{script.String()})
			env.Printf("%s", script.String())
			return nil
		},
	}
}

type completionAnswer struct {
	Script string `json:"script,omitempty"`
}

// argumentCompletions has the candidates for each argument of a verb; the last candidates are for all further
// arguments.
var argumentCompletions = map[string][]completions{
	"config":  {completeSettings},
	"set":     {completeSettings, nil},
	"explain": {inspect.CompleteTopics, nil},
	"scan":    {completeSessions},
	"keep":    {completeSessions},
	"fix":     {completeSessions, nil},
	"restore": {completeSessions, nil},
	"report":  {completeSessions, nil},
	"undo":    {repairCompletions(revertible), nil},
	"recover": {repairCompletions(isConflicted), nil},
	"log":     {completeSessionsAndRepairs, nil},
	"forget":  {completeSessionsAndRepairs, nil},
}

// addCompletions adds the completions of arguments to a command and its subcommands.
func addCompletions(env *frame.Env, cmd *cobra.Command) {
	if cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 {
		positions := argumentCompletions[cmd.Name()]
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(positions) == 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			env.Also = alsoNamed[cmd.Name()]
			return candidates(cmd, env, positions[min(len(args), len(positions)-1)], args, start)
		}
	}
	for _, sub := range cmd.Commands() {
		addCompletions(env, sub)
	}
}

// revertible reports whether undo or undo --redo accepts the entry.
func revertible(e change.Entry) bool { return e.State == change.Committed && !e.Forgotten }

func isConflicted(e change.Entry) bool { return e.State == change.Conflicted }

// repairCompletions completes the ids of the repairs for which accepts returns true, newest first.
func repairCompletions(accepts func(change.Entry) bool) completions {
	return func(_ context.Context, env *frame.Env, _ []string) (all []cobra.Completion) {
		es, _ := env.Opt.Journal.Log(journal.Query{})
		for _, e := range es {
			if accepts(e) {
				all = append(all, cobra.CompletionWithDesc(e.ID, show.CauseText(e)+" of "+show.EntryTitle(e)+", "+term.Age(time.Since(e.Time))))
			}
		}
		return all
	}
}

func completeSessionsAndRepairs(ctx context.Context, env *frame.Env, args []string) []cobra.Completion {
	all := repairCompletions(func(change.Entry) bool { return true })
	return append(completeSessions(ctx, env, args), all(ctx, env, args)...)
}

// The limits of a completion: a user waits for it.
const (
	completionTimeout = time.Second
	maxCompletions    = 500
)

// completions returns the candidates for an argument, from the stores and the journal. It writes nothing, and skips
// what cannot be read.
type completions func(ctx context.Context, env *frame.Env, args []string) []cobra.Completion

// candidates returns the candidates that begin with start. If there are none, the shell does not complete file names
// either.
func candidates(cmd *cobra.Command, env *frame.Env, complete completions, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	if complete == nil {
		return nil, directive
	}
	env.Command = frame.CommandName(cmd)
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	all := slices.DeleteFunc(complete(ctx, env, args), func(c cobra.Completion) bool {
		return !strings.HasPrefix(c, start)
	})
	all = all[:min(len(all), maxCompletions)]
	all = slices.DeleteFunc(all, func(c cobra.Completion) bool {
		name, _, _ := strings.Cut(c, "\t")
		return string(term.Escape(name)) != name // the shell would print control characters
	})
	for i, c := range all {
		name, about, _ := strings.Cut(c, "\t")
		all[i] = cobra.CompletionWithDesc(name, string(term.Escape(about)))
	}
	return all, directive
}

// completeSessions returns the ids of the sessions, the newest first, with their titles. It prints no notes.
func completeSessions(ctx context.Context, env *frame.Env, _ []string) (all []cobra.Completion) {
	quiet := frame.Env{Terminal: &term.Terminal{Out: io.Discard, Err: io.Discard}, Opt: env.Opt, AgentName: env.AgentName, Command: env.Command, Also: env.Also}
	quiet.Opt.Note = nil
	named, _, _ := frame.NamedSessions(ctx, &quiet, env.Also)
	for _, h := range named {
		all = append(all, cobra.CompletionWithDesc(h.ID, cmp.Or(term.OneLine(h.Title, 60), h.Directory)))
	}
	return all
}

// completeSettings returns the keys of all settings.
func completeSettings(context.Context, *frame.Env, []string) (all []cobra.Completion) {
	c := config.Defaults()
	for _, s := range c.Settings() {
		all = append(all, cobra.CompletionWithDesc(s.Key, s.Description))
	}
	return all
}
