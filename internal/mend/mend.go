package mend

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"mend/agent"
	"mend/change"
	"mend/journal"
	"mend/repair"
	"mend/txn"
)

// Agents are the agents whose stores can be opened.
type Agents []agent.Agent

// Options select a store and a journal. The field Agents is required. The zero values of all other fields select the
// first store that an agent finds, and the user's journal.
type Options struct {
	Agents       Agents
	Store        string   // a path in or above the store; "" to look for it
	Layout       string   // of the store; "" to detect it
	Journal      *Journal // nil for the user's journal
	Cache        string   // the folder of the scan cache; "" for $XDG_CACHE_HOME/mend
	AgentVersion string   // of the agent that will read the store; "" for the newest that wrote to it

	// Thinking sets whether the next request has thinking turned on; nil means as in the session.
	Thinking *bool
	// Provider is the API of the next request, under its agent's name for it; "" means as in the session.
	Provider string
	// AllSettings also judges other versions of the agent and the other setting of thinking; see
	// [repair.Options].
	AllSettings bool

	// Now returns the time, which dates entries and determines whether a session is busy; nil for the
	// system's clock.
	Now func() time.Time
	// Note, if not nil, is called with a sentence for the user: a guarantee that the store's file system
	// cannot give, or a late write by another program that no entry contains.
	Note func(string)
}

// A Store is one store with one journal. It holds nothing open between calls.
type Store struct {
	opt     Options
	agent   string // its name
	store   agent.Store
	journal *Journal
	clock   func() time.Time // the system's, for the age of a stamp

	listFacts *lastList
	byID      map[string]change.Head // see [Store.ListOnce]; nil: the store is listed each time
	pass      *pass                  // of [Store.WithCache]; nil for a new one with each scan
}

// listFacts has facts about the store and the machine from the list of sessions.
type listFacts struct {
	sessions   int    // -1 before the first list
	newest     string // the newest version of the agent in any of them
	wrongClock bool   // see [Store.Sessions]; never reset
}

// A lastList has the facts of the last list. It is safe for concurrent use.
type lastList struct {
	mu sync.Mutex
	listFacts
}

func (l *lastList) get() listFacts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.listFacts
}

// update evaluates a list of sessions. It returns true when it first finds the machine's clock wrong.
func (l *lastList) update(heads []change.Head, wrongClock bool) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sessions, l.newest = len(heads), cmp.Or(l.newest, repair.NewestVersion(heads))
	news = wrongClock && !l.wrongClock
	l.wrongClock = l.wrongClock || wrongClock
	return news
}

// Open finds the store. It writes nothing. The error wraps [ErrNoStore] if no store is found; otherwise it comes
// from the store.
func Open(o Options) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	st, name, err := o.open()
	if err != nil {
		return nil, err
	}
	if o.Journal == nil {
		o.Journal = OpenJournal("")
	}
	return &Store{
		opt: o, agent: name, store: st, journal: o.Journal, clock: time.Now, listFacts: &lastList{listFacts: listFacts{sessions: -1}},
	}, nil
}

// Classes returns the classes of findings that a user can name, of all agents.
func (as Agents) Classes() []repair.Class {
	var all []repair.Class
	for _, a := range as {
		for _, c := range a.Guide().Classes {
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	return all
}

// ID returns the identity of the store.
func (c *Store) ID() change.StoreID {
	id := c.store.ID()
	id.Agent = c.agent
	return id
}

// Changeable returns the reason if nothing in the store may be changed, else nil.
func (c *Store) Changeable(ctx context.Context) error { return c.store.Changeable(ctx) }

// Reader returns the agent's view of the store, without options, cache and journal.
func (c *Store) Reader() agent.Reader { return c.store }

// Sessions lists the sessions of the store without their messages, newest first. If many of them are dated in
// the future, the machine's clock is probably wrong: the store then sends one note, and from then on no
// message counts as dated in the future.
func (c *Store) Sessions(ctx context.Context) ([]change.Head, error) {
	list := c.list
	if c.pass != nil {
		list = c.pass.list
	}
	heads, err := list(ctx)
	if err != nil {
		return nil, err
	}
	ahead := countFuture(heads, c.opt.Now())
	if c.listFacts.update(heads, ahead > 0) && c.opt.Note != nil {
		c.opt.Note(fmt.Sprintf("%d of %d sessions are dated in the future: the clock of this machine is probably wrong, "+
			"so mend treats no date as damage. Set the clock and scan again. If the clock is right, repair a session with "+
			"--force.", ahead, len(heads)))
	}
	return heads, nil
}

// Forks lists the sessions that were forked from another one and need it. Only Codex stores such sessions.
func (c *Store) Forks(ctx context.Context) ([]change.Head, error) {
	if c.agent != "codex" {
		return nil, nil
	}
	heads, err := c.Sessions(ctx)
	return slices.DeleteFunc(heads, func(h change.Head) bool { return h.Base == "" }), err
}

// The machine's clock counts as wrong if at least manyAhead sessions are dated in the future, or several that
// outnumber the sessions of the last month.
const (
	month     = 30 * 24 * time.Hour
	manyAhead = 10
	clockStep = 2 * time.Minute // the difference between two machines' clocks that is tolerated
)

// countFuture returns how many sessions are dated in the future; 0 if they are too few to show that the machine's clock
// is wrong.
func countFuture(heads []change.Head, now time.Time) int {
	ahead, recent := 0, 0
	for i := range heads {
		used := time.UnixMilli(max(heads[i].Created, heads[i].Updated))
		switch {
		case used.After(now.Add(clockStep)):
			ahead++
		case used.After(now.Add(-month)):
			recent++
		}
	}
	if ahead >= manyAhead || ahead > 1 && ahead > recent {
		return ahead
	}
	return 0
}

func (c *Store) repairOptions() repair.Options {
	return repair.Options{
		Now: c.opt.Now(), WrongClock: c.listFacts.get().wrongClock, Version: c.agentVersion(), Thinking: c.opt.Thinking,
		Provider: c.opt.Provider, AllSettings: c.opt.AllSettings,
	}
}

// withOptions returns the request with the options of the store; the version and the model of the request take
// precedence.
func (c *Store) withOptions(r repair.Request) repair.Request {
	version, model := r.Version, r.Model
	r.Options = c.repairOptions()
	r.Version, r.Model = cmp.Or(version, r.Version), model
	return r
}

// withWriter runs f with the journal open for writing, and with the store's transactions for that journal. version
// is the version of the agent, "" for the one of the store.
func (c *Store) withWriter(version string, f func(*journal.Journal, txn.Store) error) error {
	by := c.journal.Actor
	by.Agent, by.AgentVersion = c.agent, cmp.Or(version, c.agentVersion())
	return c.journal.write(by, c.opt.Now, func(j *journal.Journal) error {
		st, err := c.store.Writer(j.ID())
		if err != nil {
			return err
		}
		return f(j, st)
	})
}
