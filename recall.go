package mend

import (
	"context"
	"encoding/json"
	"iter"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"mend/session"
)

// A recall is a store that is not asked what it was found to have before, as long
// as it is in the same state. It is for scans alone, and begins anew with each
// list. What it remembers is a cache: it may be lost at any time, and is made anew
// by another program. A store that cannot tell its state at once is always asked.
type recall struct {
	Store
	path  string
	with  string // the program
	clock func() time.Time

	mu    sync.Mutex
	known *inventory // nil where the store must be asked
	found *inventory // what it tells meanwhile; nil where that will not last
}

// An inventory is what a store has in some state.
type inventory struct {
	With     string            `json:"with"`
	State    []byte            `json:"state"`
	Sessions []listed          `json:"sessions"`
	Stamps   map[string][]byte `json:"stamps"` // of sessions, as far as they are known
	Orphans  []session.Ref     `json:"orphans"`
}

// A listed is what a scan goes by of a session without its messages.
type listed struct {
	ID        string `json:"id"`
	Project   string `json:"project"`
	Directory string `json:"directory"`
	Title     string `json:"title"`
	Version   string `json:"version"`
	Created   int64  `json:"created"`
	Updated   int64  `json:"updated"`
}

const inventoryHead = "mend inventory 1 %x\n"

// Remembering is the client for a scan: what the store has it does not ask the
// store, where that has not changed since an earlier scan. What is to be written
// to must be listed by the client itself.
func (c *Client) Remembering() *Client {
	r := *c
	r.store = &recall{Store: c.store, path: c.cacheFile("inventory"), with: c.opt.Version + " " + build(), clock: c.clock}
	return &r
}

// List is the list of the store.
func (r *recall) List(ctx context.Context) ([]session.Session, error) {
	r.known, r.found = nil, nil
	now := r.clock()
	state, err := r.State(ctx)
	if err != nil || state.Sum == ([32]byte{}) {
		return r.Store.List(ctx)
	}
	if known := r.read(); known != nil && string(known.State) == string(state.Sum[:]) {
		r.known = known
		return known.heads(), nil
	}
	heads, err := r.Store.List(ctx)
	if lasts := state.Newest.Before(now.Add(-tick)); lasts && err == nil {
		r.found = newInventory(heads)
	}
	if r.found != nil {
		r.found.With, r.found.State = r.with, state.Sum[:]
	}
	return heads, err
}

// newInventory is an inventory with these sessions; nil if there is one that JSON
// would not keep as it is.
func newInventory(heads []session.Session) *inventory {
	v := &inventory{Stamps: map[string][]byte{}}
	for _, h := range heads {
		texts := [...]string{h.ID, h.Project, h.Directory, h.Title, h.Version}
		if len(h.Stray) > 0 || !utf8.ValidString(strings.Join(texts[:], "")) {
			return nil
		}
		v.Sessions = append(v.Sessions, listed{h.ID, h.Project, h.Directory, h.Title, h.Version, h.Created, h.Updated})
	}
	return v
}

func (v *inventory) heads() []session.Session {
	heads := make([]session.Session, len(v.Sessions))
	for i, l := range v.Sessions {
		heads[i] = session.Session{
			ID: l.ID, Project: l.Project, Directory: l.Directory, Title: l.Title, Version: l.Version, Created: l.Created, Updated: l.Updated,
		}
	}
	return heads
}

// Stamp is the stamp of the session.
func (r *recall) Stamp(ctx context.Context, head session.Session) (session.Stamp, error) {
	if r.known != nil && len(r.known.Stamps[key(head)]) == len(session.Stamp{}.Sum) {
		return session.Stamp{Sum: [32]byte(r.known.Stamps[key(head)])}, nil
	}
	stamp, err := r.Store.Stamp(ctx, head)
	r.note(head, stamp)
	return stamp, err
}

// LoadStamped reads the session.
func (r *recall) LoadStamped(ctx context.Context, head session.Session) (*session.Session, session.Stamp, error) {
	s, stamp, err := r.Store.LoadStamped(ctx, head)
	r.note(head, stamp)
	return s, stamp, err
}

// Skim looks at the session.
func (r *recall) Skim(ctx context.Context, head session.Session, look func(*session.Record, iter.Seq[*session.Record]) bool) (*session.Session, session.Stamp) {
	s, stamp := r.Store.Skim(ctx, head, look)
	r.note(head, stamp)
	return s, stamp
}

func (r *recall) note(head session.Session, stamp session.Stamp) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.found != nil && stamp.Sum != ([32]byte{}) {
		r.found.Stamps[key(head)] = stamp.Sum[:]
	}
}

// Orphans lists the orphans, and keeps all that was found, if the store has not
// changed since it was listed.
func (r *recall) Orphans(ctx context.Context) ([]session.Ref, error) {
	if r.known != nil {
		return slices.Clone(r.known.Orphans), nil
	}
	refs, err := r.Store.Orphans(ctx)
	if err != nil || r.found == nil {
		return refs, err
	}
	if now, err := r.State(ctx); err == nil && string(r.found.State) == string(now.Sum[:]) {
		r.found.Orphans = refs
		r.write()
	}
	return refs, nil
}

// read is what was kept, nil if there is nothing that can be used.
func (r *recall) read() *inventory {
	data, err := os.ReadFile(r.path)
	if err != nil {
		return nil
	}
	var v inventory
	body, rest, ok := unseal(inventoryHead, data)
	if !ok || len(rest) > 0 || json.Unmarshal(body, &v) != nil || v.With != r.with {
		return nil
	}
	return &v
}

// write keeps what was found.
func (r *recall) write() {
	if body, err := json.Marshal(r.found); err == nil {
		keep(r.path, seal(inventoryHead, body))
	}
}
