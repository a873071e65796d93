package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"
)

// confirm asks a yes-or-no question, with no as the answer of silence. The error
// is errNobody without a terminal, errDeclined after a no, and the context's if
// that ends first.
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

// await is what read returns, or the context's error if that ends first: a read
// from a terminal or a pipe cannot be called off, and ends with the program.
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
