package mend

import (
	"context"
	"crypto/sha256"
	"iter"
	"slices"
	"sync"
	"time"

	"mend/session"
)

// A recall is a store that is not asked what it was found to have before, as long
// as it is in the same state. It is for scans alone, and begins anew with each
// list. What it remembers is a cache: it may be lost at any time, and is made anew
// by another program. A store that cannot tell its state at once is always asked.
type recall struct {
	Store
	file  cacheFile
	with  string // the program
	clock func() time.Time

	mu      sync.Mutex
	known   *inventory // nil where the store must be asked
	found   *inventory // what it tells meanwhile; nil where that will not last
	orphans *orphans   // nil unless they were looked for already
}

type orphans struct{ refs []session.Ref }

// An inventory is what a store has in some state.
type inventory struct {
	With     string
	State    [sha256.Size]byte
	Sessions []session.Session            // as far as [listed] goes
	Stamps   map[string][sha256.Size]byte // of sessions, as far as they are known
	Orphans  []session.Ref
}

func (v *inventory) fields(p *packing) {
	text(p, &v.With)
	p.sum(&v.State)
	list(p, &v.Sessions, listed)
	dict(p, &v.Stamps, (*packing).sum)
	list(p, &v.Orphans, ref)
}

// listed is what a scan goes by of a session without its messages.
func listed(p *packing, s *session.Session) {
	text(p, &s.ID)
	text(p, &s.Project)
	text(p, &s.Directory)
	text(p, &s.Title)
	text(p, &s.Version)
	number(p, &s.Created)
	number(p, &s.Updated)
}

func ref(p *packing, r *session.Ref) {
	number(p, &r.Kind)
	text(p, &r.Project)
	text(p, &r.Session)
	text(p, &r.Message)
	text(p, &r.Part)
}

const inventoryHead = "mend inventory 2 %d %x\n"

// Remembering is the client for a scan: what the store has it does not ask the
// store, where that has not changed since an earlier scan. What is to be written
// to must be listed by the client itself.
func (c *Client) Remembering() *Client {
	r := *c
	r.store = &recall{Store: c.store, file: c.cacheFile("inventory"), with: c.opt.Version + " " + build(), clock: c.clock}
	return &r
}

// List is the list of the store.
func (r *recall) List(ctx context.Context) ([]session.Session, error) {
	r.known, r.found, r.orphans = nil, nil, nil
	now := r.clock()
	state, err := r.State(ctx)
	if err != nil || state.Sum == ([32]byte{}) {
		return r.Store.List(ctx)
	}
	if known := r.read(); known != nil && known.State == state.Sum {
		r.known = known
		return slices.Clone(known.Sessions), nil
	}
	heads, err := r.Store.List(ctx)
	strays := slices.ContainsFunc(heads, func(h session.Session) bool { return len(h.Stray) > 0 })
	if lasts := state.Newest.Before(now.Add(-tick)); lasts && !strays && err == nil {
		r.found = &inventory{With: r.with, State: state.Sum, Sessions: slices.Clone(heads), Stamps: map[string][sha256.Size]byte{}}
	}
	return heads, err
}

// Stamp is the stamp of the session.
func (r *recall) Stamp(ctx context.Context, head session.Session) (session.Stamp, error) {
	if r.known != nil {
		if sum, ok := r.known.Stamps[key(head)]; ok {
			return session.Stamp{Sum: sum}, nil
		}
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

// ScanRecords looks at the session.
func (r *recall) ScanRecords(ctx context.Context, head session.Session, look func(*session.Record, iter.Seq[*session.Record]) bool) (*session.Session, session.Stamp) {
	s, stamp := r.Store.ScanRecords(ctx, head, look)
	r.note(head, stamp)
	return s, stamp
}

func (r *recall) note(head session.Session, stamp session.Stamp) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.found != nil && stamp.Sum != ([32]byte{}) {
		r.found.Stamps[key(head)] = stamp.Sum
	}
}

// lookForOrphans does so before anybody asks for them. Where it fails nothing is
// known of them, and whoever asks is told why.
func (r *recall) lookForOrphans(ctx context.Context) {
	if r.known != nil {
		return
	}
	if refs, err := r.Store.Orphans(ctx); err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.orphans = &orphans{refs}
	}
}

// orphansNow are those that were found already, once, else those that there are.
func (r *recall) orphansNow(ctx context.Context) ([]session.Ref, error) {
	r.mu.Lock()
	found := r.orphans
	r.orphans = nil
	r.mu.Unlock()
	if found != nil {
		return found.refs, nil
	}
	return r.Store.Orphans(ctx)
}

// Orphans lists the orphans, and keeps all that was found, if the store has not
// changed since it was listed.
func (r *recall) Orphans(ctx context.Context) ([]session.Ref, error) {
	if r.known != nil {
		return slices.Clone(r.known.Orphans), nil
	}
	refs, err := r.orphansNow(ctx)
	if err != nil || r.found == nil {
		return refs, err
	}
	if now, err := r.State(ctx); err == nil && r.found.State == now.Sum {
		r.found.Orphans = refs
		r.write()
	}
	return refs, nil
}

// read is what was kept, nil if there is nothing that can be used.
func (r *recall) read() *inventory {
	data, _, err := r.file.read()
	if err != nil {
		return nil
	}
	var v inventory
	body, rest, ok := unseal(inventoryHead, data)
	if !ok || len(rest) > 0 || !unpack(body, v.fields) || v.With != r.with {
		return nil
	}
	return &v
}

// write keeps what was found.
func (r *recall) write() {
	_ = r.file.replace(seal(inventoryHead, pack(r.found.fields)))
}
