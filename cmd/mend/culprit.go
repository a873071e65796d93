package main

import (
	"context"
	"fmt"
	"slices"

	"mend"
	"mend/repair"
)

// A culpritError is returned if several sessions, or none for certain, may have caused an API
// error and no user can be asked.
type culpritError struct{ found []mend.Culprit }

func (e *culpritError) Error() string {
	if len(e.found) == 1 {
		return "finding the session of the error: it is not certain which one it is"
	}
	return fmt.Sprintf("finding the session of the error: %d sessions fit", len(e.found))
}

// A noCulpritError is returned if no session fits an API error.
type noCulpritError struct {
	looked     int    // how many sessions were looked at
	recognised bool   // mend knows the error
	scan       string // the command that lists what is broken
}

func (e *noCulpritError) Error() string {
	return fmt.Sprintf("no session fits this error: looked at %s", count(e.looked, "session"))
}

func (e *noCulpritError) hint() string {
	if !e.recognised {
		return fmt.Sprintf("mend does not know the error, and no session's last answer failed with it. %q lists what is broken", e.scan)
	}
	return fmt.Sprintf("no next request breaks the rule of the error at its place, and no last answer failed with it. "+
		"%q lists what is broken; \"mend repair SESSION --error TEXT\" repairs a session that you name", e.scan)
}

// findCulprit returns the session that the error came from, with the reading of the error that
// fits it, and its store. If that is not certain it asks. If no session fits, it may be one of a
// store that cannot be read: then the error is that of the store, or unread, which is that of the
// stores that could not be opened.
func (a *app) findCulprit(ctx context.Context, clients []*mend.Client, readings []repair.APIError, unread error) (x mend.Culprit, c *mend.Client, err error) {
	var found []mend.Culprit
	stores := map[string]*mend.Client{} // by session
	looked := 0
	for _, c := range clients {
		heads, err := c.Sessions(ctx)
		if err != nil {
			unread = a.skipStore(ctx, unread, err)
			continue
		}
		looked += len(heads)
		bar := a.progress(len(heads), "looking for the session")
		culprits, err := c.FindCulprits(ctx, heads, readings, workingFolder(), bar.step)
		bar.clear()
		if err != nil {
			return x, nil, err
		}
		if len(culprits) == 0 || len(found) > 0 && culprits[0].Match.Degree < found[0].Match.Degree {
			continue
		}
		if len(found) > 0 && culprits[0].Match.Degree > found[0].Match.Degree {
			found = nil
		}
		found = append(found, culprits...)
		for _, x := range culprits {
			stores[x.Session.ID] = c
		}
	}
	if len(found) == 0 && unread != nil {
		return x, nil, unread
	}
	if len(found) == 0 {
		return x, nil, &noCulpritError{looked, readings[0].Recognised, a.cmdline("scan")}
	}
	firstIf(found, func(c mend.Culprit) bool { return c.Failed })
	x, ok := certain(found)
	if !ok {
		rows := a.culpritRows(found)
		if !a.canAsk {
			a.listCulprits(found, rows)
			return x, nil, &culpritError{found}
		}
		i, err := a.pick(ctx, "Which session did this error come from?", rows)
		if err != nil {
			return x, nil, err
		}
		x = found[i]
	}
	a.printCulprit(x)
	return x, stores[x.Session.ID], nil
}

// certain returns the session that an error came from if nothing speaks for another one: the
// only one that breaks the rule, or of these the only one that failed with the error; or the newest of the working folder that failed with the
// error, or else the only one that did.
func certain(found []mend.Culprit) (mend.Culprit, bool) {
	switch degree := found[0].Match.Degree; {
	case degree == repair.BreaksElsewhere:
		return mend.Culprit{}, false
	case len(found) == 1, degree != repair.FailedWithIt && found[0].Failed && !found[1].Failed:
		return found[0], true
	case degree == repair.FailedWithIt:
		here := mend.Here(mend.SessionsOf(found), workingFolder())
		return found[0], here(found[0].Session) // those of the folder come first
	}
	return mend.Culprit{}, false
}

// printCulprit prints the session that the error came from, and why.
func (a *app) printCulprit(x mend.Culprit) {
	a.setAnswer("culprit", culpritJSON(x))
	a.say("%s %s: %s.", bold(escape(x.Session.ID)), quotedTitle(x.Session.Title, "(no title)"), reasonOf(x))
}

// listCulprits lists the sessions that may have caused the error.
func (a *app) listCulprits(found []mend.Culprit, rows [][]string) {
	list := []map[string]any{}
	for _, x := range found {
		list = append(list, culpritJSON(x))
	}
	a.setAnswer("candidates", list)
	a.printRows(rows, "  ")
	a.printf("\n")
}

func culpritJSON(x mend.Culprit) map[string]any {
	return map[string]any{"session": x.Session.ID, "title": x.Session.Title, "directory": x.Session.Directory, "why": reasonOf(x)}
}

// culpritRows returns a row for each session: its id, why it fits, and the rest.
func (a *app) culpritRows(found []mend.Culprit) [][]string {
	rows := a.sessionRows(mend.SessionsOf(found), mend.SessionsOf(found))
	for i, x := range found {
		rows[i] = slices.Insert(rows[i], 1, placeOf(x))
	}
	return rows
}

// reasonOf says why the error came from the session.
func reasonOf(x mend.Culprit) string {
	if x.Failed && x.Match.Degree != repair.FailedWithIt {
		x.Failed = false
		return reasonOf(x) + ", and its newest answer failed with this error"
	}
	switch where := placeOf(x); x.Match.Degree {
	case repair.FailedWithIt:
		return "its newest answer failed with this error"
	case repair.BreaksElsewhere:
		return fmt.Sprintf("its next request breaks this rule (%s), but at %s", x.Match.Rule, where)
	case repair.BreaksItOtherwise:
		return fmt.Sprintf("its next request breaks this rule (%s) at %s in another setting of the agent", x.Match.Rule, where)
	default:
		if x.Match.N < 0 {
			return fmt.Sprintf("the agent fails on it with this error (%s)", x.Match.Rule)
		}
		return fmt.Sprintf("its next request breaks this rule (%s) at %s", x.Match.Rule, where)
	}
}

// placeOf returns the place of the match in the words of the API, "" for none.
func placeOf(x mend.Culprit) string {
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
