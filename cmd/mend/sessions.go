package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"mend/change"
	"mend/internal/fail"
	"mend/internal/keep"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/journal"
	"mend/repair"
)

// A sessionFilter selects sessions if the user names none.
type sessionFilter struct {
	here  bool
	since string // a time, "" for any
}

// add adds the flags of the filter.
func (f *sessionFilter) add(fl *pflag.FlagSet) {
	fl.BoolVar(&f.here, "here", false, "only sessions of this folder")
	fl.StringVar(&f.since, "since", "", "only sessions used since `WHEN`: an age such as 7d or 12h, a date or a time")
}

// all reports whether the filter selects every session.
func (f *sessionFilter) all() bool { return !f.here && f.since == "" }

// apply returns the selected sessions, this folder's first. It may change the order of heads.
func (f *sessionFilter) apply(heads []change.Head) ([]change.Head, error) {
	after, err := parseWhen("since", f.since, time.Now())
	if err != nil {
		return nil, err
	}
	here := mend.Here(heads, workingFolder())
	if !f.all() {
		heads = slices.DeleteFunc(slices.Clone(heads), func(h change.Head) bool {
			return f.here && !here(h) || max(h.Updated, h.Created) < after.UnixMilli()
		})
	}
	moveToFront(heads, here)
	return heads, nil
}

// A namedSession is a session that a name can mean.
type namedSession struct {
	change.Head
	storeID change.StoreID // the store that has or had it
	store   *mend.Store    // nil if no readable store has it
}

// The sources of sessions, besides the sessions of the stores, that a name can mean.
type sources struct {
	gone    bool // restorable sessions, from a copy or from another store of the agent
	copies  bool // all copies
	journal bool
}

// alsoNamed has the sources for the verbs that accept names of sessions which no store has.
var alsoNamed = map[string]sources{
	"restore": {gone: true},
	"forget":  {copies: true, journal: true},
	"log":     {copies: true, journal: true},
	"undo":    {journal: true},
}

// namedSessions returns all sessions that a name can mean, from the stores of all agents: sessions that an
// agent has, newest first, and then the others, newest first. unread is the worst error of the stores that
// cannot be read.
func namedSessions(ctx context.Context, env *environment, also sources) (all []namedSession, unread, err error) {
	var stores []*mend.Store
	for _, o := range agentOptions(env) {
		c, err := mend.Open(o)
		var heads []change.Head
		if err == nil {
			heads, err = c.Sessions(ctx)
		}
		if err != nil {
			unread = fail.Worst(unread, err)
			continue
		}
		stores = append(stores, c)
		for _, h := range heads {
			all = append(all, namedSession{h, c.ID(), c})
		}
	}
	newestFirst := func(x, y namedSession) int {
		return cmp.Compare(max(y.Updated, y.Created), max(x.Updated, x.Created))
	}
	slices.SortStableFunc(all, newestFirst)
	known := map[string]bool{}
	for _, s := range all {
		known[s.ID] = true
	}
	var others []namedSession
	add := func(h change.Head, store change.StoreID, c *mend.Store) {
		if h.ID != "" && !known[h.ID] {
			known[h.ID], others = true, append(others, namedSession{h, store, c})
		}
	}
	if also.gone || also.copies {
		err = withKept(env, func(k *keep.Keep) error {
			if k != nil && also.copies {
				states, err := k.States(keep.Query{Agent: env.agentName})
				for _, s := range states { // newest first
					add(s.Head(), s.Store, nil)
				}
				return err
			}
			if also.copies {
				return nil
			}
			for _, c := range stores {
				gone, beside, err := c.Gone(ctx, k)
				unread = fail.Worst(unread, beside)
				if err != nil {
					return err
				}
				for _, h := range gone {
					add(h, c.ID(), c)
				}
			}
			unfound, err := listUnfound(ctx, env, stores, k)
			for _, x := range unfound {
				add(x.Session, x.storeID(), nil)
			}
			return cmp.Or(err, ctx.Err())
		})
	}
	if also.journal && err == nil {
		var es []change.Entry
		if es, err = env.opt.Journal.Log(journal.Query{Agent: env.agentName}); errors.Is(err, journal.ErrDamaged) {
			err = nil // the readable part is enough to find a session
		}
		for _, e := range es {
			add(change.Head{ID: e.Session, Title: e.Cause.Title, Directory: e.Cause.Folder}, e.Store, nil)
		}
	}
	slices.SortStableFunc(others, newestFirst)
	return append(all, others...), unread, err
}

// lookUp returns the sessions that a user names, each once. It reads no store for the whole id of a session that the
// journal may know. unread is the worst error of the stores that cannot be read: a session that is not found may be in
// one of them.
func lookUp(ctx context.Context, env *environment, also sources, names []string) (found []namedSession, unread, err error) {
	if also.journal && len(names) == 1 {
		es, err := env.opt.Journal.Log(journal.Query{Session: names[0], Agent: env.agentName, Limit: 1})
		if i := slices.IndexFunc(es, func(e change.Entry) bool { return e.Session == names[0] }); i >= 0 {
			return []namedSession{{change.Head{ID: es[i].Session, Title: es[i].Cause.Title}, es[i].Store, nil}}, nil, nil
		}
		if err != nil && !errors.Is(err, journal.ErrDamaged) {
			return nil, nil, err
		}
	}
	all, unread, err := namedSessions(ctx, env, also)
	for _, name := range names {
		var s namedSession
		if err == nil {
			s, err = nameSession(ctx, env, all, name)
		}
		if errors.Is(err, mend.ErrNoSession) && env.unkept != nil {
			code, hint := fail.Of(env.unkept)
			err = fail.New(code, hint, "%w, and the copies are not checked", err)
		}
		if err != nil {
			return nil, unread, err
		}
		if !slices.ContainsFunc(found, func(o namedSession) bool { return o.ID == s.ID && o.storeID.Same(s.storeID) }) {
			found = append(found, s)
		}
	}
	return found, unread, err
}

// findSessions is lookUp for a verb that continues without the stores that cannot be read.
func findSessions(ctx context.Context, env *environment, names []string) ([]namedSession, error) {
	also := alsoNamed[env.command]
	found, unread, err := lookUp(ctx, env, also, names)
	missing := unread != nil && !errors.Is(unread, mend.ErrNoStore)
	if errors.Is(err, mend.ErrNoSession) && (missing || unread != nil && also == (sources{})) {
		return nil, unread // the session may be there
	}
	if missing && err == nil {
		env.noteSkipped(fmt.Errorf("another store is not examined: %w", unread))
	}
	return found, err
}

// nameSession returns the session in all that a name means. If there are several, the user picks one; without
// a terminal it lists them on stderr.
func nameSession(ctx context.Context, env *environment, all []namedSession, name string) (namedSession, error) {
	heads := headsOf(all)
	i, err := mend.Named(heads, name, workingFolder())
	if err == nil {
		return all[i], nil
	}
	several, ok := errors.AsType[*mend.AmbiguousNameError](err)
	if !ok || env.JSON {
		return namedSession{}, err
	}
	var found []namedSession
	for _, i := range several.Fits {
		found = append(found, all[i])
	}
	here := mend.Here(headsOf(found), workingFolder())
	moveToFront(found, func(s namedSession) bool { return here(s.Head) })
	rows := sessionRows(env.Terminal, headsOf(found), heads)
	if slices.ContainsFunc(found, func(s namedSession) bool { return s.storeID.Agent != found[0].storeID.Agent }) {
		for i, s := range found {
			rows[i] = slices.Insert(rows[i], 1, agentOf(s.storeID))
		}
	}
	if !env.CanAsk {
		listAmbiguous(env.Terminal, rows)
		return namedSession{}, err
	}
	if i, err = env.Pick(ctx, fmt.Sprintf("Several sessions are called %q. Which one?", term.OneLine(name, 30)), rows); err != nil {
		return namedSession{}, err
	}
	return found[i], nil
}

func headsOf(all []namedSession) []change.Head {
	heads := make([]change.Head, len(all))
	for i, s := range all {
		heads[i] = s.Head
	}
	return heads
}

// maxAmbiguous is the number of sessions listed for an ambiguous name.
const maxAmbiguous = 10

// listAmbiguous prints the first of the sessions that an ambiguous name means.
func listAmbiguous(t *term.Terminal, rows [][]string) {
	for _, line := range term.Align(rows[:min(len(rows), maxAmbiguous)], t.Width) {
		t.PrintErr("%s\n", line)
	}
	if n := len(rows) - maxAmbiguous; n > 0 {
		t.PrintErr("%s\n", term.Faint(fmt.Sprintf("and %d more", n)))
	}
}

// oneSession returns the session that the user names, or the one that the user picks from all, with those of
// this folder first. Without a terminal the error says that the verb needs a session.
func oneSession(ctx context.Context, env *environment, names []string, verb string) (namedSession, error) {
	if len(names) > 0 {
		found, err := findSessions(ctx, env, names[:1])
		if err != nil {
			return namedSession{}, err
		}
		return found[0], nil
	}
	all, unread, err := namedSessions(ctx, env, sources{})
	switch {
	case err != nil:
		return namedSession{}, err
	case len(all) == 0 && unread != nil:
		return namedSession{}, unread
	case !env.CanAsk:
		return namedSession{}, fail.New(fail.Usage, "name one by its id, its title, . for the newest of this folder, or @ for the newest of all", "%s needs one session", verb)
	case len(all) == 0:
		return namedSession{}, fmt.Errorf("%w: the store has none", mend.ErrNoSession)
	}
	here := mend.Here(headsOf(all), workingFolder())
	moveToFront(all, func(s namedSession) bool { return here(s.Head) })
	i, err := env.Pick(ctx, "Which session?", sessionRows(env.Terminal, headsOf(all), headsOf(all)))
	if err != nil {
		return namedSession{}, err
	}
	return all[i], nil
}

// openSession opens the store of the session that the user names or picks, as [prepare] does, and returns
// both.
func openSession(ctx context.Context, env *environment, names []string, verb string, write bool) (*mend.Store, change.Head, error) {
	s, err := oneSession(ctx, env, names, verb)
	if err != nil {
		return nil, s.Head, err
	}
	all, err := openFound(ctx, env, []namedSession{s}, write)
	if err != nil {
		return nil, s.Head, err
	}
	return all[0].Store, all[0].named[0], nil
}

// A storeSessions is a store with the sessions that the user named in it; nil if the user named none.
type storeSessions struct {
	*mend.Store
	named   []change.Head
	changed bool // a recovery has changed the store since the user named them
}

// openFound opens the stores of sessions that were found, as [prepare] does.
func openFound(ctx context.Context, env *environment, found []namedSession, write bool) (all []storeSessions, err error) {
	for _, s := range found {
		i := slices.IndexFunc(all, func(o storeSessions) bool { return o.Store == s.store })
		if i < 0 {
			recovered, err := prepare(ctx, env, s.store, write)
			if err != nil {
				return nil, err
			}
			i, all = len(all), append(all, storeSessions{Store: s.store, changed: recovered})
		}
		if all[i].changed {
			if h, err := s.store.Session(ctx, s.ID); err == nil { // otherwise the verb reports it
				s.Head = h
			}
		}
		all[i].named = append(all[i].named, s.Head)
	}
	return all, nil
}

// openNamed opens the stores of the named sessions, or without names all stores. left is the worst error of
// the stores that cannot be opened.
func openNamed(ctx context.Context, env *environment, write bool, names []string) (all []storeSessions, left, err error) {
	if len(names) == 0 {
		stores, left := openAll(ctx, env, write)
		for _, c := range stores {
			all = append(all, storeSessions{Store: c})
		}
		return all, left, nil
	}
	found, err := findSessions(ctx, env, names)
	if err == nil {
		all, err = openFound(ctx, env, found, write)
	}
	return all, nil, err
}

// selected returns the sessions for a verb: the named ones, or those that the filter selects, the ones of
// this folder first.
func (s storeSessions) selected(all []change.Head, f sessionFilter) ([]change.Head, error) {
	if s.named != nil && !f.all() {
		return nil, usagef("--here and --since go without a session")
	}
	if s.named != nil {
		return s.named, nil
	}
	return f.apply(all)
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

// parseWhen parses the time in a flag: an age, a date or a time; zero for "".
func parseWhen(flag, text string, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range []string{time.DateOnly, time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return t, nil
		}
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	age := shortAge(text)
	d, err := time.ParseDuration(age)
	for unit, hours := range map[string]time.Duration{"d": 24, "w": 7 * 24} {
		if number, ok := strings.CutSuffix(age, unit); ok {
			var n uint64
			n, err = strconv.ParseUint(number, 10, 16)
			d = time.Duration(n) * hours * time.Hour
		}
	}
	if err != nil || d < 0 {
		return time.Time{}, usagef("--%s %s: want an age such as 7d or 12h, a date such as 2026-03-31, or a time such as 2026-03-31T14:30:00Z", flag, text)
	}
	return now.Add(-d), nil
}

// spokenAge matches an age in words.
var spokenAge = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?i)(\d+|an?)\s*(s|sec|second|m|min|minute|h|hour|d|day|w|week)s?(\s+ago)?$`)
})

// shortAge returns the short form of an age, such as 2h for "2 hours ago"; any other text unchanged.
func shortAge(text string) string {
	switch strings.ToLower(text) {
	case "now":
		return "0s"
	case "yesterday":
		return "1d"
	}
	m := spokenAge().FindStringSubmatch(text)
	if m == nil {
		return text
	}
	if strings.HasPrefix(strings.ToLower(m[1]), "a") {
		m[1] = "1"
	}
	return m[1] + strings.ToLower(m[2][:1])
}
