// Command mend repairs the stored sessions of coding agents, and can undo every change. "mend --help" lists the verbs.
// This package has only the table of verbs, their help, and the demo; the verbs are in the packages of
// cmd/mend/internal.
//
// It may import agent/claude, change, cmd/mend/internal/agents, cmd/mend/internal/frame,
// cmd/mend/internal/inspect, cmd/mend/internal/rare, cmd/mend/internal/repairs, cmd/mend/internal/restore,
// cmd/mend/internal/running, cmd/mend/internal/show, cmd/mend/internal/space, internal/atomicfile, internal/config,
// internal/mend, internal/term, journal, testdata and txn. Read run first; runRepair of cmd/mend/internal/repairs is a typical
// verb.
package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mend/cmd/mend/internal/frame"
	"mend/internal/term"
	"mend/txn"
)

func main() { os.Exit(run(os.Args[1:], term.Standard())) }

// run runs one command line and returns the exit code. [frame.Env.HandleSignals] handles signals.
func run(args []string, t *term.Terminal) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	env := &frame.Env{Terminal: t}
	env.HandleSignals(cancel, args)
	root := newRoot(env)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		addCompletions(env, root) // only then: the library keeps all of them in a global map
	}
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	env.Command = cmp.Or(env.Command, frame.CommandName(cmd))
	if err != nil && !env.Parsed {
		env.JSON = slices.Contains(args, "--json") // parsing stopped before some flags
	}
	return env.Report(signalCause(ctx, err))
}

// signalCause returns the signal that cancelled the context, if err is the context's error. It
// returns a [txn.PendingError] unchanged.
func signalCause(ctx context.Context, err error) error {
	var sig *frame.SignalError
	var pending *txn.PendingError
	if errors.Is(err, context.Canceled) && errors.As(context.Cause(ctx), &sig) && !errors.As(err, &pending) {
		return sig
	}
	return err
}
