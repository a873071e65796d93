package mend

import (
	"context"
	"iter"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mend/internal/bigstore"
	"mend/repair"
	"mend/session"
)

// A fullScanStore has every session loaded, because ScanRecords gives up.
type fullScanStore struct{ Store }

func (fullScanStore) ScanRecords(context.Context, session.Session, func(*session.Record, iter.Seq[*session.Record]) bool) (*session.Session, session.Stamp) {
	return nil, session.Stamp{}
}

// A scan finds the same with and without the quick check.
func TestQuickCheckFindsTheSame(t *testing.T) {
	type write func(string, bigstore.Mix, int, uint64) error
	for kind, store := range map[string]struct {
		write
		bigstore.Mix
	}{
		"plain tree":      {bigstore.Tree, bigstore.Plain},
		"varied tree":     {bigstore.Tree, bigstore.Varied},
		"plain database":  {bigstore.Database, bigstore.Plain},
		"varied database": {bigstore.Database, bigstore.Varied},
	} {
		dir := t.TempDir()
		if err := store.write(dir, store.Mix, 6000, 1); err != nil {
			t.Fatal(err)
		}
		scan := func(wrap func(Store) Store) (found []Finding) {
			c, err := Open(Options{Store: filepath.Join(dir, "opencode"), Journal: filepath.Join(t.TempDir(), "journal"), Cache: filepath.Join(t.TempDir(), "cache")})
			if err != nil {
				t.Fatal(err)
			}
			c.store = wrap(c.store)
			heads, err := c.Sessions(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for f := range c.Scan(t.Context(), heads) {
				found = append(found, f)
			}
			return found
		}
		var glancing atomic.Int64
		got := scan(func(s Store) Store { return &quickCheckCounter{s, &glancing} })
		want := scan(func(s Store) Store { return fullScanStore{s} })
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(repair.Diagnosis{})); diff != "" {
			t.Errorf("%s: with the quick check a scan finds something else (-without +with):\n%s", kind, diff)
		}
		if glancing.Load() == 0 {
			t.Errorf("%s: no session passed the quick check", kind)
		}
	}
}

// A quickCheckCounter counts the sessions that ScanRecords passes on whole.
type quickCheckCounter struct {
	Store
	n *atomic.Int64
}

func (s *quickCheckCounter) ScanRecords(ctx context.Context, head session.Session, look func(*session.Record, iter.Seq[*session.Record]) bool) (*session.Session, session.Stamp) {
	bare, stamp := s.Store.ScanRecords(ctx, head, look)
	if bare != nil {
		s.n.Add(1)
	}
	return bare, stamp
}
