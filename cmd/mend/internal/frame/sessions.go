package frame

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/show"
	"mend/internal/fail"
	"mend/internal/keep"
	"mend/internal/mend"
	"mend/internal/request"
	"mend/internal/term"
	"mend/journal"
	"mend/repair"
)

// A SessionFilter selects sessions if the user names none.
type SessionFilter struct {
	Here  bool
	Since string // a time, "" for any
}

// Add adds the flags of the filter.
func (f *SessionFilter) Add(fl *pflag.FlagSet) {
	fl.BoolVar(&f.Here, "here", false, "only sessions of this folder")
	fl.StringVar(&f.Since, "since", "", "only sessions used since `WHEN`: an age such as 7d or 12h, a date or a time")
}

// All reports whether the filter selects every session.
func (f *SessionFilter) All() bool { return !f.Here && f.Since == "" }

// apply returns the selected sessions, this folder's first. It may change the order of heads.
func (f *SessionFilter) apply(heads []change.Head) ([]change.Head, error) {
	after, err := ParseWhen("since", f.Since, time.Now())
	if err != nil {
		return nil, err
	}
	here := mend.Here(heads, show.WorkingFolder())
	if !f.All() {
		heads = slices.DeleteFunc(slices.Clone(heads), func(h change.Head) bool {
			return f.Here && !here(h) || max(h.Updated, h.Created) < after.UnixMilli()
		})
	}
	request.MoveFirst(heads, here)
	return heads, nil
}

// A NamedSession is a session that a user can name, with its store.
type NamedSession struct {
	change.Head
	StoreID change.StoreID // the store that has or had it
	Store   *mend.Store    // nil if that store is missing or cannot be read
}

// Sources says where a name of a session is looked up besides the stores.
type Sources struct {
	Gone    bool // among the restorable sessions, of copies and of other stores of the agent
	Copies  bool // among all copies
	Journal bool // among the entries of the journal
}

// NamedSessions returns all sessions that a user can name: those in the stores of all agents, newest first, then those
// of the other sources, newest first. unread is the worst error of the stores that cannot be read.
func NamedSessions(ctx context.Context, env *Env, also Sources) (all []NamedSession, unread, err error) {
	stores, all, unread := listStores(ctx, env)
	newestFirst := func(x, y NamedSession) int {
		return cmp.Compare(max(y.Updated, y.Created), max(x.Updated, x.Created))
	}
	slices.SortStableFunc(all, newestFirst)
	type sessionKey struct{ agent, id string } // two agents may have sessions with the same id
	known := map[sessionKey]bool{}
	for _, s := range all {
		known[sessionKey{s.StoreID.Agent, s.ID}] = true
	}
	var others []NamedSession
	add := func(h change.Head, store change.StoreID, c *mend.Store) {
		if key := (sessionKey{store.Agent, h.ID}); h.ID != "" && !known[key] {
			known[key], others = true, append(others, NamedSession{h, store, c})
		}
	}
	switch {
	case also.Copies:
		err = WithKept(env, func(k *keep.Keep) error {
			if k == nil {
				return nil
			}
			states, err := k.States(keep.Query{Agent: env.AgentName})
			for _, s := range states { // newest first
				add(s.Head(), s.Store, nil)
			}
			return err
		})
	case also.Gone:
		err = WithKept(env, func(k *keep.Keep) error {
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
			storeless, err := ListWithoutStore(ctx, env, stores, k)
			for _, x := range storeless {
				add(x.Session, x.StoreID(), nil)
			}
			return cmp.Or(err, ctx.Err())
		})
	}
	if also.Journal && err == nil {
		for e, failed := range env.Opt.Journal.Each(journal.Query{Agent: env.AgentName}) {
			if failed != nil {
				if !errors.Is(failed, journal.ErrDamaged) { // the readable part is enough to find a session
					err = failed
				}
				break
			}
			add(change.Head{ID: e.Session, Title: e.Cause.Title, Directory: e.Cause.Folder}, e.Store, nil)
		}
	}
	slices.SortStableFunc(others, newestFirst)
	return append(all, others...), unread, err
}

// listStores returns the readable stores of all agents and their sessions, and the worst error of the others.
func listStores(ctx context.Context, env *Env) (stores []*mend.Store, all []NamedSession, unread error) {
	options, unread := AgentOptions(env)
	for _, o := range options {
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
			all = append(all, NamedSession{h, c.ID(), c})
		}
	}
	return stores, all, unread
}

// LookUp returns the sessions that a user names, each once. unread is the worst error of the stores that cannot be read:
// a session that is not found may be in one of them.
func LookUp(ctx context.Context, env *Env, also Sources, names []string) (found []NamedSession, unread, err error) {
	all, unread, err := NamedSessions(ctx, env, also)
	for _, name := range names {
		var s NamedSession
		if err == nil {
			s, err = nameSession(ctx, env, all, name)
		}
		if errors.Is(err, mend.ErrNoSession) && env.Unkept != nil {
			code, hint := fail.Classify(env.Unkept)
			err = fail.New(code, hint, "%w, and the copies cannot be read", err)
		}
		if err != nil {
			return nil, unread, err
		}
		if !slices.ContainsFunc(found, func(o NamedSession) bool { return o.ID == s.ID && o.StoreID.Same(s.StoreID) }) {
			found = append(found, s)
		}
	}
	return found, unread, err
}

// FindSessions is [LookUp] for a verb that continues without the stores that cannot be read.
func FindSessions(ctx context.Context, env *Env, names []string) ([]NamedSession, error) {
	found, unread, err := LookUp(ctx, env, env.Also, names)
	missing := unread != nil && !errors.Is(unread, mend.ErrNoStore)
	if errors.Is(err, mend.ErrNoSession) && (missing || unread != nil && env.Also == (Sources{})) {
		return nil, unread // the session may be in an unreadable store
	}
	if _, noted := errors.AsType[*ReportedError](unread); missing && err == nil && !noted {
		env.NoteSkipped(fmt.Errorf("another store is not examined: %w", unread))
	}
	return found, err
}

// nameSession returns the session in all that a name means. If the name means several, the user picks one; without a
// terminal they are listed on stderr, and nameSession returns an error.
func nameSession(ctx context.Context, env *Env, all []NamedSession, name string) (NamedSession, error) {
	heads := headsOf(all)
	i, err := mend.FindSession(heads, name, show.WorkingFolder())
	if err == nil {
		return all[i], nil
	}
	several, ok := errors.AsType[*mend.AmbiguousNameError](err)
	if !ok {
		return NamedSession{}, err
	}
	var found []NamedSession
	for _, i := range several.Fits {
		found = append(found, all[i])
	}
	if !slices.ContainsFunc(found, func(s NamedSession) bool { return s.ID != found[0].ID }) {
		err = fail.WithHint(err, sameIDHint(found))
	}
	switch {
	case env.JSON:
		return NamedSession{}, err
	case !env.CanAsk:
		listAmbiguous(env.Terminal, sessionRows(env, found, heads))
		return NamedSession{}, err
	}
	return pickSession(ctx, env, fmt.Sprintf("Several sessions are called %q. Which one?", term.OneLine(name, 30)), found, heads)
}

// pickSession lets the user pick one of the sessions. all are the sessions among which the ids in the list must be
// unambiguous.
func pickSession(ctx context.Context, env *Env, question string, found []NamedSession, all []change.Head) (NamedSession, error) {
	i, err := env.Pick(ctx, question, sessionRows(env, found, all))
	if err != nil {
		return NamedSession{}, err
	}
	return found[i], nil
}

// sessionRows sorts the sessions of this folder first, and returns a row for each, with the agent if there are several.
func sessionRows(env *Env, found []NamedSession, all []change.Head) [][]any {
	here := mend.Here(headsOf(found), show.WorkingFolder())
	request.MoveFirst(found, func(s NamedSession) bool { return here(s.Head) })
	rows := show.SessionRows(env.Terminal, headsOf(found), all)
	if slices.ContainsFunc(found, func(s NamedSession) bool { return s.StoreID.Agent != found[0].StoreID.Agent }) {
		for i, s := range found {
			rows[i] = slices.Insert(rows[i], 1, any(agents.Title(s.StoreID)))
		}
	}
	return rows
}

// sameIDHint returns what to do about sessions with the same id.
func sameIDHint(found []NamedSession) string {
	a, b := found[0], found[1]
	if a.StoreID.Agent != b.StoreID.Agent {
		return "choose one with --agent"
	}
	return fmt.Sprintf("the files of two sessions in %s have the same id, as after a folder was copied: move one of them away, in %s or %s",
		term.ShortenHome(a.StoreID.Root), a.Ref.Project, b.Ref.Project)
}

func headsOf(all []NamedSession) []change.Head {
	heads := make([]change.Head, len(all))
	for i, s := range all {
		heads[i] = s.Head
	}
	return heads
}

// maxAmbiguous is the maximum number of sessions listed for an ambiguous name.
const maxAmbiguous = 10

// listAmbiguous prints the first of the sessions that an ambiguous name means.
func listAmbiguous(t *term.Terminal, rows [][]any) {
	for _, line := range term.Align(rows[:min(len(rows), maxAmbiguous)], t.Width) {
		t.PrintErr("%s\n", line)
	}
	if n := len(rows) - maxAmbiguous; n > 0 {
		t.PrintErr("%s\n", term.Faint(fmt.Sprintf("and %d more", n)))
	}
}

// oneSession returns the session that the user names, or else picks from a list, this folder's first. Without a name
// and without a terminal it fails.
func oneSession(ctx context.Context, env *Env, names []string, verb string) (NamedSession, error) {
	if len(names) > 0 {
		found, err := FindSessions(ctx, env, names[:1])
		if err != nil {
			return NamedSession{}, err
		}
		return found[0], nil
	}
	all, unread, err := NamedSessions(ctx, env, Sources{})
	switch {
	case err != nil:
		return NamedSession{}, err
	case len(all) == 0 && unread != nil:
		return NamedSession{}, unread
	case !env.CanAsk:
		return NamedSession{}, fail.New(fail.Usage, "name one by its id, its title, . for the newest of this folder, or @ for the newest of all", "%s needs one session", verb)
	case len(all) == 0:
		return NamedSession{}, fmt.Errorf("%w: the store has none", mend.ErrNoSession)
	}
	return pickSession(ctx, env, "Which session?", all, headsOf(all))
}

// OpenSession returns the session that the user names or picks, and its store, which it prepares for the verb as
// [prepare] does.
func OpenSession(ctx context.Context, env *Env, names []string, verb string, write bool) (*mend.Store, change.Head, error) {
	s, err := oneSession(ctx, env, names, verb)
	if err != nil {
		return nil, s.Head, err
	}
	all, err := openFound(ctx, env, []NamedSession{s}, write)
	if err != nil {
		return nil, s.Head, err
	}
	return all[0].Store, all[0].Named[0], nil
}

// A StoreSessions is a store with the sessions in it that the user named.
type StoreSessions struct {
	*mend.Store
	Named   []change.Head // nil if the user named no sessions
	changed bool          // a recovery has changed the store since the user named them
}

// openFound prepares the stores of sessions, as [prepare] does. If that changes a store, its sessions are read again.
func openFound(ctx context.Context, env *Env, found []NamedSession, write bool) (all []StoreSessions, err error) {
	for _, s := range found {
		i := slices.IndexFunc(all, func(o StoreSessions) bool { return o.Store == s.Store })
		if i < 0 {
			recovered, err := prepare(ctx, env, s.Store, write)
			if err != nil {
				return nil, err
			}
			i, all = len(all), append(all, StoreSessions{Store: s.Store, changed: recovered})
		}
		if all[i].changed {
			if h, err := s.Store.Session(ctx, s.ID); err == nil { // otherwise the verb reports it
				s.Head = h
			}
		}
		all[i].Named = append(all[i].Named, s.Head)
	}
	return all, nil
}

// OpenNamed opens the stores of the named sessions, or without names all stores. left is the worst error of
// the stores that cannot be opened.
func OpenNamed(ctx context.Context, env *Env, write bool, names []string) (all []StoreSessions, left, err error) {
	if len(names) == 0 {
		stores, left := OpenAll(ctx, env, write)
		for _, c := range stores {
			all = append(all, StoreSessions{Store: c})
		}
		return all, left, nil
	}
	found, err := FindSessions(ctx, env, names)
	if err == nil {
		all, err = openFound(ctx, env, found, write)
	}
	return all, nil, err
}

// Select returns the sessions for a verb: the named ones, or else those in all that the filter selects, this folder's
// first.
func (s StoreSessions) Select(all []change.Head, f SessionFilter) ([]change.Head, error) {
	if s.Named != nil && !f.All() {
		return nil, Usagef("--here and --since cannot be combined with a session or an error")
	}
	if s.Named != nil {
		return s.Named, nil
	}
	return f.apply(all)
}

// ParseClasses returns the classes with these names.
func ParseClasses(env *Env, names []string) (classes []repair.Class, err error) {
	for _, name := range names {
		class := repair.Class(name)
		if !slices.Contains(env.Opt.Agents.Classes(), class) {
			return nil, Usagef("--class %s: no such class; there are %s", name, ClassList(env))
		}
		classes = append(classes, class)
	}
	return classes, nil
}

// ParseWhen parses the time in a flag: an age, a date or a time; zero for "".
func ParseWhen(flag, text string, now time.Time) (time.Time, error) {
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
	age := spokenAge.Replace(strings.ToLower(text))
	d, err := time.ParseDuration(age)
	for unit, hours := range map[string]time.Duration{"d": 24, "w": 7 * 24} {
		if number, ok := strings.CutSuffix(age, unit); ok {
			var n uint64
			n, err = strconv.ParseUint(number, 10, 16)
			d = time.Duration(n) * hours * time.Hour
		}
	}
	if err != nil || d < 0 {
		return time.Time{}, Usagef("--%s %s: want an age such as 7d or 12h, a date such as 2026-03-31, or a time such as 2026-03-31T14:30:00Z", flag, text)
	}
	return now.Add(-d), nil
}

// spokenAge returns the short form of an age in words: 2h for "2 hours ago".
var spokenAge = strings.NewReplacer(
	"yesterday", "1d", "now", "0s", " ago", "", "an ", "1", "a ", "1", " ", "", "seconds", "s", "second", "s", "sec", "s",
	"minutes", "m", "minute", "m", "min", "m", "hours", "h", "hour", "h", "days", "d", "day", "d", "weeks", "w", "week", "w",
)

// IsSession reports whether a name means one or several of the sessions.
func IsSession(all []NamedSession, name string) bool {
	_, err := mend.FindSession(headsOf(all), name, show.WorkingFolder())
	return !errors.Is(err, mend.ErrNoSession)
}
