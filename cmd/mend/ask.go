package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"mend/change"
)

// An answer is one that a question accepts. Its key is the first letter of its word.
type answer struct{ word, meaning string }

func (w answer) key() string { return w.word[:1] }

// yesOrNo are the answers to a question about one thing.
var yesOrNo = []answer{{"yes", "do it"}, {"no", "change nothing"}}

// input returns standard input, line by line.
func (a *app) input() *bufio.Reader {
	if a.stdin == nil {
		a.stdin = bufio.NewReader(a.in)
	}
	return a.stdin
}

// ask asks until the user gives one of the answers, and returns its key. "?" and anything else
// shows what the answers mean. It returns errNoTerminal without a terminal, errNoQuestion with
// --json, errDeclined at the end of the input, and the context's error if that ends first.
func (a *app) ask(ctx context.Context, question string, answers []answer) (string, error) {
	switch {
	case a.asJSON:
		return "", errNoQuestion
	case !a.canAsk:
		return "", errNoTerminal
	}
	var keys []string
	for _, w := range answers {
		keys = append(keys, w.key())
	}
	for {
		fmt.Fprintf(a.err, "%s [%s/?] ", question, strings.Join(keys, "/"))
		line, err := await(ctx, func() (string, error) { return a.input().ReadString('\n') })
		word := strings.ToLower(strings.TrimSpace(line))
		if i := slices.IndexFunc(answers, func(w answer) bool { return word == w.key() || word == w.word }); i >= 0 {
			return answers[i].key(), nil
		}
		if err != nil {
			fmt.Fprintln(a.err)
			if errors.Is(err, io.EOF) {
				return "", errDeclined
			}
			return "", err
		}
		for _, w := range answers {
			fmt.Fprintf(a.err, "  %s  %s: %s\n", w.key(), w.word, w.meaning)
		}
	}
}

// askChange is ask about a change that was shown. With "diff" it shows every record and asks again.
func (a *app) askChange(ctx context.Context, question string, answers []answer, ops []change.Op) (string, error) {
	for {
		key, err := a.ask(ctx, question, answers)
		if err != nil || key != "d" {
			return key, err
		}
		a.page(func() { a.printOps(ops) })
	}
}

// confirmChange asks whether a change that was shown is made, unless the user has agreed with
// --yes or it is a dry run. The error is errDeclined for no, or that of [app.ask].
func (a *app) confirmChange(ctx context.Context, f writeFlags, question string, ops []change.Op) error {
	if f.yes || f.dryRun {
		return nil
	}
	answers := yesOrNo
	if len(ops) > 0 {
		answers = append(slices.Clone(yesOrNo), answer{"diff", "show the diff of every record"})
	}
	key, err := a.askChange(ctx, question, answers, ops)
	if err == nil && key != "y" {
		return errDeclined
	}
	return err
}

func (a *app) printFiles(files []change.Ref) {
	for _, r := range files {
		fmt.Fprintf(a.err, "  %s\n", r)
	}
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
