// Package space has the verbs that make room: trim in a request, and clean on the disk.
//
// It may import agent, change, cmd/mend/internal/agents, cmd/mend/internal/frame, cmd/mend/internal/show,
// internal/fail, internal/mend, internal/term and repair. Read [RunTrim] first.
package space

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/term"
	"mend/repair"
)

// Trim returns the verb trim.
func Trim(env *frame.Env) *cobra.Command {
	var f frame.WriteFlags
	var to string
	r := repair.TrimRequest{}
	cmd := &cobra.Command{
		Use:   "trim [SESSION]",
		Short: "Make the next request smaller",
		Long: `Trim marks outputs of tools, so that the agent sends "[Old tool result content cleared]"
instead of them. The outputs stay in the store: you still see them, but the model no longer
does. Undo removes the marks.

Trim first marks outputs of calls that were repeated later, then the largest outputs,
until the next request is small enough. If the model binds its thinking to the
conversation, trim starts with the outputs nearest to the end. It does not change the
newest turns. Sizes are estimates: a token counts as four bytes.

If that is not enough, --hard also removes large files and the middle of large texts,
and then sets whole turns aside, the oldest first, until the next request and a
compaction fit again. A line of text describes what was there. The bytes are moved to the
journal: neither you nor the model see them until "mend undo" restores them.`,
		Example: `  mend trim .                    the newest session of this folder, to 60% of the context window
  mend trim "dark mode" --to 80000
  mend trim . --keep-turns 5 --dry-run
  mend trim . --hard             if tool outputs alone are not enough`,
		Args: frame.AtMostOne("session"),
		RunE: func(cmd *cobra.Command, names []string) (err error) {
			if r.Percent, r.Goal, err = parseGoal(to); err != nil {
				return err
			}
			if r.KeepTurns < 0 {
				return frame.Usagef("--keep-turns: want 0 or more, got %d", r.KeepTurns)
			}
			r.Force = f.Force
			return RunTrim(cmd.Context(), env, names, f, r)
		},
	}
	f.Add(cmd, "trim even if the agent is using the session")
	fl := cmd.Flags()
	fl.StringVar(&to, "to", strconv.Itoa(repair.DefaultPercent)+"%", fmt.Sprintf("the size of the next request: tokens, or `SIZE`%% of the model's context window (default: %d%%)", repair.DefaultPercent))
	fl.IntVar(&r.KeepTurns, "keep-turns", repair.DefaultKeepTurns, fmt.Sprintf("keep the newest `N` prompts and their answers unchanged (default: %d)", repair.DefaultKeepTurns))
	fl.BoolVar(&r.Hard, "hard", false, "if tool outputs are not enough, move large files and texts, and then early turns, into the journal")
	fl.StringSliceVar(&r.Protected, "protect", repair.ProtectedTools(), "tools whose outputs are kept (default: "+strings.Join(repair.ProtectedTools(), ", ")+")")
	return cmd
}

// parseGoal parses --to: a part of the context window, or tokens.
func parseGoal(text string) (percent, tokens int, err error) {
	number, isPercent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(number)
	switch {
	case err != nil || n < 1 || isPercent && n > 100:
		return 0, 0, frame.Usagef("--to: want tokens such as 80000, or a part of the context window such as 60%%, got %q", text)
	case isPercent:
		return n, 0, nil
	}
	return 0, n, nil
}

// RunTrim plans the trim of a session, shows it, asks, and applies it.
func RunTrim(ctx context.Context, env *frame.Env, names []string, f frame.WriteFlags, r repair.TrimRequest) error {
	c, head, err := frame.OpenSession(ctx, env, names, env.Command, !f.DryRun)
	if err != nil {
		return err
	}
	t, err := c.ProposeTrim(ctx, head, r)
	if err != nil {
		return err
	}
	env.SetAnswers(TrimAnswer{Repairs: []show.RepairJSON{}, Trim: &trimJSON{
		head.ID, t.Before, t.After, t.Goal, t.Window, show.TrimmedJSON(t.Outputs), removedJSON(t.Removed), show.NonNil(t.Turns),
	}})
	show.Header(env.Terminal, head)
	show.PrintTrimmed(env.Terminal, t.Outputs)
	printRemoved(env.Terminal, t.Removed)
	printTurns(env.Terminal, t.Turns)
	if len(t.Plan.Ops) == 0 {
		size := fmt.Sprintf("The next request has about %s tokens.", term.Thousands(t.Before))
		if t.Before <= t.Goal {
			env.SayAt(2, "%s It is small enough.", size)
			refused := env.CommandLine("trim", head.ID, "--to", strconv.Itoa(max(t.Before*repair.DefaultPercent/100, 1)))
			env.SayAt(2, "That is an estimate. If the provider refuses it: %s", term.Command(refused))
			return nil
		}
		env.SayAt(2, "%s The goal is %s, but no output can be trimmed%s.", size, term.Thousands(t.Goal), flagsText(r))
		return frame.ErrProblems
	}
	show.Sizes(env.Terminal, t.Before, t.After, t.Window)
	if len(t.Turns)+len(t.Removed) > 0 {
		env.SayAt(2, "Only undo shows again what is set aside or goes into the journal.")
	}
	if err := frame.ApplyOne(ctx, env, c, f, t.Plan, head, "Trim %s?"); err != nil {
		return err
	}
	if t.After > t.Goal {
		what := "nothing more"
		if !r.Hard {
			what = "no more outputs"
		}
		env.Say("Still larger than the goal of about %s tokens: %s can be trimmed%s.", term.Thousands(t.Goal), what, flagsText(r))
		return frame.ErrProblems
	}
	return nil
}

// flagsText returns the end of a sentence: the flag with which trim would trim more; "" for none.
func flagsText(r repair.TrimRequest) string {
	switch {
	case !r.Hard:
		return "; --hard also removes files, texts and early turns"
	case r.KeepTurns > 0:
		return "; --keep-turns 0 also trims " + term.CountWords(r.KeepTurns, "newest prompt and its answer", "newest prompts and their answers")
	}
	return ""
}

// printRemoved prints a line for each file or text that moves into the journal.
func printRemoved(t *term.Terminal, all []repair.RemovedContent) {
	for _, o := range all {
		what := fmt.Sprintf("The middle of a text, %q", o.Name)
		if o.File {
			what = fmt.Sprintf("The file %q", cmp.Or(o.Name, o.Ref.Part))
		}
		t.SayAt(2, "%s, about %s tokens, goes into the journal.", term.OneLine(what, 120), term.Thousands(o.Tokens))
	}
}

// printTurns prints how many turns are set aside, and the prompts of the first ones.
func printTurns(t *term.Terminal, turns []repair.TakenTurn) {
	const most = 3
	if len(turns) == 0 {
		return
	}
	tokens, names := 0, []string{}
	for _, x := range turns {
		if tokens += x.Tokens; len(names) < most {
			names = append(names, fmt.Sprintf("%q", x.Prompt))
		}
	}
	text := fmt.Sprintf("%s set aside, the oldest first, about %s tokens: %s", term.CountWords(len(turns), "turn is", "turns are"), term.Thousands(tokens), strings.Join(names, ", "))
	if n := len(turns) - len(names); n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	t.SayAt(2, "%s. The first prompt stays, with a note.", term.OneLine(text, 400))
}

// A TrimAnswer is the answer of trim.
type TrimAnswer struct {
	Trim    *trimJSON         `json:"trim,omitempty"`
	Repairs []show.RepairJSON `json:"repairs"`
	frame.ContinueAnswer
}

// A trimJSON is the effect of a trim on the next request. Sizes are in tokens.
type trimJSON struct {
	Session string            `json:"session"`
	Before  int               `json:"before"`
	After   int               `json:"after"`
	Goal    int               `json:"goal"`
	Window  int               `json:"window"` // 0 if unknown
	Outputs []show.OutputJSON `json:"outputs"`

	Removed []removedContentJSON `json:"removed"`
	Turns   []repair.TakenTurn   `json:"turns"` // prompts that are set aside with everything up to the next one
}

type removedContentJSON struct {
	Record string `json:"record"`
	Kind   string `json:"kind"` // file or text
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
}

func removedJSON(all []repair.RemovedContent) []removedContentJSON {
	removed := make([]removedContentJSON, len(all))
	for i, o := range all {
		removed[i] = removedContentJSON{o.Ref.String(), map[bool]string{true: "file", false: "text"}[o.File], o.Name, o.Tokens}
	}
	return removed
}
