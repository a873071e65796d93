package mend

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mend/agent"
	"mend/agent/opencode"
	"mend/change"
	"mend/internal/test/damage"
	"mend/internal/test/storetest"
	"mend/repair"
	"mend/testdata"
)

// A countingStore records which sessions were read, and whether List, Stamp or Examine was called.
type countingStore struct {
	agent.Store
	mu    sync.Mutex
	read  []string
	asked bool
	held  bool // a process has the store open
}

func (s *countingStore) Busy(_ context.Context, _ change.Head, unfinished bool) bool {
	return unfinished && s.held
}

func (s *countingStore) List(ctx context.Context) ([]change.Head, error) {
	s.asked = true
	return s.Store.List(ctx)
}

func (s *countingStore) Stamp(ctx context.Context, head change.Head) (change.Stamp, error) {
	s.mu.Lock()
	s.asked = true
	s.mu.Unlock()
	return s.Store.Stamp(ctx, head)
}

func (s *countingStore) Examine(ctx context.Context, head change.Head, o repair.Options) (agent.Examination, error) {
	s.mu.Lock()
	s.asked = true
	s.read = append(s.read, head.ID)
	s.mu.Unlock()
	e, err := s.Store.Examine(ctx, head, o)
	if s.held && e.Unfinished { // OpenCode's store does the same
		e.Busy, e.Stamp = true, change.Stamp{}
	}
	return e, err
}

// A scanFixture is a store of one session, with a journal and a cache.
type scanFixture struct {
	t     *testing.T
	dir   string // the data folder
	id    string
	opt   Options
	clock time.Duration // added to the system's clock
	held  bool          // a process has the store open
}

func newScanFixture(t *testing.T, fixture []byte) *scanFixture {
	t.Helper()
	b := &scanFixture{t: t, dir: storetest.FastDir(t), clock: time.Hour}
	var err error
	if b.id, err = testdata.Unpack(fixture, b.dir); err != nil {
		t.Fatal(err)
	}
	b.opt = Options{Agents: []agent.Agent{opencode.Agent{}}, Store: filepath.Join(b.dir, "opencode"), Journal: &Journal{Dir: filepath.Join(t.TempDir(), "journal"), Version: "1"}, Cache: filepath.Join(t.TempDir(), "cache")}
	if err := os.MkdirAll(b.opt.Cache, 0o700); err != nil {
		t.Fatal(err)
	}
	if db := filepath.Join(b.opt.Store, "opencode.db"); !bytes.Equal(fixture, testdata.OpenCode1153) {
		damage.SQL(t, db)("update session set directory = ?", b.dir) // the folder must exist
	}
	return b
}

// scan returns the rules that a scan reports, and how many sessions it read.
func (b *scanFixture) scan() (rules []string, read int) {
	b.t.Helper()
	rules, st := b.pass(func(c *Store) *Store { return c })
	return rules, len(st.read)
}

// pass scans with the client that the argument returns, and returns the reported rules and the counting store.
func (b *scanFixture) pass(with func(*Store) *Store) (rules []string, st *countingStore) {
	b.t.Helper()
	c, err := Open(b.opt)
	if err != nil {
		b.t.Fatal(err)
	}
	st = &countingStore{Store: c.store, held: b.held}
	c.store, c.clock = st, func() time.Time { return time.Now().Add(b.clock) }
	c = with(c)
	heads, err := c.Sessions(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	for f := range c.Scan(b.t.Context(), heads) {
		if f.Err != nil {
			b.t.Fatal(f.Err)
		}
		for _, d := range f.Diagnoses {
			rules = append(rules, d.Rule)
		}
	}
	return rules, st
}

func (b *scanFixture) want(when string, read int, rules ...string) {
	b.t.Helper()
	gotRules, gotRead := b.scan()
	if gotRead != read || !slices.Equal(gotRules, rules) {
		b.t.Errorf("%s: %d sessions were read and %v found, want %d and %v", when, gotRead, gotRules, read, rules)
	}
}

// part returns the file of the text of the first answer.
func (b *scanFixture) part() string {
	b.t.Helper()
	found, err := filepath.Glob(filepath.Join(b.dir, "opencode/storage/part/*/*.json"))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, name := range found {
		data, err := os.ReadFile(name)
		if err != nil {
			b.t.Fatal(err)
		}
		if strings.Contains(string(data), `"Running."`) {
			return name
		}
	}
	b.t.Fatal("no such part")
	return ""
}

func (b *scanFixture) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}
