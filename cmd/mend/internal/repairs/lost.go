package repairs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/culprit"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/repair"
)

// notFound matches the errors of an agent that cannot find a session.
var notFound = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)no conversations? found|no deferred tool marker|session[^.\n]{0,80}not found|(not found|no longer) on disk|no cli sessions to import|tab points to no longer exists|no such session|session does(n't| not) exist`)
})

// notFoundName matches the name of a session in the error of an agent that finds no such session.
var notFoundName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)(?:no conversations? found|no sessions? match|provided value)[^"]{0,40}"([^"]+)"` +
		`|no saved session found with id (.{1,120}?)(?:\. run |\.?$)|\bsession (.{1,120}?) was not found`)
})

// nameNotFound returns the name of a session in the error of an agent that finds no such session, "" for none.
func nameNotFound(text string) string {
	m := notFoundName().FindStringSubmatch(text)
	return strings.Join(strings.Fields(strings.Join(m[min(len(m), 1):], "")), " ")
}

// appError matches the errors of desktop apps that cannot find a session.
var appError = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)session not found on disk|no cli sessions to import|tab points to no longer exists`)
})

// notTitle matches texts that are more likely an error than the title of a session.
var notTitle = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)error|exception|fail|invalid|denied|[{}\n]|: `) })

// longestTitle is the maximum length in bytes of a text that is looked up as a title.
const longestTitle = 120

// fixLost handles errors about a session that is not found, and names of sessions. It repairs or restores the session,
// or prints where it is and how to continue it. For any other text done is false.
func fixLost(ctx context.Context, env *frame.Env, f repairFlags, readings []repair.APIError) (done bool, err error) {
	text := strings.TrimSpace(readings[0].Text)
	id, isNotFound := sessionID().FindString(text), notFound().MatchString(text)
	known := slices.ContainsFunc(readings, func(e repair.APIError) bool { return e.Recognised })
	name := cmp.Or(id, nameNotFound(text))
	switch {
	case id != "" && (strings.Contains(strings.ToLower(text), "found") || text == id):
	case isNotFound, id == "" && name != "":
	case !known && len(text) <= longestTitle && !notTitle().MatchString(text):
		name = cmp.Or(id, text)
	default:
		return false, nil
	}
	if name == "" {
		return true, fixUnnamed(ctx, env, f, readings[0])
	}
	found, unread, err := frame.LookUp(ctx, env, frame.Sources{Gone: true}, []string{name})
	switch {
	case errors.Is(err, mend.ErrNoSession) && id == "" && isNotFound: // no session has the name in the error
		return true, fixUnnamed(ctx, env, f, readings[0])
	case errors.Is(err, mend.ErrNoSession) && errors.Is(unread, mend.ErrNoStore) && id == "" && !isNotFound: // it may not be a title
		printAPIError(env, readings[0])
		return true, offerWays(ctx, env, f, unread)
	case errors.Is(err, mend.ErrNoSession) && (errors.Is(unread, mend.ErrNoStore) || id != "" && env.Unkept != nil):
		return true, cmp.Or(unread, err)
	case errors.Is(err, mend.ErrNoSession) && id == text && fail.IsSalvageable(unread):
		return true, salvageFirst(ctx, env, f, unread, func(f repairFlags) error { return runRepair(ctx, env, nil, f) })
	case errors.Is(err, mend.ErrNoSession) && (id == "" || unread != nil):
		return false, nil
	case errors.Is(err, mend.ErrNoSession):
		if known {
			printAPIError(env, readings[0])
		}
		hint := fmt.Sprintf("if it is in another store, name that with --store PATH; %q lists what can be brought back", env.CommandLine("restore"))
		return true, fail.New(fail.Problems, cmp.Or(env.CleanedHint(id), hint),
			"session %s is in no store that mend looked at, and no copy of it was kept", id)
	case err != nil:
		return true, err
	}
	if known {
		printAPIError(env, readings[0])
	}
	c, left, err := frame.OpenLost(ctx, env, &found[0], unread, !f.DryRun)
	if err == nil {
		err = fixNamed(ctx, env, c, found[0].Head, f, culprit.Culprit{Session: found[0].Head, Error: readings[0], Match: repair.Match{Degree: repair.IDInText, N: -1, M: -1}})
	}
	return true, env.Both(ctx, left, err)
}

// fixUnnamed offers the sessions that can be brought back, for an error about a session that is not found.
func fixUnnamed(ctx context.Context, env *frame.Env, f repairFlags, e repair.APIError) error {
	printAPIError(env, e)
	if appError().MatchString(e.Text) {
		return showContinue(ctx, env)
	}
	return runWay(ctx, env, f, readWays()[0])
}

// fixNamed prints where a session is, and repairs or restores it, or prints how to continue it.
func fixNamed(ctx context.Context, env *frame.Env, c *mend.Store, head change.Head, f repairFlags, x culprit.Culprit) error {
	request := mend.RestoreRequest{Force: f.Force}
	lost, err := frame.ProposeRestore(ctx, env, c, head, request)
	var found mend.Finding
	if listed, lerr := c.Session(ctx, head.ID); lerr == nil {
		found, _ = c.ScanOne(ctx, listed) // a session that cannot be examined is broken
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if i := slices.IndexFunc(found.Diagnoses, func(d repair.Diagnosis) bool { return d.Severity == repair.Broken }); i >= 0 {
		x.Wrong = found.Diagnoses[i].Why
	}
	if lost.State == mend.Undone { // restore brings it back, if the user names the session
		lost.Plan.Ops = nil
	}
	if len(lost.Plan.Ops) > 0 {
		x.Wrong = "" // the restore describes it
	}
	noFolder := found.Shown() == repair.NoFolder && !found.Fixable()
	if x.Wrong != "" && !noFolder { // the repair is shown with the session
		setCulprit(env, x)
	} else {
		printCulprit(env, x)
	}
	for _, d := range found.Diagnoses {
		if d.Severity == repair.Lost && len(lost.Plan.Ops) == 0 {
			env.Say("%s", term.Sentence(d.Why)+".")
		}
	}
	switch {
	case errors.Is(err, repair.ErrBusy) && found.Fixable(): // the repair asks whether to reload the session
		return repairOne(ctx, env, c, head, f, repair.Request{Force: f.Force})
	case err != nil && (found.Session.ID == "" || !errors.Is(err, mend.ErrNothingKept) && env.Unkept == nil):
		return err
	case len(lost.Plan.Ops) > 0:
		env.Say("%s", whereText(c, head))
		command := env.CommandLine("restore", head.ID)
		env.SetAnswers(FixAnswer{Next: command})
		if text := frame.StateTexts[lost.State]; text != "" && (!env.CanAsk || env.JSON) {
			env.Say("%s", text)
		}
		if !f.Yes && !f.DryRun && (!env.CanAsk || env.JSON) {
			answer := show.NewRestoreJSON(c, head, lost)
			env.SetAnswers(FixAnswer{Restore: &answer})
			env.Say("To bring it back: %s", term.Command(command))
			return frame.ErrProblems
		}
		env.Printf("\n")
		return f.finish.Restore(ctx, env, c, head, f.WriteFlags, request)
	case noFolder:
		env.Say("%s", whereText(c, head))
		if err := frame.PrintContinue(ctx, env, c, found); !env.CanAsk || env.JSON || f.DryRun {
			return err
		}
		env.Printf("\n")
		_, err = f.finish.Move(ctx, env, f.WriteFlags)
		return err
	case found.Severity() == repair.Broken:
		return repairOne(ctx, env, c, head, f, repair.Request{Force: f.Force})
	}
	printHealthy(ctx, env, c, head)
	return nil
}

// whereText names the agent and the folder of a session.
func whereText(c *mend.Store, h change.Head) string {
	folder := "no folder"
	if h.Directory != "" {
		folder = term.ShortenHome(h.Directory)
	}
	return fmt.Sprintf("It is a session of %s in %s.", agents.Title(c.ID()), folder)
}

// showLost offers the restorable sessions, for an error that names none. If the user restores none, it also prints
// how to continue the newest session of this folder.
func showLost(ctx context.Context, env *frame.Env, f repairFlags) error {
	restored, err := f.finish.List(ctx, env, frame.WriteFlags{DryRun: f.DryRun, Force: f.Force}, mend.RestoreRequest{Force: f.Force})
	if restored || err != nil {
		return err
	}
	found, _, err := frame.LookUp(ctx, env, frame.Sources{}, []string{"."})
	if err != nil || env.JSON {
		return frame.ErrProblems
	}
	env.Say("The newest session of this folder is %s %s.", term.Bold(found[0].ID), show.QuotedTitle(found[0].Title, "(no title)"))
	env.PrintContinueCommand(ctx, found[0].Store, found[0].Head, "it")
	return frame.ErrProblems
}
