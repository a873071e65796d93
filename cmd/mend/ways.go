package main

import (
	"context"
	_ "embed"
	"errors"
	"regexp"
	"slices"
	"strings"

	"mend/change"
	"mend/internal/culprit"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/request"
	"mend/internal/term"
	"mend/repair"
)

// A way is one of the ways in which people lose a conversation, and what brings it back.
type way struct {
	Name     string   `json:"way"`
	What     string   `json:"what"`
	Commands []string `json:"commands"`

	prose []string // patterns of what people write about it
}

//go:embed ways.txt
var waysText string

// readWays returns the ways in ways.txt.
func readWays() (all []way) {
	talk := `\b(sessions?|conversations?|chats?|history|histories|transcripts?|threads?|messages)\b`
	for line := range strings.Lines(strings.ReplaceAll(waysText, "TALK", talk)) {
		line = strings.TrimSuffix(line, "\n")
		name, what, named := strings.Cut(line, ": ")
		switch pattern, isPattern := strings.CutPrefix(line, "\t/"); {
		case isPattern:
			all[len(all)-1].prose = append(all[len(all)-1].prose, "("+pattern+")")
		case strings.HasPrefix(line, "\t"):
			all[len(all)-1].Commands = append(all[len(all)-1].Commands, line[1:])
		case named && line[0] != '#':
			all = append(all, way{Name: name, What: what})
		}
	}
	return all
}

// notProse matches what programs print, and people do not write about what they have lost.
var notProse = regexp.MustCompile("[{}<>=;|`_\\\\]|[Ee]rror:|\\w(?:Error|Exception)\\b|: \\w+: ")

// longestProse is the length of the longest text that is read as prose.
const longestProse = 600

// wayOf returns the way that a text in the words of a person is about; nil for an error and for any other text.
func wayOf(readings []repair.APIError) *way {
	text := readings[0].Text
	if slices.ContainsFunc(readings, func(e repair.APIError) bool { return e.Recognised }) || len(text) > longestProse || notProse.MatchString(text) {
		return nil
	}
	for _, w := range slices.Backward(readWays()) {
		if regexp.MustCompile("(?is)" + strings.Join(w.prose, "|")).MatchString(text) {
			return &w
		}
	}
	return nil
}

// The causes of the error if no session fits an error, and none is broken, or none of those that may show it.
var (
	errNoCulprit   = errors.New("no session fits this error, and none is broken")
	errNoCandidate = errors.New("no session fits this error")
)

// offerWays asks which of the ways it is, and goes on there. Without a terminal it lists them with their commands, and returns err.
func offerWays(ctx context.Context, env *environment, f repairFlags, err error) error {
	all := readWays()
	rows := make([][]string, len(all))
	for i, w := range all {
		rows[i] = []string{w.What}
	}
	if env.CanAsk && !env.JSON {
		env.Say("%s", sentenceCase(err.Error()))
		i, err := env.Pick(ctx, "What happened?", rows)
		if err != nil {
			return err
		}
		return goWay(ctx, env, f, all[i])
	}
	for i, w := range all {
		rows[i] = append(rows[i], strings.Join(w.Commands, ", "))
	}
	env.setAnswer("ways", all)
	env.Say("What happened?")
	env.PrintRows(rows, "  ")
	return err
}

// goWay does what helps after a conversation was lost in one of the ways, or shows the commands.
func goWay(ctx context.Context, env *environment, f repairFlags, w way) (err error) {
	switch w.Name {
	case "damaged":
		clients, left := openAll(ctx, env, !f.dryRun)
		return fail.Worst(checkDatabases(ctx, env, clients, f), fail.Worst(left, errProblems))
	case "each_prompt":
		if env.CanAsk && !env.JSON {
			if f.errorText, err = askForError(ctx, env); err != nil {
				return err
			}
			return runRepair(ctx, env, nil, f)
		}
		env.Say("With the text of that error: %s", term.Command(w.Commands[0]))
		return errProblems
	case "not_listed":
		if err = runMoveGone(ctx, env, writeFlags{dryRun: f.dryRun, force: f.force}); ctx.Err() != nil {
			return err
		}
		env.Printf("\n")
	case "forgotten":
		env.Say("If the agent compacted the session: %s", term.Command(w.Commands[1]))
	}
	err = fail.Worst(err, showLost(ctx, env, f))
	if w.Name == "deleted" && errors.Is(err, errProblems) {
		env.Say("Without a copy mend brings no session back; the prompts of sessions that Claude Code deleted stay in its file history.jsonl. For copies from now on: %s", term.Command("mend keep --on"))
	}
	return err
}

// checkDatabases checks the databases of the stores. It salvages the first that is damaged if the user agrees; without a terminal the error is the damage.
func checkDatabases(ctx context.Context, env *environment, clients []*mend.Store, f repairFlags) error {
	for _, c := range clients {
		done := env.Busy("checking the database ...")
		err := c.CheckFile(ctx, 0)
		done()
		switch _, hint := fail.Of(err); {
		case hint != change.SalvageHint && hint != change.DiskHint:
			continue
		case !env.CanAsk || env.JSON:
			return err
		}
		env.opt.Store, env.opt.Layout = c.ID().Root, ""
		return runSalvage(ctx, env, f.writeFlags)
	}
	env.Say("mend checked the databases: none of them is damaged now.")
	return nil
}

// showNext shows what helps where no repair answers an error: a session whose newest answer failed with it, those that are broken, or the newest.
func showNext(ctx context.Context, env *environment, clients []*mend.Store, readings []repair.APIError) error {
	var found []culprit.Culprit
	var heads []change.Head
	for _, c := range clients {
		all, err := c.Sessions(ctx)
		if err != nil {
			continue // scan says so
		}
		heads = append(heads, all...)
		fit, err := culprit.Find(ctx, c, all, readings, workingFolder(), func() {})
		if err != nil {
			return err
		}
		found = append(found, fit...)
	}
	command := "report"
	if readings[0].Class == repair.ContextTooLong {
		command = "trim"
	}
	head, err := mend.Named(heads, ".", workingFolder())
	if errors.Is(err, mend.ErrNoSession) {
		head, err = mend.Named(heads, "@", workingFolder())
	}
	one := slices.IndexFunc(found, func(x culprit.Culprit) bool { return x.Match.Degree != repair.IsBroken })
	switch {
	case one >= 0:
		head = found[one].Session
		printCulprit(env, found[one])
	case len(found) > 0:
		head, command = found[0].Session, "repair"
		env.Say("%s", sentenceCase(broken(len(found), len(heads))))
		listCulprits(env, found, culpritRows(env.Terminal, found))
	case err != nil || readings[0].About == request.AboutStore:
		env.Say("No session is broken: mend looked at %s.", term.Count(len(heads), "session"))
		return errProblems
	default:
		env.Say("No session is broken. The newest is %s %s.", term.Bold(term.Escape(head.ID)), quotedTitle(head.Title, "(no title)"))
	}
	command = env.cmdline(command, head.ID)
	env.setAnswer("next", command)
	env.Say("Next: %s", term.Command(command))
	return errProblems
}
