package main

import (
	"context"
	"fmt"
	"time"

	"mend/change"
	"mend/internal/mend"
	"mend/internal/term"
)

// An effectJSON compares an entry with the current records, and has the effect of repeating its change.
type effectJSON struct {
	Holds   int    `json:"holds"`
	Before  int    `json:"before"`
	Other   int    `json:"other"`
	Changes *int   `json:"changes"` // null if it was not planned
	Why     string `json:"why,omitempty"`
}

// A nowEffect is a [mend.Effect], or the reason why it is unknown.
type nowEffect struct {
	mend.Effect
	unknown error
}

// effectOf computes the current effect of an entry from its store. It releases the journal first.
func effectOf(ctx context.Context, env *environment, e change.Entry, release func()) (x nowEffect) {
	c, err := openStoreOf(ctx, env, e, false)
	if release(); err == nil {
		x.Effect, err = c.Effect(ctx, e)
	}
	x.unknown = err
	return x
}

// json returns the effect in the form of a JSON answer.
func (x nowEffect) json() *effectJSON {
	if x.unknown != nil {
		return &effectJSON{Why: "not known: " + x.unknown.Error()}
	}
	j := &effectJSON{Holds: x.Holds, Before: x.Before, Other: x.Other}
	if x.Planned {
		j.Changes = &x.Changes
	}
	if x.Refused != nil {
		j.Why = x.Refused.Error()
	}
	return j
}

// text describes the current records, and the effect of repeating the change.
func (x nowEffect) text() (texts []string) {
	if x.unknown != nil {
		return []string{"not known: " + term.Escape(x.unknown.Error())}
	}
	for _, t := range [...]struct {
		n    int
		what string
	}{{x.Holds, "as the repair left it"}, {x.Before, "as before the repair"}, {x.Other, "changed by something else"}} {
		if t.n > 0 {
			texts = append(texts, fmt.Sprintf("%s %s", term.CountWords(t.n, "place is", "places are"), t.what))
		}
	}
	switch {
	case x.Refused != nil:
		texts = append(texts, "doing it again: "+term.Escape(x.Refused.Error()))
	case x.Planned && x.Changes == 0:
		texts = append(texts, "doing it again would change nothing")
	case x.Planned:
		texts = append(texts, fmt.Sprintf("doing it again would make %s", term.Count(x.Changes, "change")))
	}
	return texts
}

// relatedTexts names the entries that changed the same records, with their times.
func relatedTexts(es []change.Entry) (texts []string) {
	for _, e := range es {
		by := "unknown"
		if e.Actor != nil {
			by = actorName(e.Actor) + ", " + term.OneLine(string(e.Actor.Channel), 20)
		}
		texts = append(texts, fmt.Sprintf("%s  %s, %s", e.ID, causeText(e), term.Age(time.Since(e.Time))), "        by "+by)
	}
	return texts
}

// relate sets the entries that changed the same records before and after.
func (r *repairJSON) relate(to mend.Related) {
	r.Follows, r.Again = idsOf(to.Follows), idsOf(to.Again)
}

// isRepair reports whether the entry repaired findings.
func isRepair(e change.Entry) bool {
	return e.Cause.Kind == change.CauseScan || e.Cause.Kind == change.CauseError
}

// earlierRepair returns the nearest repair of the same records before a repair, "" for none.
func earlierRepair(e change.Entry, to mend.Related) string {
	for _, f := range to.Follows {
		if isRepair(e) && isRepair(f) {
			return f.ID
		}
	}
	return ""
}
