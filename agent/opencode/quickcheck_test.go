package opencode

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mend/agent"
	"mend/agent/opencode/record"
	"mend/internal/bigstore"
	"mend/internal/dbtest"
	"mend/internal/storetest"
	"mend/repair"
	"mend/session"
)

// A fullScanStore has every session loaded, because ScanRecords gives up.
type fullScanStore struct{ records }

func (fullScanStore) ScanRecords(context.Context, session.Head, record.Memory, func(*session.Record, iter.Seq[*session.Record]) bool) (*record.Session, session.Stamp) {
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

func (s *quickCheckCounter) ScanRecords(ctx context.Context, head session.Head, m record.Memory, visit func(*session.Record, iter.Seq[*session.Record]) bool) (*record.Session, session.Stamp) {
	bare, stamp := s.records.ScanRecords(ctx, head, m, visit)
	if bare != nil {
		*s.n++
	}
	return bare, stamp
}

// A visitCounter counts the messages that are read.
type visitCounter struct {
	records
	n *atomic.Int64
}

func (s *visitCounter) ScanRecords(ctx context.Context, head session.Head, m record.Memory, visit func(*session.Record, iter.Seq[*session.Record]) bool) (*record.Session, session.Stamp) {
	return s.records.ScanRecords(ctx, head, m, func(r *session.Record, parts iter.Seq[*session.Record]) bool {
		s.n.Add(1)
		return visit(r, parts)
	})
}

// A session that is examined again is read only where it changed, and every change is seen.
func TestExamineAgain(t *testing.T) {
	for _, kind := range []struct {
		name   string
		write  func(string, bigstore.Mix, int, uint64) error
		change func(t *testing.T, dir string, part session.Record, to func([]byte) []byte) (undo func())
	}{{"tree", bigstore.Tree, changeFile}, {"database", bigstore.Database, changeRow}} {
		t.Run(kind.name, func(t *testing.T) {
			dir := filepath.Join(storetest.FastDir(t), "store")
			if err := kind.write(dir, bigstore.PlainWith(20), 400, 1); err != nil {
				t.Fatal(err)
			}
			var read atomic.Int64
			open := func() *store {
				opened, err := Agent{}.Open(agent.Located{Path: filepath.Join(dir, "opencode")}, nil)
				if err != nil {
					t.Fatal(err)
				}
				s := opened.(*store)
				s.records = &visitCounter{s.records, &read}
				return s
			}
			remembering := open()
			heads, err := remembering.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			head := slices.MinFunc(heads, func(x, y session.Head) int { return int(x.Created - y.Created) }) // the last one may be cut off
			examine := func(s *store) (agent.Examination, int64) {
				t.Helper()
				read.Store(0)
				e, err := s.Examine(t.Context(), head, repair.Options{Now: time.Now().Add(time.Minute)})
				if err != nil {
					t.Fatal(err)
				}
				return e, read.Load()
			}
			all, err := remembering.Load(t.Context(), head)
			if err != nil {
				t.Fatal(err)
			}
			examine(remembering)
			examine(remembering)
			if e, n := examine(remembering); n != 0 || len(e.Diagnoses) > 0 {
				t.Fatalf("without a change %d messages were read again, and found is %v", n, e.Diagnoses)
			}
			broken := 0
			for _, i := range []int{0, 1, len(all.Messages) / 2, len(all.Messages) - 1} {
				for _, to := range []func([]byte) []byte{
					func(data []byte) []byte { return data[:len(data)/2] },
					func(data []byte) []byte { return append(data[:len(data):len(data)], 0) },
					func(data []byte) []byte { return bytes.Replace(data, []byte(`"`), []byte(`'`), 1) }, // of the same size
					func(data []byte) []byte { return append([]byte(" "), data...) },                     // still healthy
					func([]byte) []byte { return nil },
				} {
					parts := all.Messages[i].Parts
					undo := kind.change(t, dir, parts[len(parts)-1].Record, to)
					got, n := examine(remembering)
					want, _ := examine(open())
					if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(repair.Diagnosis{})); diff != "" {
						t.Errorf("message %d: examined again it is another result (-first +again):\n%s", i, diff)
					}
					if len(want.Diagnoses) > 0 {
						broken++
					} else if n > 1 {
						t.Errorf("message %d: %d messages were read, want at most 1", i, n)
					}
					undo()
					examine(remembering)
				}
			}
			if broken == 0 {
				t.Error("no change broke the session")
			}
		})
	}
}

// changeFile changes the file of a part, and keeps its time; it is removed if to returns nil.
func changeFile(t *testing.T, dir string, part session.Record, to func([]byte) []byte) (undo func()) {
	t.Helper()
	path := filepath.Join(dir, "opencode", "storage", "part", part.Ref.Message, part.Ref.Part+".json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(data []byte) {
		if data == nil {
			err = os.Remove(path)
		} else if err = os.WriteFile(path, data, status.Mode()); err == nil {
			err = os.Chtimes(path, status.ModTime(), status.ModTime())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(to(bytes.Clone(data)))
	return func() { write(data) }
}

// changeRow changes the data of a part, and keeps its times; the row is removed if to returns
// nil.
func changeRow(t *testing.T, dir string, part session.Record, to func([]byte) []byte) (undo func()) {
	t.Helper()
	path := filepath.Join(dir, "opencode", "opencode.db")
	dbtest.Alter(t, path, "CREATE TABLE IF NOT EXISTS former AS SELECT * FROM part")
	write := func(data []byte) {
		change := fmt.Sprintf("UPDATE part SET data = CAST(x'%x' AS TEXT) WHERE id = '%s'", data, part.Ref.Part)
		if data == nil {
			change = fmt.Sprintf("DELETE FROM part WHERE id = '%s'", part.Ref.Part)
		}
		dbtest.Alter(t, path, fmt.Sprintf("INSERT OR IGNORE INTO part SELECT * FROM former WHERE id = '%s'", part.Ref.Part), change)
	}
	write(to(bytes.Clone(part.Data)))
	return func() { write(part.Data) }
}
