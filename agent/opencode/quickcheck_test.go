package opencode

import (
	"context"
	"iter"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mend/agent"
	"mend/agent/opencode/record"
	"mend/internal/bigstore"
	"mend/internal/storetest"
	"mend/repair"
	"mend/session"
)

// A fullScanStore has every session loaded, because ScanRecords gives up.
type fullScanStore struct{ records }

func (fullScanStore) ScanRecords(context.Context, session.Head, func(*session.Record, iter.Seq[*session.Record]) bool) (*record.Session, session.Stamp) {
	return nil, session.Stamp{}
}

// A scan finds the same with and without the quick check.
func TestQuickCheckFindsTheSame(t *testing.T) {
	type write func(string, bigstore.Mix, int, uint64) error
	for kind, fixture := range map[string]struct {
		write
		bigstore.Mix
	}{
		"plain tree":      {bigstore.Tree, bigstore.Plain},
		"varied tree":     {bigstore.Tree, bigstore.Varied},
		"plain database":  {bigstore.Database, bigstore.Plain},
		"varied database": {bigstore.Database, bigstore.Varied},
	} {
		dir := storetest.FastDir(t)
		if err := fixture.write(dir, fixture.Mix, 6000, 1); err != nil {
			t.Fatal(err)
		}
		quick := 0 // the sessions that ScanRecords passes on whole
		scan := func(wrap func(records) records) (found []agent.Examination) {
			opened, err := Agent{}.Open(agent.Located{Path: filepath.Join(dir, "opencode")}, nil)
			if err != nil {
				t.Fatal(err)
			}
			s := opened.(*store)
			s.records = wrap(s.records)
			heads, err := s.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, head := range heads {
				e, err := s.Examine(t.Context(), head, repair.Options{Now: time.Now()})
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, e)
			}
			return found
		}
		got := scan(func(r records) records { return &quickCheckCounter{r, &quick} })
		want := scan(func(r records) records { return fullScanStore{r} })
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(repair.Diagnosis{}), cmpopts.IgnoreFields(agent.Examination{}, "Lasts", "Stamp", "From", "Until", "Idle")); diff != "" {
			t.Errorf("%s: with the quick check a scan finds something else (-without +with):\n%s", kind, diff)
		}
		if quick == 0 {
			t.Errorf("%s: no session passed the quick check", kind)
		}
	}
}

// A quickCheckCounter counts the sessions that ScanRecords passes on whole.
type quickCheckCounter struct {
	records
	n *int
}

func (s *quickCheckCounter) ScanRecords(ctx context.Context, head session.Head, visit func(*session.Record, iter.Seq[*session.Record]) bool) (*record.Session, session.Stamp) {
	bare, stamp := s.records.ScanRecords(ctx, head, visit)
	if bare != nil {
		*s.n++
	}
	return bare, stamp
}
