package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"mend/change"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/repair"
)

func trimVerb(env *environment) *cobra.Command {
	var f writeFlags
	var to string
	r := repair.TrimRequest{}
	cmd := &cobra.Command{
		Use:   "trim [SESSION]",
		Short: "Make the next request smaller",
		Long: `Trim marks outputs of tools, so that the agent sends "[Old tool result content
cleared]" instead of them. The outputs stay in the store: you still see
them, but the model no longer does. Undo removes the marks.

Trim first marks outputs of calls that were repeated later, then the largest outputs,
until the next request is small enough. If the model binds its thinking to the
conversation, trim starts with the outputs nearest to the end. It does not change the
newest turns. Sizes are estimates: a token counts as four bytes.

If that is not enough, --hard also removes large files and the middle of large texts,
and then sets whole turns aside, the oldest first, until the next request and a
compaction fit again. A line of text says what was there. The bytes are moved to the
journal: neither you nor the model see them until "mend undo" restores them.`,
		Example: `  mend trim .                    the newest session of this folder, to 60% of the context window
  mend trim "dark mode" --to 80000
  mend trim . --keep-turns 5 --dry-run
  mend trim . --hard             if tool outputs alone are not enough`,
		Args: atMostOne("session"),
		RunE: func(cmd *cobra.Command, names []string) (err error) {
			if r.Percent, r.Goal, err = parseGoal(to); err != nil {
				return err
			}
			if r.KeepTurns < 0 {
				return usagef("--keep-turns: want 0 or more, got %d", r.KeepTurns)
			}
			r.Force = f.force
			return runTrim(cmd.Context(), env, names, f, r)
		},
	}
	f.add(cmd, "trim even if the agent is using the session")
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
		return 0, 0, usagef("--to: want tokens such as 80000, or a part of the context window such as 60%%, got %q", text)
	case isPercent:
		return n, 0, nil
	}
	return 0, n, nil
}

func runTrim(ctx context.Context, env *environment, names []string, f writeFlags, r repair.TrimRequest) error {
	c, head, err := openSession(ctx, env, names, env.command, !f.dryRun)
	if err != nil {
		return err
	}
	t, err := c.ProposeTrim(ctx, head, r)
	if err != nil {
		return err
	}
	env.setAnswers(trimAnswer{Repairs: []repairJSON{}, Trim: &trimJSON{
		head.ID, t.Before, t.After, t.Goal, t.Window, trimmedJSON(t.Outputs), removedJSON(t.Removed), turnsJSON(t.Turns),
	}})
	printHeader(env.Terminal, head)
	printTrimmed(env.Terminal, t.Outputs)
	printRemoved(env.Terminal, t.Removed)
	printTurns(env.Terminal, t.Turns)
	if len(t.Plan.Ops) == 0 {
		size := fmt.Sprintf("The next request has about %s tokens.", term.Thousands(t.Before))
		if t.Before <= t.Goal {
			env.SayAt(2, size+" It is small enough.")
			refused := env.cmdline("trim", head.ID, "--to", strconv.Itoa(max(t.Before*repair.DefaultPercent/100, 1)))
			env.SayAt(2, "That is an estimate. If the provider refuses it: "+term.Command(refused))
			return nil
		}
		env.SayAt(2, fmt.Sprintf("%s The goal is %s, but no output can be trimmed.", size, term.Thousands(t.Goal)))
		return errProblems
	}
	printSizes(env.Terminal, t.Before, t.After, t.Window)
	question := "Trim %s?"
	switch {
	case len(t.Turns) > 0:
		question = fmt.Sprintf("Trim %%s, and set %s aside? Only undo shows them again.", term.Count(len(t.Turns), "turn"))
	case len(t.Removed) > 0:
		question = fmt.Sprintf("Trim %%s, and move %s into the journal? Only undo shows them again.", term.CountWords(len(t.Removed), "file or text", "files and texts"))
	}
	if err := applyOne(ctx, env, c, f, t.Plan, head, question); err != nil {
		return err
	}
	if t.After > t.Goal {
		more := "nothing more can be trimmed"
		if !r.Hard {
			more = "no more outputs can be trimmed; --hard takes out files, texts and early turns, too"
		}
		env.Say("Still larger than the goal of about %s tokens: %s.", term.Thousands(t.Goal), more)
		return errProblems
	}
	return nil
}

// uncompactVerb is the former name of restore --compaction.
func uncompactVerb(env *environment) *cobra.Command {
	var f writeFlags
	r := repair.UncompactRequest{Protected: repair.ProtectedTools()}
	cmd := &cobra.Command{
		Use: "uncompact [SESSION]", Short: "Remove a compaction: mend restore --compaction SESSION", Args: atMostOne("session"),
		RunE: func(cmd *cobra.Command, names []string) error {
			r.Force = f.force
			return runUncompact(cmd.Context(), env, names, f, r)
		},
	}
	f.add(cmd, "uncompact even if the agent is using the session")
	cmd.Flags().BoolVar(&r.Trim, "trim", false, "trim outputs of tools if the next request would be too large")
	return cmd
}

func runUncompact(ctx context.Context, env *environment, names []string, f writeFlags, r repair.UncompactRequest) error {
	c, head, err := openSession(ctx, env, names, env.command, !f.dryRun)
	if err != nil {
		return err
	}
	u, err := c.ProposeUncompact(ctx, head, r)
	if err != nil {
		return err
	}
	env.setAnswers(uncompactAnswer{Repairs: []repairJSON{}, Uncompact: &uncompactJSON{
		head.ID, u.Messages, u.Earlier, u.Before, u.After, u.Window, trimmedJSON(u.Outputs),
	}})
	printHeader(env.Terminal, head)
	env.Printf("  %s sent again.\n", term.CountWords(u.Messages, "message is", "messages are"))
	for _, d := range u.Fixed {
		env.SayAt(2, term.OneLine(d.Why+" "+d.Fix, 400))
	}
	printTrimmed(env.Terminal, u.Outputs)
	printSizes(env.Terminal, u.Before, u.After, u.Window)
	if err := applyOne(ctx, env, c, f, u.Plan, head, "Remove the newest compaction of %s?"); err != nil {
		return err
	}
	if u.Earlier > 0 {
		env.Say("There is an earlier compaction. Run \"mend restore --compaction %s\" again to remove it, too.", head.ID)
	}
	return nil
}

// applyOne asks about a shown plan for one session, and applies it, or reports a dry run. question
// has %s for the name of the session.
func applyOne(ctx context.Context, env *environment, c *mend.Store, f writeFlags, p change.Plan, head change.Head, question string) error {
	p.Cause.Title = head.Title
	env.printBound(p)
	return env.run(ctx, f, job{
		question: fmt.Sprintf(question, quotedTitle(head.Title, head.ID)), steps: oneStep(c, p), n: 1,
		done: func(b *batch) {
			printCommitted(env.Terminal, b.done[0], head.Title, "")
			env.printContinueCommand(c.ID().Agent, head, "it")
		},
	})
}

// printTrimmed prints how much of each tool's output is trimmed, one line per tool.
func printTrimmed(t *term.Terminal, outputs []repair.TrimmedOutput) {
	type total struct{ outputs, copies, tokens int }
	tools := map[string]total{}
	var names []string
	for _, o := range outputs {
		n, ok := tools[o.Tool]
		if !ok {
			names = append(names, o.Tool)
		}
		n.outputs++
		n.tokens += o.Tokens
		if o.Copy {
			n.copies++
		}
		tools[o.Tool] = n
	}
	slices.SortStableFunc(names, func(x, y string) int { return cmp.Compare(tools[y].tokens, tools[x].tokens) })
	for _, name := range names {
		n := tools[name]
		line := fmt.Sprintf("%s of %s, about %s tokens", term.Count(n.outputs, "output"), term.OneLine(name, 40), term.Thousands(n.tokens))
		if n.copies > 0 {
			line += fmt.Sprintf(", %d of them repeated later", n.copies)
		}
		t.SayAt(2, line)
	}
}

// printRemoved prints a line for each file or text that moves into the journal.
func printRemoved(t *term.Terminal, all []repair.RemovedContent) {
	for _, o := range all {
		what := fmt.Sprintf("The middle of a text, %q", o.Name)
		if o.File {
			what = fmt.Sprintf("The file %q", cmp.Or(o.Name, o.Ref.Part))
		}
		t.SayAt(2, fmt.Sprintf("%s, about %s tokens, goes into the journal.", term.OneLine(what, 120), term.Thousands(o.Tokens)))
	}
}

// printTurns prints the turns that are set aside, the first ones by their prompts.
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
	t.SayAt(2, term.OneLine(text, 400)+". The first prompt stays, with a note.")
}

// printSizes prints the size of the next request before and after.
func printSizes(t *term.Terminal, before, after, window int) {
	limit := fmt.Sprintf("a context window that is not known; %s are assumed", term.Thousands(repair.DefaultWindow))
	if window > 0 {
		limit = "a context window of " + term.Thousands(window)
	}
	t.SayAt(2, fmt.Sprintf("Next request: about %s tokens, now about %s (%d%% of %s).", term.Thousands(before), term.Thousands(after), after*100/cmp.Or(window, repair.DefaultWindow), limit))
}

type trimAnswer struct {
	Trim    *trimJSON    `json:"trim,omitempty"`
	Repairs []repairJSON `json:"repairs"`
	continueAnswer
}

type uncompactAnswer struct {
	Uncompact *uncompactJSON `json:"uncompact,omitempty"`
	Repairs   []repairJSON   `json:"repairs"`
	continueAnswer
}

// A trimJSON is the effect of a trim on the next request. Sizes are in tokens.
type trimJSON struct {
	Session string       `json:"session"`
	Before  int          `json:"before"`
	After   int          `json:"after"`
	Goal    int          `json:"goal"`
	Window  int          `json:"window"` // 0 if unknown
	Outputs []outputJSON `json:"outputs"`

	Removed []removedContentJSON `json:"removed"`
	Turns   []turnJSON           `json:"turns"`
}

// A turnJSON is a prompt that is set aside with everything up to the next one.
type turnJSON struct {
	Prompt string `json:"prompt"`
	Tokens int    `json:"tokens"`
}

func turnsJSON(turns []repair.TakenTurn) []turnJSON {
	all := []turnJSON{}
	for _, t := range turns {
		all = append(all, turnJSON{t.Prompt, t.Tokens})
	}
	return all
}

type uncompactJSON struct {
	Session  string       `json:"session"`
	Messages int          `json:"messages"` // messages that are sent again
	Earlier  int          `json:"earlier"`  // remaining compactions
	Before   int          `json:"before"`
	After    int          `json:"after"`
	Window   int          `json:"window"`
	Outputs  []outputJSON `json:"outputs"`
}

// An outputJSON is an output of a tool that is trimmed.
type outputJSON struct {
	Record string `json:"record"`
	Tool   string `json:"tool"`
	Tokens int    `json:"tokens"`
	Copy   bool   `json:"copy"`
}

// trimmedJSON converts trimmed outputs.
func trimmedJSON(outputs []repair.TrimmedOutput) []outputJSON {
	all := []outputJSON{}
	for _, o := range outputs {
		all = append(all, outputJSON{o.Ref.String(), o.Tool, o.Tokens, o.Copy})
	}
	return all
}

type removedContentJSON struct {
	Record string `json:"record"`
	Kind   string `json:"kind"` // file or text
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
}

func removedJSON(all []repair.RemovedContent) []removedContentJSON {
	removed := []removedContentJSON{}
	for _, o := range all {
		kind := "text"
		if o.File {
			kind = "file"
		}
		removed = append(removed, removedContentJSON{o.Ref.String(), kind, o.Name, o.Tokens})
	}
	return removed
}
