package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"mend/session"
)

// confirm asks a yes-or-no question; the default is no. It returns errNoTerminal without a
// terminal, errDeclined if the answer is no, and the context's error if that ends first.
func (a *app) confirm(ctx context.Context, question string) error {
	if !a.canAsk {
		return errNoTerminal
	}
	fmt.Fprintf(a.err, "%s [y/N] ", question)
	line, err := await(ctx, func() (string, error) { return bufio.NewReader(a.in).ReadString('\n') })
	if ctx.Err() != nil {
		fmt.Fprintln(a.err)
		return err
	}
	if answer := strings.ToLower(strings.TrimSpace(line)); answer == "y" || answer == "yes" {
		return nil
	}
	return errDeclined
}

// plannedUserFiles returns the user files that the plans would move away.
func plannedUserFiles(ps []proposal) (refs []session.Ref) {
	for _, p := range ps {
		for _, o := range p.result.Plan.Ops {
			if o.Ref.Kind == session.KindFile {
				refs = append(refs, o.Ref)
			}
		}
	}
	return refs
}

func (a *app) printFiles(files []session.Ref) {
	for _, r := range files {
		fmt.Fprintf(a.err, "  %s\n", r)
	}
}

// confirmRepair asks for confirmation if the user did not name the session, or if user files
// would be moved away.
func (a *app) confirmRepair(ctx context.Context, named bool, todo []proposal) error {
	files := plannedUserFiles(todo)
	if named && len(files) == 0 {
		return nil
	}
	question := fmt.Sprintf("Repair %s?", count(len(todo), "session"))
	if len(files) > 0 {
		a.printFiles(files)
		question = fmt.Sprintf("Repair %s, and move %s of yours, named above, out of the agent's sight?", count(len(todo), "session"), count(len(files), "file"))
	}
	err := a.confirm(ctx, question)
	if errors.Is(err, errNoTerminal) && len(files) > 0 {
		return errNoTerminalForFiles
	}
	return err
}

// await returns the result of read, or the context's error if that ends first. A read from a
// terminal or a pipe cannot be cancelled and continues in the background.
func await[T any](ctx context.Context, read func() (T, error)) (v T, err error) {
	done := make(chan struct{})
	var got T
	var failed error
	go func() {
		got, failed = read()
		close(done)
	}()
	select {
	case <-done:
		return got, failed
	case <-ctx.Done():
		return v, ctx.Err()
	}
}
