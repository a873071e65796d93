// Command mend brings broken agent sessions back to life, and can take every
// change back. `mend --help` lists the verbs.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime/debug"
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
	os.Exit(run(os.Args[1:], t))
}

// A terminal is where a command reads and writes.
type terminal struct {
	in       io.Reader
	out, err io.Writer
	canAsk   bool // there is a person to ask
	canDraw  bool // progress can be drawn on err
}

// run carries out one command line and returns the exit code. A signal ends it as
// [onSignal] says.
func run(args []string, t terminal) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	a := &app{terminal: t}
	handleSignals(cancel, &a.writing, args, t)
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && !a.parsed {
		a.asJSON = slices.Contains(args, "--json") // the flags could not all be parsed
	}
	return a.report(signalCause(ctx, err))
}

// signalCause makes of the context's error the signal that ended the context. A
// pending entry is told as what it is, also if nobody waited for its end.
func signalCause(ctx context.Context, err error) error {
	var sig *signalError
	var pending *txn.PendingError
	if errors.Is(err, context.Canceled) && errors.As(context.Cause(ctx), &sig) && !errors.As(err, &pending) {
		return sig
	}
	return err
}

// version is what the binary was built from: the module's version, or the
// revision of the checkout.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel-" + s.Value[:min(12, len(s.Value))]
		}
	}
	return "devel"
}
