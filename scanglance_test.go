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

// A thorough store shows nothing at a glance.
type thorough struct{ Store }

func (thorough) ScanRecords(context.Context, session.Session, func(*session.Record, iter.Seq[*session.Record]) bool) (*session.Session, session.Stamp) {
	return nil, session.Stamp{}
}

// A scan finds the same whether it glances at sessions first or not.
func TestGlanceFindsTheSame(t *testing.T) {
	for kind, write := range map[string]func(string, int, uint64) error{"tree": bigstore.Tree, "database": bigstore.Database} {
		dir := t.TempDir()
		if err := write(dir, 6000, 1); err != nil {
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
		got := scan(func(s Store) Store { return &countedScans{s, &glancing} })
		want := scan(func(s Store) Store { return thorough{s} })
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(repair.Diagnosis{})); diff != "" {
			t.Errorf("%s: glancing finds something else (-without +with):\n%s", kind, diff)
		}
		if glancing.Load() == 0 {
			t.Errorf("%s: no session was understood at a glance", kind)
		}
	}
}

// A store that counts the sessions which it shows at a glance.
type countedScans struct {
	Store
	n *atomic.Int64
}

func (s *countedScans) ScanRecords(ctx context.Context, head session.Session, look func(*session.Record, iter.Seq[*session.Record]) bool) (*session.Session, session.Stamp) {
	bare, stamp := s.Store.ScanRecords(ctx, head, look)
	if bare != nil {
		s.n.Add(1)
	}
	return bare, stamp
}
