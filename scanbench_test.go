package mend

import (
	"context"
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

// A counted store tells which sessions were read.
type counted struct {
	Store
	mu   sync.Mutex
	read []string
}

func (s *counted) LoadStamped(ctx context.Context, head session.Session) (*session.Session, session.Stamp, error) {
	s.mu.Lock()
	s.read = append(s.read, head.ID)
	s.mu.Unlock()
	return s.Store.LoadStamped(ctx, head)
}

// A scanBench is a store of one session, with a cache.
type scanBench struct {
	t     *testing.T
	dir   string // the data folder
	id    string
	opt   Options
	clock time.Duration // how much later it is for the scan
}

func newScanBench(t *testing.T, fixture []byte) *scanBench {
	t.Helper()
	b := &scanBench{t: t, dir: t.TempDir(), clock: time.Hour}
	var err error
	if b.id, err = testdata.Unpack(fixture, b.dir); err != nil {
		t.Fatal(err)
	}
	b.opt = Options{Store: filepath.Join(b.dir, "opencode"), Journal: t.TempDir(), Cache: filepath.Join(t.TempDir(), "cache"), Version: "1"}
	if err := os.MkdirAll(b.opt.Cache, 0o700); err != nil {
		t.Fatal(err)
	}
	return b
}

// scan is what a scan finds, and how many sessions it read.
func (b *scanBench) scan() (rules []string, read int) {
	b.t.Helper()
	c, err := Open(b.opt)
	if err != nil {
		b.t.Fatal(err)
	}
	st := &counted{Store: c.store}
	c.store, c.clock = st, func() time.Time { return time.Now().Add(b.clock) }
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
	return rules, len(st.read)
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
