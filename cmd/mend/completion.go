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
	"mend/internal/mend"
	"mend/journal"
	"mend/repair"
)

// completionVerb replaces cobra's, which exits with 0 for a shell that it does not know.
func (a *app) completionVerb() *cobra.Command {
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
			a.setAnswer("script", script.String())
			a.printf("%s", script.String())
			return nil
		},
	}
}

// The limits of a completion, for which a user waits.
const (
	completionTimeout = time.Second
	maxCompletions    = 500
)

// completions are the candidates for an argument or for the value of a flag. They are taken
// from the stores and the journal, to which they write nothing. What cannot be read has none.
type completions func(ctx context.Context, args []string) []cobra.Completion

// addCompletions completes the arguments and the flags' values of a command and its
// subcommands.
func (a *app) addCompletions(cmd *cobra.Command) {
	sessions, repairs := a.sessionNames, a.repairIDs
	arguments := map[string][]completions{ // one after the other; the last for all that follow
		"scan": {sessions}, "repair": {sessions, nil},
		"undo":    {repairs(undoable), nil},
		"redo":    {repairs(undone), nil},
		"show":    {repairs(nil), nil},
		"resolve": {repairs(conflicted), nil},
		"forget":  {both(sessions, repairs(nil)), nil},
		"report":  {both(sessions, repairs(nil)), nil},
	}
	flags := map[string]completions{
		"class": a.classNames, "session": sessions, "only": a.recordNames,
		"store":         a.storePaths,
		"agent":         a.agentNames,
		"layout":        words("opencode", "opencode-0", "opencode-state", "supercode", "sqlite"),
		"agent-version": words("1.1.53", "1.2.27", "1.18.33"),
		"thinking":      words("on\tas if the model is asked to think", "off\tas if it is not"),
		"since":         words("1d", "7d", "30d", "12h"),
		"until":         words("1d", "7d", "30d", "12h"),
		"state":         words(logStates...),
		"channel":       words("command", "plugin", "hook", "watch"),
		"rule":          a.ruleNames,
		"actor":         a.actorNames,
		"older-than":    words("30d", "90d", "365d"),
	}
	if cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 {
		cmd.ValidArgsFunction = argumentCompletion(arguments[cmd.Name()])
	}
	addFlag := func(f *pflag.Flag) {
		if _, exists := cmd.GetFlagCompletionFunc(f.Name); exists || f.Value.Type() == "bool" || f.Name == "output" || f.Name == "error" || f.Name == "folder" {
			return // the last three name files
		}
		isList := f.Value.Type() == "stringSlice"
		_ = cmd.RegisterFlagCompletionFunc(f.Name, flagCompletion(flags[f.Name], isList))
	}
	cmd.LocalNonPersistentFlags().VisitAll(addFlag)
	cmd.PersistentFlags().VisitAll(addFlag)
	for _, sub := range cmd.Commands() {
		a.addCompletions(sub)
	}
}

// argumentCompletion completes each argument with the candidates at its position.
func argumentCompletion(positions []completions) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(positions) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found := positions[min(len(args), len(positions)-1)]
		return candidates(cmd, found, args, start, "")
	}
}

// flagCompletion completes the value of a flag; of a list its last element.
func flagCompletion(found completions, isList bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before := ""
		if i := strings.LastIndexByte(start, ','); isList && i >= 0 {
			before, start = start[:i+1], start[i+1:]
		}
		return candidates(cmd, found, args, start, before)
	}
}

// candidates returns those that begin with start, each behind before. Without any the shell
// completes nothing; files are never meant.
func candidates(cmd *cobra.Command, found completions, args []string, start, before string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	if found == nil {
		return nil, directive
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	all := slices.DeleteFunc(found(ctx, args), func(c cobra.Completion) bool { return !strings.HasPrefix(c, start) })
	all = all[:min(len(all), maxCompletions)]
	for i := range all {
		all[i] = before + all[i]
	}
	return all, directive
}

// words returns candidates that are always the same, each with a description behind a tab.
func words(all ...string) completions {
	return func(context.Context, []string) []cobra.Completion { return slices.Clone(all) }
}

func both(a, b completions) completions {
	return func(ctx context.Context, args []string) []cobra.Completion {
		return append(a(ctx, args), b(ctx, args)...)
	}
}

func (a *app) classNames(context.Context, []string) (all []cobra.Completion) {
	for _, c := range a.opt.Agents.Classes() {
		all = append(all, cobra.CompletionWithDesc(string(c), firstSentence(repair.ExplainClass(c).Meaning)))
	}
	return all
}

// quietOptions returns the options of the command line, without notes.
func (a *app) quietOptions() mend.Options {
	o := a.opt
	o.Note = nil
	return o
}

// sessionNames returns the sessions with their titles, the newest first.
func (a *app) sessionNames(ctx context.Context, _ []string) (all []cobra.Completion) {
	quiet := app{opt: a.quietOptions(), agentName: a.agentName}
	heads, _, _ := sessionsOf(ctx, quiet.agentOptions())
	for _, h := range heads {
		all = append(all, cobra.CompletionWithDesc(h.ID, cmp.Or(oneLine(h.Title, 60), h.Directory)))
	}
	return all
}

func undoable(e change.Entry) bool   { return e.State == change.Committed && inForce(e) }
func undone(e change.Entry) bool     { return e.UndoneBy != "" && !e.Forgotten }
func conflicted(e change.Entry) bool { return e.State == change.Conflicted }

// repairIDs returns the repairs for which fits holds, nil for all, the newest first.
func (a *app) repairIDs(fits func(change.Entry) bool) completions {
	return func(ctx context.Context, _ []string) (all []cobra.Completion) {
		es, _ := a.quietOptions().Journal.Log(journal.Query{})
		for _, e := range es {
			if fits == nil || fits(e) {
				all = append(all, cobra.CompletionWithDesc(e.ID, causeText(e)+" of "+entryTitle(e)+", "+age(time.Since(e.Time))))
			}
		}
		return all
	}
}

// ruleNames returns the rules with their meanings.
func (a *app) ruleNames(context.Context, []string) (all []cobra.Completion) {
	for _, t := range a.ruleTopics() {
		all = append(all, cobra.CompletionWithDesc(t.Code, firstSentence(t.Meaning)))
	}
	return all
}

// actorNames returns who made the entries of the journal.
func (a *app) actorNames(context.Context, []string) (all []cobra.Completion) {
	es, _ := a.quietOptions().Journal.Log(journal.Query{})
	for _, e := range es {
		if e.Actor != nil && !slices.Contains(all, e.Actor.User) {
			all = append(all, e.Actor.User)
		}
	}
	return all
}

// recordNames returns the records of the repair that the first argument names.
func (a *app) recordNames(_ context.Context, args []string) (all []cobra.Completion) {
	if len(args) == 0 {
		return nil
	}
	e, _, _ := a.quietOptions().Journal.Show(args[0])
	for _, o := range e.Ops {
		all = append(all, cobra.CompletionWithDesc(o.Ref.String(), o.Ref.Kind.String()))
	}
	return all
}

func (a *app) agentNames(context.Context, []string) (all []cobra.Completion) {
	for _, ag := range a.opt.Agents {
		all = append(all, ag.Name())
	}
	return all
}

func (a *app) storePaths(context.Context, []string) (all []cobra.Completion) {
	for _, st := range a.opt.Agents.Stores() {
		all = append(all, cobra.CompletionWithDesc(st.Path, st.Layout))
	}
	return all
}
