package mend

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mend/session"
	"mend/testdata"
)

// A counted store tells which sessions were read, and whether anything else was
// asked than what its state is.
type counted struct {
	Store
	mu    sync.Mutex
	read  []string
	asked bool
	looks int  // for orphans
	held  bool // a process started in 1970 works with it
}

func (s *counted) Held(context.Context) (time.Time, error) {
	if s.held {
		return time.Unix(0, 0), nil
	}
	return time.Time{}, nil
}

func (s *counted) List(ctx context.Context) ([]session.Session, error) {
	s.asked = true
	return s.Store.List(ctx)
}

func (s *counted) Stamp(ctx context.Context, head session.Session) (session.Stamp, error) {
	s.mu.Lock()
	s.asked = true
	s.mu.Unlock()
	return s.Store.Stamp(ctx, head)
}

func (s *counted) Orphans(ctx context.Context) ([]session.Ref, error) {
	s.mu.Lock()
	s.asked = true
	s.looks++
	s.mu.Unlock()
	return s.Store.Orphans(ctx)
}

func (s *counted) LoadStamped(ctx context.Context, head session.Session) (*session.Session, session.Stamp, error) {
	s.reads(head)
	return s.Store.LoadStamped(ctx, head)
}

func (s *counted) ScanRecords(ctx context.Context, head session.Session, look func(*session.Record, iter.Seq[*session.Record]) bool) (*session.Session, session.Stamp) {
	s.reads(head)
	return s.Store.ScanRecords(ctx, head, look)
}

// reads notes a session that is read, once: what is not plain is read again.
func (s *counted) reads(head session.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = true
	if !slices.Contains(s.read, head.ID) {
		s.read = append(s.read, head.ID)
	}
}

// A scanBench is a store of one session, with a cache.
type scanBench struct {
	t     *testing.T
	dir   string // the data folder
	id    string
	opt   Options
	clock time.Duration // how much later it is for the scan
	held  bool          // somebody has the store open
}

func newScanBench(t *testing.T, fixture []byte) *scanBench {
	t.Helper()
	b := &scanBench{t: t, dir: t.TempDir(), clock: time.Hour}
	var err error
	if b.id, err = testdata.Unpack(fixture, b.dir); err != nil {
		t.Fatal(err)
	}
	b.opt = Options{Store: filepath.Join(b.dir, "opencode"), Journal: filepath.Join(t.TempDir(), "journal"), Cache: filepath.Join(t.TempDir(), "cache"), Version: "1"}
	if err := os.MkdirAll(b.opt.Cache, 0o700); err != nil {
		t.Fatal(err)
	}
	return b
}

// scan is what a scan finds, and how many sessions it read.
func (b *scanBench) scan() (rules []string, read int) {
	b.t.Helper()
	rules, st := b.pass(func(c *Client) *Client { return c })
	return rules, len(st.read)
}

// pass is what a scan finds, and what it asked of the store.
func (b *scanBench) pass(with func(*Client) *Client) (rules []string, st *counted) {
	b.t.Helper()
	c, err := Open(b.opt)
	if err != nil {
		b.t.Fatal(err)
	}
	st = &counted{Store: c.store, held: b.held}
	c.store, c.clock = st, func() time.Time { return time.Now().Add(b.clock) }
	c = with(c)
	heads, err := c.Sessions(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	for f := range c.ScanAll(b.t.Context(), heads) {
		if f.Err != nil {
			b.t.Fatal(f.Err)
		}
		for _, d := range f.Diagnoses {
			rules = append(rules, d.Rule)
		}
	}
	orphans, err := c.Orphans(b.t.Context())
	b.must(err)
	for _, o := range orphans {
		rules = append(rules, "orphans of "+o.Session)
	}
	return rules, st
}

func (b *scanBench) want(when string, read int, rules ...string) {
	b.t.Helper()
	gotRules, gotRead := b.scan()
	if gotRead != read || !slices.Equal(gotRules, rules) {
		b.t.Errorf("%s: %d sessions were read and %v found, want %d and %v", when, gotRead, gotRules, read, rules)
	}
}

// part is the file of the first answer's text.
func (b *scanBench) part() string {
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

func (b *scanBench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}
