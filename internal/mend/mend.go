package mend

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
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

	last *atomic.Pointer[listFacts]
	byID map[string]change.Head // see [Store.ListOnce]; nil: the store is listed each time
	pass *pass                  // of [Store.WithCache]; nil for a new one with each scan
}

// The listFacts are the facts of the last list of sessions.
type listFacts struct {
	count   int    // of its sessions; -1 before the first list
	version string // the newest version of the agent in any list; "" for none
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
	c := &Store{opt: o, agent: name, store: st, journal: o.Journal, clock: time.Now, last: &atomic.Pointer[listFacts]{}}
	c.last.Store(&listFacts{count: -1})
	return c, nil
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

// Sessions lists the sessions of the store without their messages, newest first.
func (c *Store) Sessions(ctx context.Context) ([]change.Head, error) {
	list := c.list
	if c.pass != nil {
		list = c.pass.list
	}
	heads, err := list(ctx)
	if err != nil {
		return nil, err
	}
	c.last.Store(&listFacts{len(heads), cmp.Or(c.last.Load().version, repair.NewestVersion(heads))})
	return heads, nil
}

// Forks lists the sessions that were forked from another one and need it. Only Codex stores such sessions.
func (c *Store) Forks(ctx context.Context) ([]change.Head, error) {
	if c.agent != "codex" {
		return nil, nil
	}
	heads, err := c.Sessions(ctx)
	return slices.DeleteFunc(heads, func(h change.Head) bool { return h.Base == "" || h.Base == h.ID }), err
}

func (c *Store) repairOptions() repair.Options {
	return repair.Options{
		Now: c.opt.Now(), Version: c.agentVersion(), Thinking: c.opt.Thinking, Provider: c.opt.Provider,
		AllSettings: c.opt.AllSettings,
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
// is the version of the agent, "" for the version for diagnoses.
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
