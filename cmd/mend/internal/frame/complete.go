package frame

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mend/internal/term"
)

// The limits of a completion: a user waits for it.
const (
	completionTimeout = time.Second
	maxCompletions    = 500
)

// Completions returns the candidates for an argument, from the stores and the journal. It writes nothing, and skips
// what cannot be read.
type Completions func(ctx context.Context, env *Env, args []string) []cobra.Completion

// Candidates returns the candidates that begin with start. If there are none, the shell does not complete file names
// either.
func Candidates(cmd *cobra.Command, env *Env, complete Completions, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	if complete == nil {
		return nil, directive
	}
	env.Command = CommandName(cmd)
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

// CompleteSessions returns the ids of the sessions, the newest first, with their titles. It prints no notes.
func CompleteSessions(ctx context.Context, env *Env, _ []string) (all []cobra.Completion) {
	quiet := Env{Terminal: &term.Terminal{Out: io.Discard, Err: io.Discard}, Opt: env.Opt, AgentName: env.AgentName, Command: env.Command, Also: env.Also}
	quiet.Opt.Note = nil
	named, _, _ := NamedSessions(ctx, &quiet, env.Also)
	for _, h := range named {
		all = append(all, cobra.CompletionWithDesc(h.ID, cmp.Or(term.OneLine(h.Title, 60), h.Directory)))
	}
	return all
}
