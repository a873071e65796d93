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
	"mend/agent/opencode/diagnose"
	"mend/agent/opencode/record"
	"mend/internal/bigstore"
	"mend/internal/damage"
	"mend/internal/dbtest"
	"mend/internal/storetest"
	"mend/repair"
	"mend/session"
	"mend/testdata"
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
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(repair.Diagnosis{}), cmpopts.IgnoreFields(agent.Examination{}, "Stamp", "Unfinished", "Until")); diff != "" {
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
				// The session's folder depends on this machine.
				e.Diagnoses = slices.DeleteFunc(e.Diagnoses, func(d repair.Diagnosis) bool { return d.Class == diagnose.MissingFolder })
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

// A rememberedSession is a session of a fixture that a store has examined until it remembers all
// messages.
type rememberedSession struct {
	*testing.T
	path  string // of the store
	head  session.Head
	store *store
	read  atomic.Int64 // messages
}

func newRememberedSession(t *testing.T, archive []byte) *rememberedSession {
	t.Helper()
	dir := storetest.FastDir(t)
	id, err := testdata.Unpack(archive, dir)
	if err != nil {
		t.Fatal(err)
	}
	c := &rememberedSession{T: t, path: filepath.Join(dir, "opencode", "storage")}
	if db := filepath.Join(dir, "opencode", dbtest.Name); !missing(db) {
		c.path = db
	}
	c.store = c.open()
	c.head = c.find(c.store, id)
	for range 3 {
		c.examine(c.store, repair.Options{})
	}
	if n := c.read.Load(); n != 0 {
		t.Fatalf("%d messages of a healthy session were read again", n)
	}
	waitForTick(t, dir)
	return c
}

// waitForTick waits until a file that is written has another time than those before.
func waitForTick(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, "tick")
	var first time.Time
	for {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		status, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if first.IsZero() {
			first = status.ModTime()
		}
		if status.ModTime().After(first) {
			return
		}
	}
}

func (c *rememberedSession) open() *store {
	c.Helper()
	opened, err := Agent{}.Open(agent.Located{Path: c.path}, nil)
	if err != nil {
		c.Fatal(err)
	}
	s := opened.(*store)
	s.records = &visitCounter{s.records, &c.read}
	return s
}

// find returns the session of that id.
func (c *rememberedSession) find(s *store, id string) session.Head {
	c.Helper()
	heads, err := s.List(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	i := slices.IndexFunc(heads, func(h session.Head) bool { return h.ID == id })
	if i < 0 {
		return session.Head{ID: id}
	}
	return heads[i]
}

// examine examines the session a minute from now, so that its files count as old.
func (c *rememberedSession) examine(s *store, o repair.Options) agent.Examination {
	c.Helper()
	c.read.Store(0)
	if o.Now.IsZero() {
		o.Now = time.Now().Add(time.Minute)
	}
	e, err := s.Examine(c.Context(), c.head, o)
	if err != nil {
		c.Logf("Examine: %v", err)
	}
	return e
}

// compare compares what the store finds, which remembers the session, with what one finds that
// has never seen it. It reports whether the session is broken.
func (c *rememberedSession) compare(name string, o repair.Options) (broken bool) {
	c.Helper()
	if o.Now.IsZero() {
		o.Now = time.Now().Add(time.Minute)
	}
	fresh := c.open()
	c.head = c.find(fresh, c.head.ID)
	want := c.examine(fresh, o)
	got := c.examine(c.store, o)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(repair.Diagnosis{})); diff != "" {
		c.Errorf("%s: examined again it is another result (-first +again):\n%s", name, diff)
	}
	return len(want.Diagnoses) > 0
}

// A session that was found healthy, and is damaged then, is examined as if it were seen for
// the first time.
func TestExamineAgainAfterDamage(t *testing.T) {
	for i, archive := range [][]byte{testdata.OpenCode1153, testdata.OpenCode1227, testdata.OpenCode11833} {
		t.Run(damage.Versions[i], func(t *testing.T) {
			broken := 0
			for n, d := range damage.Table {
				if !storetest.Includes(n+i, 20) {
					continue
				}
				c := newRememberedSession(t, archive)
				damage.Edit(t, c.path, c.head.ID, d.Apply)
				if c.compare(d.Name, repair.Options{}) {
					broken++
				}
			}
			if broken < 4 {
				t.Errorf("%d damages were found, want more", broken)
			}
		})
	}
}

// What else may happen to a database between two prompts.
func TestExamineAgainAfterChange(t *testing.T) {
	const (
		first  = "(SELECT min(id) FROM part)"
		prompt = "(SELECT max(id) FROM message WHERE json_extract(data, '$.role') = 'user')"
		answer = "(SELECT max(id) FROM message WHERE json_extract(data, '$.role') = 'assistant')"
	)
	for _, change := range []struct{ name, statement string }{
		{"another model", "UPDATE message SET data = json_set(data, '$.model.providerID', 'amazon-bedrock', '$.model.modelID', 'nova') WHERE id = " + prompt},
		{"an answer that never ended", "UPDATE message SET data = json_remove(data, '$.time.completed', '$.finish') WHERE id = " + answer},
		{"an answer without its prompt", "DELETE FROM message WHERE id = " + prompt},
		{"a reverted session", `UPDATE session SET revert = '{"messageID": "msg_0"}'`},
		{"another title", "UPDATE session SET title = 'x'"},
		{"parts of another message", "UPDATE part SET message_id = " + answer + " WHERE message_id = " + prompt},
		{"a part of another session", "UPDATE part SET session_id = 'ses_x' WHERE id = " + first},
		{"a part more", `INSERT INTO part SELECT id || 'x', message_id, session_id, time_created, time_updated, '{"type": "text", "text": ""}' FROM part WHERE id = ` + first},
		{"a BLOB of the same bytes", "UPDATE part SET data = CAST(data AS BLOB) WHERE id = " + first},
		{"a column more", "ALTER TABLE part ADD COLUMN more text"},
		{"another time of a row", "UPDATE message SET time_created = 1 WHERE id = " + answer},
		{"an id that sorts first", "UPDATE part SET id = 'prt_0' WHERE id = (SELECT max(id) FROM part)"},
		{"another project", "UPDATE project SET worktree = '/x'"},
		{"a checkpoint", "UPDATE part SET data = data; PRAGMA wal_checkpoint(TRUNCATE)"},
	} {
		c := newRememberedSession(t, testdata.OpenCode11833)
		dbtest.Alter(t, c.path, change.statement)
		c.compare(change.name, repair.Options{})
	}

	c := newRememberedSession(t, testdata.OpenCode11833)
	other := c.path + ".other"
	data, err := os.ReadFile(c.path)
	if err == nil {
		err = os.WriteFile(other, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Alter(t, other, `UPDATE part SET data = replace(data, '"', '''') WHERE id = `+first)
	if err := os.Rename(other, c.path); err != nil {
		t.Fatal(err)
	}
	c.compare("another database", repair.Options{})

	c = newRememberedSession(t, testdata.OpenCode11833)
	for _, o := range []repair.Options{
		{Now: time.Now().AddDate(-1, 0, 0)},
		{Now: time.Now().AddDate(1, 0, 0)},
		{WrongClock: true},
		{Version: "1.1.53"},
		{Provider: "openai"},
		{Provider: "all"},
	} {
		c.compare(fmt.Sprintf("%+v", o), o)
	}
}
