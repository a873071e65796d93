package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) fixVerb() *cobra.Command {
	var f repairFlags
	cmd := &cobra.Command{
		Use:   "fix [ERROR TEXT...]",
		Short: "Paste an error: find its session and repair it",
		Long: `Fix takes the error that the agent shows, finds the session whose next request causes
it, shows the repair of that session, and asks. Copy the text as it is: line breaks of
the terminal, colours, quotes and whole JSON answers are accepted. If the text has
several errors, fix uses the one that fits a session.

On a command line, put the text between single quotes, because the shell would run
text between backticks.

Without a text, fix asks for one. With - it reads standard input, with @FILE a file.

A session is chosen if the text has its id, or if it is the only one that breaks the
rule of the error at the place that the error names. If no request shows the error, as
with signatures of thinking, it is the newest session of this folder whose last answer
failed with it. If that is not certain, fix asks; without a terminal it lists the
sessions and exits with 5. If no session fits, it offers those that are broken. If the
error is not about a session, fix says what helps instead.
It is short for "mend repair --error TEXT".`,
		Example: "  mend fix                                   asks for the error; paste it\n" +
			"  pbpaste | mend fix - --yes                 the text from the clipboard, without a question\n" +
			"  mend fix @err.txt --dry-run                show the repair, and write nothing",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error {
			f.apiError = strings.Join(words, " ")
			if len(words) == 0 {
				text, err := a.askForError(cmd.Context())
				if err != nil {
					return err
				}
				f.errorText = text
			} else if strings.TrimSpace(f.apiError) == "" {
				return usagef("the error text is empty")
			}
			return a.repair(cmd, nil, f)
		},
	}
	fl := cmd.Flags()
	a.addRepairFlags(fl, &f)
	fl.BoolVar(&f.all, "all", false, "repair everything of the error's kind, not only the place that it names")
	return cmd
}

// askForError reads the text of an error from the user: lines up to a blank one, or to the end
// of the input.
func (a *app) askForError(ctx context.Context) ([]byte, error) {
	if !a.canAsk {
		return nil, usagef(`fix needs the error text: mend fix 'TEXT', or mend fix - to read standard input`)
	}
	fmt.Fprintf(a.err, "Paste the error, then press Enter on an empty line:\n")
	text, err := await(ctx, func() ([]byte, error) { return readParagraph(a.input()) })
	if err != nil {
		return nil, err
	}
	if len(text) == 0 {
		return nil, errDeclined
	}
	a.discardTyped()
	return text, nil
}

// discardTyped drops the rest of a pasted text: it answers no question, and no shell runs it.
func (a *app) discardTyped() {
	_, _ = a.input().Discard(a.input().Buffered())
	if tty, ok := a.in.(*os.File); ok {
		discardInput(tty)
	}
}

// readParagraph reads lines up to a blank one that follows text.
func readParagraph(r *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		line, err := r.ReadString('\n')
		if strings.TrimSpace(line) == "" && strings.TrimSpace(string(text)) != "" && err == nil {
			return text, nil
		}
		text = append(text, line...)
		switch {
		case len(text) > maxInput:
			return nil, fmt.Errorf("longer than %d bytes", maxInput)
		case errors.Is(err, io.EOF):
			return []byte(strings.TrimSpace(string(text))), nil
		case err != nil:
			return nil, err
		}
	}
}
