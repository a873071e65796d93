package mend

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"mend/change"
	"mend/internal/scancache"
	"mend/internal/userdir"
)

// maxChecked is the size in bytes of the largest file that [Store.Look] checks completely.
const maxChecked = 100 << 20

// Look scans all sessions for at most the given time, which is enough if little has changed since the last scan, and
// returns the summary; nil if the time was too short. The error is from listing the sessions.
func (c *Store) Look(ctx context.Context, most time.Duration) (*Summary, error) {
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	cached := c.WithCache()
	heads, err := cached.Sessions(limited)
	var s Summary
	if err == nil {
		largest := int64(maxChecked)
		if cached.pass.knownDamage() != "" {
			largest = 0
		}
		_ = cached.CheckFile(limited, largest) // the damage is noted
		for f := range cached.Scan(limited, heads) {
			s.Add(&f)
		}
	}
	if limited.Err() != nil {
		return nil, ctx.Err()
	}
	s.Time, s.Damage = c.opt.Now(), cached.pass.knownDamage()
	return &s, err
}

// WithCache returns a copy of the store for scans only: as long as the store has not changed since an earlier
// scan, it lists sessions from the cache. Sessions that are to be changed must be listed by the store itself.
func (c *Store) WithCache() *Store {
	copied := *c
	copied.pass = c.newPass()
	return &copied
}

func (c *Store) cache() *scancache.Cache {
	dir := c.opt.Cache
	if dir == "" {
		dir, _ = userdir.Cache() // "" on an error: no cache
	}
	id := c.store.ID()
	return scancache.New(dir, id.Kind, id.Root, c.opt.Note)
}

// list returns the sessions of the store, the newest first.
func (c *Store) list(ctx context.Context) ([]change.Head, error) {
	heads, err := c.store.List(ctx)
	slices.SortStableFunc(heads, func(a, b change.Head) int { return cmp.Compare(b.Updated, a.Updated) })
	return heads, err
}

// A pass is one scan of a store. It uses and updates the cached results. Only settingsOf and lookup may be called
// concurrently.
type pass struct {
	c        *Store
	kept     *scancache.File
	cached   map[scancache.Key]*scancache.Result // of kept; nil before it is read
	build    string                              // of mend
	settings string                              // the settings that hold for all sessions

	state   string // identifies the state of the store when it was listed; "" if a later one may have the same stamp
	current bool   // kept is of this state

	damage  *string             // the damage of the store's file, "" for none; nil if it was not checked completely
	heads   []change.Head       // the sessions of the scan
	found   []*scancache.Result // of the first of them; nil for one that is not kept
	changed bool                // found has a result that differs from kept
}

func (c *Store) newPass() *pass {
	return &pass{c: c, build: c.journal.Version + " " + build()}
}

// load reads the cached results.
func (p *pass) load() {
	p.kept = p.c.cache().Load(p.c.opt.Now())
	p.cached = make(map[scancache.Key]*scancache.Result, len(p.kept.Sessions))
	for i := range p.kept.Sessions {
		s := &p.kept.Sessions[i]
		p.cached[scancache.KeyOf(&s.Head)] = s.Result
	}
}

// identify returns a short text that identifies the build of mend and the given texts.
func (p *pass) identify(texts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", p.build, texts))
	return string(sum[:])
}

// stateOf returns an identifier of the store's state, "" if the stamp is zero.
func (p *pass) stateOf(s change.Stamp) string {
	if s.Sum == ([32]byte{}) {
		return ""
	}
	return p.identify(string(s.Sum[:]))
}

// list returns the sessions of the store, from the cache if the store has not changed.
func (p *pass) list(ctx context.Context) ([]change.Head, error) {
	p.load()
	p.state, p.current = "", false
	began := p.c.clock()
	state, err := p.c.store.State(ctx)
	if err != nil {
		return p.c.list(ctx)
	}
	if id := p.stateOf(state); id != "" && id == p.kept.State {
		p.state, p.current = id, true
		heads := make([]change.Head, len(p.kept.Sessions))
		for i := range heads {
			heads[i] = p.kept.Sessions[i].Head
		}
		return heads, nil
	}
	all, err := p.c.list(ctx)
	stray := slices.ContainsFunc(all, func(h change.Head) bool { return len(h.Stray) > 0 })
	if err == nil && !stray && state.Distinct(began) {
		p.state = p.stateOf(state)
	}
	return all, err
}

// knownSound reports whether an earlier check found the file of the store sound in its present state.
func (p *pass) knownSound() bool {
	known := p.state != "" && p.state == p.kept.Sound
	if known {
		p.damage = new("")
	}
	return known
}

// noteCheck records the result of a check of the store's file.
func (p *pass) noteCheck(what change.Check, err error) {
	if d, ok := errors.AsType[*change.DamagedError](err); ok {
		p.damage = new(d.Error())
	} else if err == nil && what == change.CheckAll {
		p.damage = new("")
	}
}

// knownDamage returns the damage of the store's file, from a check or else from the last complete scan.
func (p *pass) knownDamage() string {
	if p.damage != nil {
		return *p.damage
	}
	return p.kept.Damage
}

// start begins a scan of sessions with the options of the store.
func (p *pass) start(heads []change.Head) {
	if p.cached == nil { // the store was not listed by the pass, or a scan has saved its results
		p.load()
		p.current = p.current && p.kept.State == p.state
	}
	o, thinking := p.c.repairOptions(), "as shown"
	if o.Thinking != nil {
		thinking = fmt.Sprint(*o.Thinking)
	}
	p.settings = fmt.Sprintf("agent %q, thinking %s, provider %q, all settings %t", o.Version, thinking,
		o.Provider, o.AllSettings)
	p.heads, p.found, p.changed = heads, make([]*scancache.Result, 0, len(heads)), false
	p.c.store.Refresh()
}

// settingsOf returns an identifier of everything that a session's result depends on besides its records.
func (p *pass) settingsOf(head change.Head) string {
	return p.identify(p.settings, p.c.store.Settings(head))
}

// lookup returns a cached result that is still valid; nil for none.
func (p *pass) lookup(ctx context.Context, head change.Head, settings string) *scancache.Result {
	r := p.cached[scancache.KeyOf(&head)]
	if r == nil || r.Settings != settings {
		return nil
	}
	if p.damage != nil && *p.damage != "" { // the damage may affect any session
		return nil
	}
	if !p.current {
		if stamp, err := p.c.store.Stamp(ctx, head); err != nil || string(stamp.Sum[:]) != r.Stamp {
			return nil
		}
	}
	if p.c.store.Busy(ctx, head, r.Unfinished) {
		return nil
	}
	return r
}

// add records the result of the next session; nil if it is not kept.
func (p *pass) add(r *scancache.Result) {
	p.changed = p.changed || r != p.cached[scancache.KeyOf(&p.heads[len(p.found)])]
	p.found = append(p.found, r)
}

// save replaces the cache with the results of a scan of all sessions.
func (p *pass) save(ctx context.Context) {
	cache, damage, listed := p.c.cache(), p.knownDamage(), p.state != ""
	sound := p.damage != nil && damage == ""
	p.cached = nil
	if !p.changed && (p.current || !listed) && len(p.found) == len(p.kept.Sessions) &&
		(!sound || p.kept.Sound == p.state) && damage == p.kept.Damage {
		return
	}
	latest := cache.Load(p.c.opt.Now()) // another process may have written it
	next := &scancache.File{Written: p.c.opt.Now(), Damage: damage, Sound: latest.Sound}
	for i, r := range p.found {
		if id := p.heads[i].ID; latest.Invalidations(id) > p.kept.Invalidations(id) { // changed by mend, perhaps after this scan read it
			r, listed = nil, false
		}
		next.Sessions = append(next.Sessions, scancache.Session{Head: p.heads[i], Result: r})
	}
	if now, err := p.c.store.State(ctx); listed && err == nil && p.stateOf(now) == p.state {
		next.State = p.state
	}
	if sound {
		next.Sound = p.state
	}
	cache.Save(next)
}

// build returns an identifier of the program's build: the size and the time of its file, "" if they are unknown.
func build() string {
	program, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(program)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
}
