package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"mend/change"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/repair"
)

// A sessionFilter says which sessions a verb is about if the user names none.
type sessionFilter struct {
	here  bool
	since string // an age, "" for any
}

func (f *sessionFilter) add(fl *pflag.FlagSet) {
	fl.BoolVar(&f.here, "here", false, "only sessions of this folder")
	fl.StringVar(&f.since, "since", "", "only what was used in the last `AGE`, such as 7d or 12h")
}

// all reports whether the filter leaves every session.
func (f *sessionFilter) all() bool { return !f.here && f.since == "" }

// after returns the time from which on sessions are wanted, zero for any time.
func (f *sessionFilter) after() (time.Time, error) {
	if f.since == "" {
		return time.Time{}, nil
	}
	d, err := parseAge("since", f.since)
	return time.Now().Add(-d), err
}

// apply returns the sessions that the filter leaves: those of this folder first. It may change the
// order of heads.
func (f *sessionFilter) apply(heads []change.Head) ([]change.Head, error) {
	after, err := f.after()
	if err != nil {
		return nil, err
	}
	here := mend.Here(heads, workingFolder())
	if !f.all() {
		heads = slices.DeleteFunc(slices.Clone(heads), func(h change.Head) bool {
			return f.here && !here(h) || max(h.Updated, h.Created) < after.UnixMilli()
		})
	}
	firstIf(heads, here)
	return heads, nil
}

// selectSessions returns those of all sessions that the user names, or if there are no names those
// that the filter leaves: those of this folder first, and the newest of both.
func selectSessions(ctx context.Context, env *environment, all []change.Head, names []string, f sessionFilter) ([]change.Head, error) {
	if len(names) == 0 {
		return f.apply(all)
	}
	if !f.all() {
		return nil, usagef("--here and --since go without a session")
	}
	var heads []change.Head
	for _, name := range names {
		h, err := findNamed(ctx, env, all, name)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(heads, func(o change.Head) bool { return o.ID == h.ID }) {
			heads = append(heads, h)
		}
	}
	return heads, nil
}

// findSession returns the session that the user names.
func findSession(ctx context.Context, env *environment, c *mend.Store, name string) (change.Head, error) {
	all, err := c.Sessions(ctx)
	if err != nil {
		return change.Head{}, err
	}
	return findNamed(ctx, env, all, name)
}

// findNamed returns the session with the name. If several have it, the user picks one, once for a name;
// without a terminal it lists them on stderr.
func findNamed(ctx context.Context, env *environment, all []change.Head, name string) (change.Head, error) {
	h, err := mend.Named(all, name, workingFolder())
	several, ok := errors.AsType[*mend.AmbiguousNameError](err)
	if !ok || env.JSON {
		return h, err
	}
	if i := slices.IndexFunc(several.Sessions, func(h change.Head) bool { return h.ID == env.picked[name] }); i >= 0 {
		return several.Sessions[i], nil
	}
	if !env.CanAsk {
		listAmbiguous(env.Terminal, several.Sessions, all)
		return h, err
	}
	found := slices.Clone(several.Sessions)
	hereFirst(found)
	i, err := env.Pick(ctx, fmt.Sprintf("Several sessions are called %q. Which one?", term.OneLine(name, 30)), sessionRows(env.Terminal, found, all))
	if err != nil {
		return change.Head{}, err
	}
	if env.picked == nil {
		env.picked = map[string]string{}
	}
	env.picked[name] = found[i].ID
	return found[i], nil
}

// maxAmbiguous is how many sessions are listed that have one name.
const maxAmbiguous = 10

func listAmbiguous(t *term.Terminal, found, all []change.Head) {
	found = slices.Clone(found)
	hereFirst(found)
	for _, line := range term.Align(sessionRows(t, found[:min(len(found), maxAmbiguous)], all), t.Width) {
		t.PrintErr("%s\n", line)
	}
	if n := len(found) - maxAmbiguous; n > 0 {
		t.PrintErr("%s\n", term.Faint(fmt.Sprintf("and %d more", n)))
	}
}

// pickIfNone returns the names of sessions that the user gave, or the one that the user picks of all, those of this
// folder first. Without a terminal the error says that the verb needs a session.
func pickIfNone(ctx context.Context, env *environment, names []string, verb string) ([]string, error) {
	if len(names) > 0 {
		return names, nil
	}
	heads, _, unread := sessionsOf(ctx, agentOptions(env))
	switch {
	case len(heads) == 0 && unread != nil:
		return nil, unread
	case !env.CanAsk:
		return nil, fail.New(fail.Usage, "name one by its id, its title, . for the newest of this folder, or @ for the newest of all", "%s needs one session", verb)
	case len(heads) == 0:
		return nil, fmt.Errorf("%w: the store has none", mend.ErrNoSession)
	}
	hereFirst(heads)
	i, err := env.Pick(ctx, "Which session?", sessionRows(env.Terminal, heads, heads))
	if err != nil {
		return nil, err
	}
	return []string{heads[i].ID}, nil
}

// parseClasses returns the classes with these names.
func parseClasses(env *environment, names []string) (classes []repair.Class, err error) {
	for _, name := range names {
		class := repair.Class(name)
		if !slices.Contains(env.opt.Agents.Classes(), class) {
			return nil, usagef("--class %s: no such class; there are %s", name, classList(env))
		}
		classes = append(classes, class)
	}
	return classes, nil
}

// parseWhen parses a time that a flag has: an age, a date or a time; zero for "".
func parseWhen(flag, s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, s, time.Local); err == nil {
		return t, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	d, err := parseAge(flag, s)
	if err != nil {
		return time.Time{}, usagef("--%s %s: want an age such as 7d or 12h, a date such as 2026-03-31, or a time such as 2026-03-31T14:30:00Z", flag, s)
	}
	return now.Add(-d), nil
}

// parseAge parses the age that a flag has: a duration, or a number of days or weeks.
func parseAge(flag, s string) (time.Duration, error) {
	for unit, hours := range map[string]time.Duration{"d": 24, "w": 7 * 24} {
		if number, ok := strings.CutSuffix(s, unit); ok {
			n, err := strconv.ParseUint(number, 10, 16)
			if err != nil {
				return 0, usagef("--%s %s: want an age such as 90d or 12h", flag, s)
			}
			return time.Duration(n) * hours * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, usagef("--%s %s: want an age such as 90d or 12h", flag, s)
	}
	return d, nil
}
