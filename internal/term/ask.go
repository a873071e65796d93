package term

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"mend/internal/fail"
)

// ErrDeclined means that the user answered no.
var ErrDeclined error = fail.New(fail.Refused, "", "cancelled; nothing was changed")

// ErrCannotAsk means that mend cannot ask a question.
var ErrCannotAsk error = fail.New(fail.Refused, "pass --yes", "cannot ask for confirmation")

// MayAsk returns an error that wraps [ErrCannotAsk] if there is no terminal, and in JSON mode.
func (t *Terminal) MayAsk() error {
	switch {
	case t.JSON:
		return fmt.Errorf("%w: --json asks no questions", ErrCannotAsk)
	case !t.CanAsk:
		return fmt.Errorf("%w: no terminal", ErrCannotAsk)
	}
	return nil
}

// An Answer is a word that a question accepts, and what it means. The first letter of the word is its key.
type Answer [2]string

func (w Answer) key() string { return w[0][:1] }

// Input returns standard input, line by line.
func (t *Terminal) Input() *bufio.Reader {
	if t.stdin == nil {
		t.stdin = bufio.NewReader(t.In)
	}
	return t.stdin
}

// DiscardTyped drops the rest of a pasted text, which would otherwise answer the next question, or be run by the shell.
func (t *Terminal) DiscardTyped() {
	_, _ = t.Input().Discard(t.Input().Buffered())
	if tty, ok := t.In.(*os.File); ok {
		discardInput(tty)
	}
}

// Ask asks until the user gives one of the answers, and returns its key. "?" and any other input shows the
// meanings of the answers. It returns the error of [Terminal.MayAsk], [ErrDeclined] at the end of the input,
// and the context's error if that ends first.
func (t *Terminal) Ask(ctx context.Context, question string, answers []Answer) (string, error) {
	if err := t.MayAsk(); err != nil {
		return "", err
	}
	var keys []string
	for _, w := range answers {
		keys = append(keys, w.key())
	}
	asked := Sprintf("%s [%s/?]", question, strings.Join(keys, "/"))
	if t.ErrWidth > 0 {
		asked = Wrap(asked, t.ErrWidth-len(" y"))
	}
	for {
		t.PrintErr("%s ", asked)
		line, err := Await(ctx, func() (string, error) { return t.Input().ReadString('\n') })
		word := strings.ToLower(strings.TrimSpace(line))
		if i := slices.IndexFunc(answers, func(w Answer) bool { return word == w.key() || word == w[0] }); i >= 0 {
			return answers[i].key(), nil
		}
		if err != nil {
			fmt.Fprintln(t.Err)
			if errors.Is(err, io.EOF) {
				return "", ErrDeclined
			}
			return "", err
		}
		for _, w := range answers {
			t.PrintErr("  %s  %s: %s\n", w.key(), w[0], w[1])
		}
	}
}

// Await returns the result of read, or the context's error if that ends first. A read from a
// terminal or a pipe cannot be cancelled and continues in the background.
func Await[T any](ctx context.Context, read func() (T, error)) (v T, err error) {
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
