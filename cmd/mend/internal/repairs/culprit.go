package repairs

import (
	"cmp"
	"context"
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
	"mend/internal/request"
	"mend/internal/term"
	"mend/repair"
)

// uncertainCulprit returns the error if it is uncertain which of the found sessions an API error came from, and no user
// can be asked. searched is the result of brokenText.
func uncertainCulprit(found []culprit.Culprit, searched string) error {
	hint := "if it is the first of these: mend fix " + found[0].Session.ID
	if found[0].Hidden {
		hint += " --error TEXT"
	}
	what := term.CountWords(len(found), "session may match", "sessions may match")
	if found[0].Match.Degree == repair.IsBroken {
		what = "no session would produce it now; " + searched
	}
	return fail.New(fail.Refused, hint, "finding the session of the error: %s", what)
}

// noCulprit returns the error if no session matches an API error, and none is broken. searched describes the stores and
// sessions that were searched.
func noCulprit(env *frame.Env, searched string) error {
	hint := fmt.Sprintf("if the session is in another store, name that with --store PATH. Otherwise send the prompt again: the cause may be gone; if the agent still fails, %q makes a page about the session for a bug report",
		env.CommandLine("report")+" SESSION")
	return fail.New(fail.Problems, hint, "%w: looked at %s", errNoCulprit, searched)
}

// A culpritSearch has the sessions that may match an error, those with the best match, and what was searched.
type culpritSearch struct {
	found    []culprit.Culprit
	heads    []change.Head          // all sessions
	stores   map[string]*mend.Store // by session id
	searched []string               // the stores in words
}

// searchCulprits looks for the session of an error in all stores. It skips those that cannot be read, and returns the
// worst of unread and their errors.
func searchCulprits(ctx context.Context, env *frame.Env, clients []*mend.Store, readings []repair.APIError, unread error) (culpritSearch, error) {
	s := culpritSearch{stores: map[string]*mend.Store{}}
	for _, c := range clients {
		all, err := c.Sessions(ctx)
		if err == nil {
			err = c.Changeable(ctx) // the sessions of such a store are not judged
		}
		var found []culprit.Culprit
		if err == nil {
			bar := env.Progress(len(all), "looking for the session")
			found, err = culprit.Find(ctx, c, all, readings, show.WorkingFolder(), bar.Step)
			bar.Clear()
		}
		if err != nil {
			unread = env.SkipStore(ctx, unread, err)
			continue
		}
		s.heads = append(s.heads, all...)
		s.searched = append(s.searched, fmt.Sprintf("%s of %s in %s", term.Count(len(all), "session"), agents.Title(c.ID()), term.ShortenHome(c.ID().Root)))
		for _, h := range all {
			s.stores[h.ID] = c
		}
		switch {
		case len(s.found) == 0 || len(found) > 0 && found[0].Match.Degree > s.found[0].Match.Degree:
			s.found = found
		case len(found) > 0 && found[0].Match.Degree == s.found[0].Match.Degree:
			s.found = append(s.found, found...)
		}
	}
	return s, unread
}

// findCulprit returns the session that the error came from, its store, and the reading of the error that matches. If
// the session is uncertain, findCulprit asks; if none matches, it offers the broken ones. If no session is broken, or
// no user can be asked, and a store could not be read that may have the session, it returns the error of that store.
// unread is the error of the stores that could not be opened.
func findCulprit(ctx context.Context, env *frame.Env, clients []*mend.Store, readings []repair.APIError, f repairFlags, unread error) (x culprit.Culprit, c *mend.Store, err error) {
	m, unread := searchCulprits(ctx, env, clients, readings, unread)
	if ctx.Err() != nil {
		return x, nil, ctx.Err()
	}
	found := m.found
	guessed := len(found) > 0 && found[0].Match.Degree == repair.IsBroken && (!env.CanAsk || env.JSON)
	if unread != nil && (len(found) == 0 || guessed) { // the session may be in that store
		if guessed {
			listCulprits(env, found)
		}
		return x, nil, unread
	}
	if len(found) == 0 {
		return x, nil, noCulprit(env, strings.Join(m.searched, ", "))
	}
	slices.SortStableFunc(found, func(a, b culprit.Culprit) int { return cmp.Compare(b.Session.Updated, a.Session.Updated) })
	request.MoveFirst(found, func(c culprit.Culprit) bool { return c.Failed })
	here := mend.Here(m.heads, show.WorkingFolder())
	request.MoveFirst(found, func(c culprit.Culprit) bool { return here(c.Session) })
	x, ok := certainCulprit(found)
	if !ok {
		broken := brokenText(len(found), len(m.heads))
		if found[0].Error.Recognised { // sessions that cannot cause it were left out
			broken += " and may have caused it"
		}
		if x, err = chooseCulprit(ctx, env, found, broken, f); err != nil {
			return x, nil, err
		}
	}
	if setCulprit(env, x); x.Match.Degree != repair.IsBroken { // for a broken session the repair shows the findings
		printCulprit(env, x)
	}
	return x, m.stores[x.Session.ID], nil
}

// brokenText returns the text "N of ALL sessions are broken".
func brokenText(n, all int) string {
	return fmt.Sprintf("%d of %s %s broken", n, term.Count(all, "session"), map[bool]string{true: "is", false: "are"}[n == 1])
}

// chooseCulprit lets the user choose the session that the error came from. It does not ask if there is only one and a
// question or a dry run follows. Without a terminal it returns the error of uncertainCulprit.
func chooseCulprit(ctx context.Context, env *frame.Env, found []culprit.Culprit, searched string, f repairFlags) (culprit.Culprit, error) {
	if (!env.CanAsk || env.JSON) && (!f.DryRun || len(found) > 1) {
		listCulprits(env, found)
		return culprit.Culprit{}, uncertainCulprit(found, searched)
	}
	title := "Which session did this error come from?"
	if found[0].Match.Degree == repair.IsBroken {
		if found[0].Error.Recognised {
			searched = "No session would produce this error now. " + show.SentenceCase(searched)
		}
		env.Say("%s", show.SentenceCase(searched))
		title = "Is it one of these?"
	}
	if len(found) == 1 && (f.DryRun || !f.Yes) { // the repair is shown and confirmed
		return found[0], nil
	}
	i, err := env.Pick(ctx, title, culpritRows(env.Terminal, found))
	if err != nil {
		return culprit.Culprit{}, err
	}
	return found[i], nil
}

// sessionID matches an agent's session id.
var sessionID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`ses_[0-9A-Za-z]{20,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
})

// certainCulprit returns the session of an error if it is unambiguous:
//   - If the text names sessions: the only one that it names, or the only one of these that is broken.
//   - Of sessions that break the rule: the only one, or the only one that failed with the error.
//   - Otherwise: the newest session of the current folder that failed with the error, or the only session that failed;
//     or, if the error names no block, the only session with a finding of its class.
func certainCulprit(found []culprit.Culprit) (culprit.Culprit, bool) {
	switch degree := found[0].Match.Degree; {
	case degree == repair.IsBroken, degree == repair.BreaksElsewhere:
		return culprit.Culprit{}, false
	case degree == repair.HasClass && (found[0].Error.Index >= 0 || len(found[0].Error.Calls) > 0):
		return culprit.Culprit{}, false
	case degree == repair.IDInText:
		wrong := slices.DeleteFunc(slices.Clone(found), func(x culprit.Culprit) bool { return x.Wrong == "" })
		if len(wrong) == 1 {
			return wrong[0], true
		}
		return found[0], len(found) == 1
	case len(found) == 1, degree != repair.FailedWithIt && found[0].Failed && !found[1].Failed:
		return found[0], true
	case degree == repair.FailedWithIt:
		here := mend.Here(culprit.SessionsOf(found), show.WorkingFolder())
		return found[0], here(found[0].Session) // sessions of the current folder come first
	}
	return culprit.Culprit{}, false
}

// isHealthyByName reports whether the text only names the session, and the session is not broken.
func isHealthyByName(x culprit.Culprit) bool {
	return x.Wrong == "" && !x.Hidden && x.Match.Degree == repair.IDInText
}

// printHealthy prints where a healthy session is, and how to continue it.
func printHealthy(ctx context.Context, env *frame.Env, c *mend.Store, h change.Head) {
	env.Say("Nothing in it is broken. %s", whereText(c, h))
	env.PrintContinueCommand(ctx, c, h, "it")
}

// printCulprit prints the session that the error came from, and why it was chosen.
func printCulprit(env *frame.Env, x culprit.Culprit) {
	setCulprit(env, x)
	env.Say("%s %s: %s.", term.Bold(x.Session.ID), show.QuotedTitle(x.Session.Title, "(no title)"), reasonOf(x))
}

func setCulprit(env *frame.Env, x culprit.Culprit) {
	found := culpritJSON(x)
	env.SetAnswers(FixAnswer{Culprit: &found})
}

// listCulprits lists the possible sessions of the error.
func listCulprits(env *frame.Env, found []culprit.Culprit) {
	list := []culpritAnswer{}
	for _, x := range found {
		list = append(list, culpritJSON(x))
	}
	env.SetAnswers(FixAnswer{Candidates: list})
	env.PrintRows(culpritRows(env.Terminal, found), "  ")
	env.Printf("\n")
}

func culpritJSON(x culprit.Culprit) culpritAnswer {
	return culpritAnswer{x.Session.ID, x.Session.Title, x.Session.Directory, reasonOf(x)}
}

type culpritAnswer struct {
	Session   string `json:"session"`
	Title     string `json:"title"`
	Directory string `json:"directory"`
	Why       string `json:"why"`
}

// culpritRows returns a row for each session: its id, age and title, and where it breaks the rule or what is wrong.
func culpritRows(t *term.Terminal, found []culprit.Culprit) [][]any {
	rows := show.SessionRows(t, culprit.SessionsOf(found), culprit.SessionsOf(found))
	for i, x := range found {
		last := len(rows[i]) - 1
		if t.Width > 0 {
			rows[i][last] = term.Cut(show.SessionTitle(x.Session), t.Width/3)
		}
		why := placeOf(x)
		if why == "" {
			why = term.OneLine(term.FirstSentence(x.Wrong), 60)
		}
		rows[i] = append(rows[i], why)
	}
	return rows
}

// reasonOf describes why the error may come from the session.
func reasonOf(x culprit.Culprit) string {
	wrong, where := term.FirstSentence(x.Wrong), placeOf(x)
	var reason string
	switch x.Match.Degree {
	case repair.FailedWithIt:
		return "its newest answer failed with this error"
	case repair.IsBroken:
		reason = "it is broken: " + wrong
	case repair.HasContent:
		reason = "it has such content, and only the provider knows whether that causes the error"
	case repair.HasQuoted:
		reason = "it has the content that the error names, at " + where
	case repair.HasClass:
		reason = "one of its findings matches this error"
	case repair.IDInText:
		if reason = "you named it"; wrong != "" {
			reason += ", and it is broken: " + wrong
		}
	case repair.BreaksElsewhere:
		reason = fmt.Sprintf("its next request breaks this rule (%s), but at %s", x.Match.Rule, where)
	case repair.BreaksItOtherwise:
		reason = fmt.Sprintf("its next request breaks this rule (%s) at %s in another setting of the agent", x.Match.Rule, where)
	default:
		reason = fmt.Sprintf("its next request breaks this rule (%s) at %s", x.Match.Rule, where)
		if where == "" {
			reason = fmt.Sprintf("the agent fails on it with this error (%s)", x.Match.Rule)
		}
	}
	if x.Failed {
		reason += ", and its newest answer failed with this error"
	}
	return reason
}

// placeOf returns the position of the match as in the API's errors, "" for none.
func placeOf(x culprit.Culprit) string {
	n, m := x.Match.N, x.Match.M
	if n < 0 {
		return ""
	}
	list, parts := "messages.%d", ".content.%d"
	switch x.Error.API {
	case "openai":
		list, parts = "input[%d]", ".content[%d]"
	case "gemini":
		list, parts = "contents[%d]", ".parts[%d]"
	}
	text := fmt.Sprintf(list, n)
	if m >= 0 {
		text += fmt.Sprintf(parts, m)
	}
	return text
}
