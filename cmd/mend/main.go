// Command mend repairs the stored sessions of coding agents, and can undo every change. "mend
// --help" lists the verbs.
package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"

	"golang.org/x/term"

	"mend/txn"
)

func main() {
	t := terminal{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		canAsk:  term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stderr.Fd())),
		canDraw: term.IsTerminal(int(os.Stderr.Fd())),
	}
	if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		t.width = max(width, minWidth)
	}
	if width, _, err := term.GetSize(int(os.Stderr.Fd())); err == nil {
		t.errWidth = min(max(width, minWidth), maxWidth)
	}
	os.Exit(run(os.Args[1:], t))
}

// A terminal is the standard input, output and error of a command.
type terminal struct {
	in       io.Reader
	out, err io.Writer
	canAsk   bool // a user can answer questions
	canDraw  bool // progress can be drawn on err
	width    int  // columns of out; 0 if it is no terminal: lines are not cut
	errWidth int  // columns to which messages on err are wrapped; 0 if it is no terminal
}

// run runs one command line and returns the exit code. [handleSignals] describes what a signal
// does.
func run(args []string, t terminal) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	a := &app{terminal: t}
	a.handleSignals(cancel, args)
	root := a.root()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	a.command = cmp.Or(a.command, commandName(cmd))
	if err != nil && !a.parsed {
		a.asJSON = slices.Contains(args, "--json") // the flags could not all be parsed
	}
	return a.report(signalCause(ctx, err))
}

// signalCause returns the signal that cancelled the context, if err is the context's error. It
// returns a [txn.PendingError] unchanged.
func signalCause(ctx context.Context, err error) error {
	var sig *signalError
	var pending *txn.PendingError
	if errors.Is(err, context.Canceled) && errors.As(context.Cause(ctx), &sig) && !errors.As(err, &pending) {
		return sig
	}
	return err
}
