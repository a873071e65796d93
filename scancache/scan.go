package scancache

import (
	"context"
	"crypto/sha256"
	"maps"
	"slices"
	"sync"
	"time"

	"mend/session"
)

// A Store is what a scan asks of a store, besides its records.
type Store interface {
	// List returns the sessions without their messages.
	List(ctx context.Context) ([]session.Head, error)
	// Stamp returns the stamp that the records of a session have now.
	Stamp(ctx context.Context, head session.Head) (session.Stamp, error)
	// State returns the stamp of the whole store, the zero stamp if that cannot be
	// computed at once.
	State(ctx context.Context) (session.Stamp, error)
	// Orphans lists the records that belong to no session.
	Orphans(ctx context.Context) ([]session.Ref, error)
	// Held returns the start of the oldest process that has the store open, the zero
	// time if there is none.
	Held(ctx context.Context) (time.Time, error)
}

// A Scan is one pass over a store, which uses the results of earlier passes and keeps
// its own. Lookup may be called concurrently, also with FindOrphans; no other method
// may.
type Scan struct {
	cache *Cache
	store Store
	build string
	clock func() time.Time

	stored *contents // what the file held at the start
	held   func() bool

	// State is the stamp of the store when it was listed; the zero stamp if a later state
	// of the store may have the same, or if it was not listed. The file is current if
	// that is also the stamp in the file.
	state    [sha256.Size]byte
	current  bool
	sessions []session.Head // as listed

	settings string
	results  map[sessionKey]*Result
	changed  bool // a result is not in the file

	orphans *orphanList // nil if they were not listed yet

	sound  [sha256.Size]byte // the state in which the whole file of the store was found sound
	damage *string           // what is damaged in it, "" for nothing; nil if it was not checked
}

type orphanList struct {
	refs  []session.Ref
	taken bool // Orphans has returned them
}

// NewScan returns a scan of the store. build identifies the build of mend: what another
// one wrote is not used. clock is the system's clock.
func (c *Cache) NewScan(store Store, build string, clock func() time.Time) *Scan {
	return &Scan{cache: c, store: store, build: build, clock: clock}
}

// load reads the file, and drops what is of another build.
func (s *Scan) load() *contents {
	c := s.cache.load()
	if c.build != s.build {
		return &contents{summary: c.summary}
	}
	return c
}

// List returns the sessions of the store without their messages, from the file if
// the store has not changed since. The error is that of the store.
func (s *Scan) List(ctx context.Context) ([]session.Head, error) {
	s.stored, s.state, s.current, s.sessions, s.orphans = s.load(), [sha256.Size]byte{}, false, nil, nil
	now := s.clock()
	state, err := s.store.State(ctx)
	if err != nil {
		return s.store.List(ctx)
	}
	if state.Sum != ([sha256.Size]byte{}) && state.Sum == s.stored.state {
		s.state, s.current, s.sessions = state.Sum, true, s.stored.sessions
		return slices.Clone(s.sessions), nil
	}
	all, err := s.store.List(ctx)
	stray := slices.ContainsFunc(all, func(h session.Head) bool { return len(h.Stray) > 0 })
	if err == nil && !stray && state.Distinct(now) {
		s.state, s.sessions = state.Sum, slices.Clone(all)
	}
	return all, err
}

// CheckFile returns the error of check, a check of the whole file of the store, which it does not
// call if the file was found sound in its present state. List was called before. damage is what the
// error says about the file; "" if it is about something else.
func (s *Scan) CheckFile(check func() (damage string, err error)) error {
	if s.state != ([sha256.Size]byte{}) && s.state == s.stored.sound {
		s.sound = s.state
		return nil
	}
	damage, err := check()
	if s.damage = &damage; err == nil {
		s.sound = s.state
	}
	return err
}

// Damage returns what is damaged in the file of the store: what CheckFile has found, or if it was
// not called, what the last whole scan had found.
func (s *Scan) Damage() string {
	switch {
	case s.damage != nil:
		return *s.damage
	case s.stored != nil && s.stored.summary != nil && s.sound == ([sha256.Size]byte{}):
		return s.stored.summary.Damage
	}
	return ""
}

// Start begins a pass. Only results that were found with the same settings are used.
func (s *Scan) Start(ctx context.Context, settings string) {
	if s.stored == nil {
		s.stored = s.load()
	}
	s.settings, s.results, s.changed = settings, make(map[sessionKey]*Result, len(s.stored.results)), false
	if s.stored.settings != settings {
		s.stored.results = nil
	}
	s.held = sync.OnceValue(func() bool {
		held, err := s.store.Held(ctx)
		return !held.IsZero() || err != nil
	})
}

// Current reports whether the store has not changed since the file was written.
func (s *Scan) Current() bool { return s.current }

// Lookup returns the result of an earlier scan, if it is valid at time now.
func (s *Scan) Lookup(ctx context.Context, head session.Head, now time.Time) (Result, bool) {
	r, ok := s.stored.results[keyOf(&head)]
	if !ok || s.damage != nil && *s.damage != "" { // a prompt may meet the damage
		return Result{}, false
	}
	if !s.current {
		if stamp, err := s.store.Stamp(ctx, head); err != nil || stamp.Sum != r.Stamp {
			return Result{}, false
		}
	}
	return *r, r.validAt(now) && (!r.Idle || !s.held())
}

// Add notes the result of a session, to be kept unless its stamp is the zero stamp.
func (s *Scan) Add(head session.Head, r Result) {
	if r.Stamp == ([sha256.Size]byte{}) {
		return
	}
	key := keyOf(&head)
	known, ok := s.stored.results[key]
	if !ok || !r.sameState(known) {
		known, s.changed = new(r), true
	}
	s.results[key] = known
}

// FindOrphans lists the orphans for the next call of Orphans. On an error it does
// nothing, and that call returns the error.
func (s *Scan) FindOrphans(ctx context.Context) {
	if s.current {
		return
	}
	if refs, err := s.store.Orphans(ctx); err == nil {
		s.orphans = &orphanList{refs: refs}
	}
}

// Orphans returns the orphans of the store: from the file if the store has not
// changed since, else once what FindOrphans found. The error is that of the store.
func (s *Scan) Orphans(ctx context.Context) ([]session.Ref, error) {
	if s.current {
		return slices.Clone(s.stored.orphans), nil
	}
	if o := s.orphans; o != nil && !o.taken {
		o.taken = true
		return o.refs, nil
	}
	return s.store.Orphans(ctx)
}

// Save keeps the results of a pass. complete says that it covered every session of the
// store: the results of others are dropped then. summary, which may be nil, is its
// summary.
func (s *Scan) Save(ctx context.Context, complete bool, summary *Summary) {
	isNew := complete && !s.current && s.orphans != nil && s.state != ([sha256.Size]byte{})
	changed := s.changed || isNew || s.sound != ([sha256.Size]byte{}) && s.sound != s.stored.sound || complete && len(s.results) != len(s.stored.results) ||
		summary != nil && (s.stored.summary == nil || !summary.sameCounts(s.stored.summary))
	if !changed {
		if summary != nil {
			s.cache.touch(summary.Time)
		}
		return
	}
	stored := s.load() // another process may have written it
	next := &contents{build: s.build, settings: s.settings, summary: summary, results: s.results, sound: s.sound}
	if summary == nil {
		next.summary = stored.summary
	}
	if !complete && stored.settings == s.settings {
		next.results = map[sessionKey]*Result{}
		maps.Copy(next.results, stored.results)
		maps.Copy(next.results, s.results)
	}
	if now, err := s.store.State(ctx); err == nil && now.Sum == s.state {
		switch {
		case isNew:
			next.state, next.sessions, next.orphans = s.state, s.sessions, s.orphans.refs
		case s.current && stored.state == s.state:
			next.state, next.sessions, next.orphans = s.state, stored.sessions, stored.orphans
		}
	}
	s.cache.save(next)
}
