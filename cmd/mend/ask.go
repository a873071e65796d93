package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"
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
