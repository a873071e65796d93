package repairs

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/culprit"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/request"
	"mend/internal/term"
	"mend/repair"
)

// A way describes how conversations get lost, and the commands that help.
type way struct {
	Name     string   `json:"way"`
	What     string   `json:"what"`
	Commands []string `json:"commands"`

	prose []string // patterns of the words that people use for it
}

//go:embed ways.txt
var waysText string

// readWays returns the ways in ways.txt.
func readWays() (all []way) {
	for paragraph := range strings.SplitSeq(strings.ReplaceAll(waysText, "TALK", `\b(sessions?|conversations?|chats?|history|histories|transcripts?|threads?|messages)\b`), "\n\n") {
		var w way
		for line := range strings.SplitSeq(paragraph, "\n") {
			switch {
			case strings.HasPrefix(line, "\t/"):
				w.prose = append(w.prose, line[2:])
			case strings.HasPrefix(line, "\t"):
				w.Commands = append(w.Commands, line[1:])
			case line != "":
				w.Name, w.What, _ = strings.Cut(line, ": ")
			}
		}
		all = append(all, w)
	}
	return all[1:] // the first paragraph is a comment
}

// notProse matches texts that a program wrote rather than a person.
var notProse = regexp.MustCompile("[{}<>=;|`_\\\\]|[Ee]rror:|\\w(?:Error|Exception)\\b|: \\w+: ")

// findWay returns the way that matches a user's description, nil for an error and for any other text.
func findWay(readings []repair.APIError) *way {
	text := readings[0].Text
	if slices.ContainsFunc(readings, func(e repair.APIError) bool { return e.Recognised }) || len(text) > 600 || notProse.MatchString(text) {
		return nil
	}
	for _, w := range slices.Backward(readWays()) {
		if regexp.MustCompile("(?is)" + strings.Join(w.prose, "|")).MatchString(text) {
			return &w
		}
	}
	return nil
}

// errNoCulprit means that no session matches an error, and none is broken.
var errNoCulprit = errors.New("no session matches this error")

// offerWays asks which of the ways applies, and calls runWay for it. Without a terminal it lists the ways with their
// commands, and returns err.
func offerWays(ctx context.Context, env *frame.Env, f repairFlags, err error) error {
	all := readWays()
	var what, rows [][]any
	for _, w := range all {
		what, rows = append(what, []any{w.What}), append(rows, []any{w.What, strings.Join(w.Commands, ", ")})
	}
	if env.CanAsk && !env.JSON {
		env.Say("%s", show.SentenceCase(err.Error()))
		i, err := env.Pick(ctx, "What happened?", what)
		if err != nil {
			return err
		}
		return runWay(ctx, env, f, all[i])
	}
	env.SetAnswers(FixAnswer{Ways: all})
	env.Say("What happened?")
	env.PrintRows(rows, "  ")
	return err
}

// runWay runs or shows the commands that help if a conversation was lost in this way.
func runWay(ctx context.Context, env *frame.Env, f repairFlags, w way) (err error) {
	switch w.Name {
	case "damaged":
		clients, left := frame.OpenAll(ctx, env, !f.DryRun)
		damaged, err := checkDatabases(ctx, env, clients, f)
		if !damaged {
			err = frame.ErrProblems
		}
		return fail.Worst(err, left)
	case "each_prompt":
		if !env.CanAsk || env.JSON {
			env.Say("With the text of that error: %s", term.Command(w.Commands[0]))
			return frame.ErrProblems
		}
		if f.errorText, err = askForError(ctx, env); err != nil {
			return err
		}
		return runRepair(ctx, env, nil, f)
	case "app":
		return showContinue(ctx, env)
	case "not_listed":
		var moved bool
		moved, err = f.finish.Move(ctx, env, frame.WriteFlags{DryRun: f.DryRun, Force: f.Force})
		if moved || ctx.Err() != nil {
			return err
		}
		if errors.Is(err, term.ErrDeclined) { // showLost follows
			err = frame.ErrProblems
		}
		env.Printf("Every session that mend finds: %s\n\n", term.Command(w.Commands[2]))
	case "forgotten":
		env.Say("If the agent compacted the session: %s", term.Command(w.Commands[1]))
	}
	err = fail.Worst(err, showLost(ctx, env, f))
	if w.Name == "deleted" && errors.Is(err, frame.ErrProblems) {
		env.Say("If Claude Code deleted a session and there is no copy of it, only its prompts can be restored. To make copies from now on: %s", term.Command("mend install --keep"))
	}
	return err
}

// desktopApps are the agents with a desktop app that keeps its own list of sessions.
var desktopApps = []string{"claude", "codex"}

// mostShown is the maximum number of sessions shown with the command that continues each.
const mostShown = 5

// showContinue lists the newest sessions of the agents with a desktop app, with the command that continues each in a
// terminal.
func showContinue(ctx context.Context, env *frame.Env) error {
	clients, left := frame.OpenAll(ctx, env, false)
	type stored struct {
		change.Head
		store *mend.Store
	}
	var all []stored
	for _, c := range clients {
		heads, err := c.Sessions(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			left = env.SkipStore(ctx, left, err)
		}
		for _, h := range heads {
			if slices.Contains(desktopApps, c.ID().Agent) && h.Parent == "" {
				all = append(all, stored{h, c})
			}
		}
	}
	slices.SortFunc(all, func(a, b stored) int { return cmp.Compare(b.Updated, a.Updated) })
	if len(all) == 0 {
		env.Say("Neither Claude Code nor Codex has a session here. %s looks for sessions that can be brought back.", term.Command(env.CommandLine("restore")))
		return fail.Worst(left, frame.ErrProblems)
	}
	env.Say("The app has its own list, which mend does not change. Its agent has %s, and each can be continued in a terminal. The newest:", term.Count(len(all), "session"))
	for _, s := range all[:min(len(all), mostShown)] {
		env.PrintContinueCommand(ctx, s.store, s.Head, show.QuotedTitle(s.Title, s.ID))
	}
	env.SetAnswers(frame.ContinueAnswer{Continue: frame.ContinueCommand(ctx, all[0].store, all[0].Head)})
	env.Say("All of them: %s", term.Command(env.CommandLine("scan", "--all")))
	return fail.Worst(left, frame.ErrProblems)
}

// checkDatabases reports whether a database of the stores is damaged. If so, it salvages all damaged ones, and repairs
// what is broken in them, after questions; without a terminal it returns the damage as the error.
func checkDatabases(ctx context.Context, env *frame.Env, clients []*mend.Store, f repairFlags) (damaged bool, err error) {
	for _, c := range clients {
		done := env.Busy("checking the database ...")
		err := c.CheckFile(ctx, 0)
		done()
		if fail.IsSalvageable(err) {
			return true, salvageFirst(ctx, env, f, err, func(f repairFlags) error {
				f.apiError, f.errorText = "", nil
				return runRepair(ctx, env, nil, f)
			})
		}
	}
	env.Say("mend checked the databases: none is damaged now.")
	return false, nil
}

// showNext shows the next command if no repair helps against an error: for the session whose newest answer failed with
// the error, for the broken sessions, or for the newest session. It offers to trim a request that is too long.
func showNext(ctx context.Context, env *frame.Env, clients []*mend.Store, readings []repair.APIError, f repairFlags) error {
	m, left := searchCulprits(ctx, env, clients, readings, nil)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	found, heads := m.found, m.heads
	command, head := "report", change.Head{}
	if isTooLong(readings[0]) {
		command = "trim"
	}
	if readings[0].Class == repair.ContextTooLong {
		found = slices.DeleteFunc(found, func(x culprit.Culprit) bool { return x.Match.Degree == repair.IsBroken })
	}
	slices.SortStableFunc(heads, func(a, b change.Head) int { return cmp.Compare(b.Updated, a.Updated) })
	request.MoveFirst(heads, mend.Here(heads, show.WorkingFolder()))
	one := slices.IndexFunc(found, func(x culprit.Culprit) bool { return x.Match.Degree != repair.IsBroken })
	switch {
	case one >= 0:
		head = found[one].Session
		printCulprit(env, found[one])
		if command == "trim" {
			return fail.Worst(left, offerTrim(ctx, env, m.stores[head.ID], head, found[one].Error, f))
		}
	case len(found) > 0:
		head, command = found[0].Session, "fix"
		env.Say("%s", show.SentenceCase(brokenText(len(found), len(heads))))
		listCulprits(env, found)
	case len(heads) == 0 || readings[0].About == request.AboutStore:
		env.Say("No session is broken: mend looked at %s.", term.Count(len(heads), "session"))
		return fail.Worst(left, frame.ErrProblems)
	default:
		head = heads[0]
		env.Say("No session is broken. The newest is %s %s.", term.Bold(head.ID), show.QuotedTitle(head.Title, "(no title)"))
	}
	command = env.CommandLine(command, head.ID)
	env.SetAnswers(FixAnswer{Next: command})
	env.Say("Next: %s", term.Command(command))
	return fail.Worst(left, frame.ErrProblems)
}

// isTooLong reports whether an error says, or usually means, that a session is too long.
func isTooLong(e repair.APIError) bool { return strings.Contains(e.Explanation, "mend trim") }

// offerTrim runs the smallest trim after which the next request of a session and a compaction fit; the provider refused
// the session as too long. The sizes in the error correct the estimate. Without a terminal it shows the command.
func offerTrim(ctx context.Context, env *frame.Env, c *mend.Store, head change.Head, e repair.APIError, f repairFlags) error {
	r := repair.TrimRequest{
		Percent: repair.DefaultPercent, KeepTurns: repair.DefaultKeepTurns, Protected: repair.ProtectedTools(), TooLong: true, Force: f.Force,
	}
	r.Actual, r.Window = e.Sizes()
	t, err := c.ProposeTrim(ctx, head, r)
	if err == nil && t.After > t.Goal {
		r.Hard = true
		t, err = c.ProposeTrim(ctx, head, r)
	}
	if err != nil {
		return err
	}
	words := []string{"trim", head.ID, "--to", strconv.Itoa(max(t.Goal, 1))}
	if r.Hard {
		words = append(words, "--hard")
	}
	env.SetAnswers(FixAnswer{Next: env.CommandLine(words...)})
	if !env.CanAsk || env.JSON {
		env.Say("Next: %s", term.Command(env.CommandLine(words...)))
		return frame.ErrProblems
	}
	env.Printf("\n")
	env.Opt.Store = c.ID().Root
	return f.finish.Trim(ctx, env, []string{head.ID}, f.WriteFlags, r)
}
