package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mend/internal/culprit"
	"mend/internal/term"
	"mend/repair"
)

func fixVerb(env *environment) *cobra.Command {
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

fix picks a session on its own only if the text has its id, or if exactly one session
breaks that rule at that place. If no request shows the error, as with signatures of
thinking and encrypted reasoning, it is the newest session of this folder whose last
answer failed with it, or else the only one that has such content. Else fix asks;
without a terminal it lists the sessions and exits with 5. If no session fits, it offers
those that are broken. If none is, it asks what happened, and goes on there; without a
terminal it lists the commands. You can also say what happened in your own words. If the
error is not about a session, fix says what helps instead.
It is short for "mend repair --error TEXT".

` + setAsideHelp,
		Example: "  mend fix                                   asks for the error; paste it\n" +
			"  mend fix 'my sessions are gone after the update'\n" +
			"  pbpaste | mend fix - --yes                 the text from the clipboard, without a question\n" +
			"  mend fix @err.txt --dry-run                show the repair, and write nothing",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error {
			f.apiError = strings.Join(words, " ")
			if len(words) == 0 {
				text, err := askForError(cmd.Context(), env)
				if err != nil {
					return err
				}
				f.errorText = text
			} else if strings.TrimSpace(f.apiError) == "" {
				return usagef("the error text is empty")
			}
			return runRepair(cmd.Context(), env, nil, f)
		},
	}
	addRepairFlags(env, cmd, &f)
	cmd.Flags().BoolVar(&f.all, "all", false, "repair everything of the error's kind, not only the place that it names")
	return cmd
}

// askForError reads the text of an error from the user: lines up to a blank one, or to the end
// of the input. What is pasted may have a blank line before the error: then it goes on to the next one.
func askForError(ctx context.Context, env *environment) ([]byte, error) {
	t := env.Terminal
	if !t.CanAsk {
		return nil, usagef(`fix needs the error text: mend fix 'TEXT', or mend fix - to read standard input`)
	}
	t.PrintErr("Paste the error, then press Enter on an empty line:\n")
	asked := false
	text, err := term.Await(ctx, func() ([]byte, error) {
		return readText(t.Input(), func(text []byte) bool {
			known := asked || sessionID().Match(text) || slices.ContainsFunc(culprit.Readings(env.opt.Agents, text), func(e repair.APIError) bool { return e.Recognised })
			if asked = true; !known {
				t.PrintErr("There is no error in this that mend knows. Paste the rest, or press Enter again:\n")
			}
			return known
		})
	})
	if err != nil {
		return nil, err
	}
	if len(text) == 0 {
		return nil, term.ErrDeclined
	}
	t.DiscardTyped()
	return text, nil
}

// readText reads lines up to a blank one behind a text that is whole.
func readText(r *bufio.Reader, whole func(text []byte) bool) ([]byte, error) {
	var text []byte
	for {
		line, err := r.ReadString('\n')
		if strings.TrimSpace(line) == "" && strings.TrimSpace(string(text)) != "" && err == nil && whole(text) {
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
