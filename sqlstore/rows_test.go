package sqlstore_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/test/dbtest"
	"mend/internal/test/storetest"
	"mend/journal"
	"mend/sqlstore"
	"mend/txn"
)

// A rowsFixture is a database with events and a journal. Each call opens both again.
type rowsFixture struct {
	exchangeFixture
	session string
}

func newRowsFixture(t *testing.T) rowsFixture {
	dir := storetest.FastDir(t)
	db, session := unpackSmall(t, "1.18.33")
	tables := append(specs(), sqlstore.TableSpec{
		Kind: change.KindEvents, Name: "event_sequence", Key: "aggregate_id", Optional: true,
		Columns: []string{"aggregate_id", "seq"}, SessionRows: `"aggregate_id" = ?1`,
	})
	f := rowsFixture{exchangeFixture{t, dir, filepath.Join(dir, "store", dbtest.Name), tables}, session}
	data, err := os.ReadFile(db)
	dbtest.Must(t, errors.Join(err, os.Mkdir(filepath.Dir(f.path), 0o700), os.WriteFile(f.path, data, 0o600)))
	return f
}

// archives returns the paths of all archives of rows.
func (f rowsFixture) archives() []string {
	found, err := filepath.Glob(filepath.Join(filepath.Dir(f.path), ".mend", "*", "rows-*", "rows.zst"))
	dbtest.Must(f.T, err)
	return found
}

// clean moves rows into an archive. It calls meanwhile, unless nil, after the archive was written.
func (f rowsFixture) clean(step func(string) error, r sqlstore.ArchiveRequest, meanwhile func()) error {
	return f.reopen(step, func(j *journal.Journal, s *sqlstore.Owned) error {
		a, err := s.Archive(context.Background(), r)
		if err != nil {
			return err
		}
		defer a.Discard() // a process that is killed has no lock any more
		if meanwhile != nil {
			meanwhile()
		}
		_, err = txn.Run(context.Background(), j, s, change.Plan{Cause: change.Cause{Kind: change.CauseClean}, Ops: a.Ops})
		return err
	})
}

// undoClean restores the rows of the first entry.
func (f rowsFixture) undoClean() {
	f.Helper()
	dbtest.Must(f.T, f.repeat(change.Inverse))
}

// repeat makes a change with ops that are derived from those of the first entry.
func (f rowsFixture) repeat(ops func([]change.Op) []change.Op) error {
	return f.reopen(nil, func(j *journal.Journal, s *sqlstore.Owned) error {
		es, err := j.List(journal.Query{})
		dbtest.Must(f.T, err)
		first, err := j.Ops(es[len(es)-1])
		dbtest.Must(f.T, err)
		_, err = txn.Run(context.Background(), j, s, change.Plan{Cause: change.Cause{Kind: change.CauseUndo, Entries: []uint64{es[0].Seq}}, Ops: ops(first)})
		return err
	})
}

// hostile adds rows of every storage class that are hard to restore.
func (f rowsFixture) hostile() {
	dbtest.Alter(f.T, f.path,
		`CREATE TABLE other (id text PRIMARY KEY, a, b BLOB, c INTEGER, session text REFERENCES session(id) ON DELETE CASCADE)`,
		`INSERT INTO other VALUES ('nul', CAST(x'61006200' AS TEXT), x'', NULL, NULL)`,
		`INSERT INTO other VALUES ('utf', CAST(x'fffe80c3' AS TEXT), CAST(x'c328' AS TEXT), 'no number', NULL)`,
		`INSERT INTO other VALUES ('', 1.5, 9007199254740993, -1e999, NULL)`,
		`INSERT INTO other VALUES (x'00ff', '', 0, x'01', NULL)`,
		`INSERT INTO other VALUES ('of', 1, 2, 3, (SELECT id FROM session LIMIT 1))`)
}

// TestRowsRestored: an undo restores the rows that a clean has removed, byte by byte and with their classes, whether rows of
// a table or of a session. A redo removes them again.
func TestRowsRestored(t *testing.T) {
	storetest.Long(t)
	for name, request := range map[string]func(rowsFixture) sqlstore.ArchiveRequest{
		"events":  func(rowsFixture) sqlstore.ArchiveRequest { return sqlstore.ArchiveRequest{Table: "event"} },
		"hostile": func(rowsFixture) sqlstore.ArchiveRequest { return sqlstore.ArchiveRequest{Table: "other"} },
		"sessions": func(f rowsFixture) sqlstore.ArchiveRequest {
			return sqlstore.ArchiveRequest{Sessions: []string{f.session}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newRowsFixture(t)
			f.hostile()
			if name == "hostile" {
				dbtest.Alter(t, f.path, `INSERT INTO other VALUES ('huge', CAST(zeroblob(9000000) AS TEXT), randomblob(3000000), 1e308, NULL)`)
			}
			before := dbtest.DumpRows(t, f.path)
			dbtest.Must(t, f.clean(nil, request(f), nil))
			gone := dbtest.DumpRows(t, f.path)
			if gone == before {
				t.Error("no row was removed")
			}
			if name == "sessions" && strings.Contains(gone, hex.EncodeToString([]byte(f.session))) {
				t.Errorf("rows of the session are left: %s", gone)
			}
			for i, want := range []string{before, gone, before} { // undo, redo, undo
				dbtest.Must(t, f.undo(nil))
				if dbtest.DumpRows(t, f.path) != want {
					t.Fatalf("undo, redo or undo %d: the rows differ", i)
				}
			}
		})
	}
}

// TestRowsCutAtEveryStep kills a clean and its undo at every step, including the steps of the journal, and then the
// recovery. At last all rows are in the database, or all are in an archive, as the journal says, and nothing else is
// left. A clean of a session makes the same steps as a clean of a table: a plain run cuts only the latter.
func TestRowsCutAtEveryStep(t *testing.T) {
	storetest.Long(t)
	t.Parallel()
	for _, sessions := range []bool{false, true}[:storetest.Count(2, 1)] {
		for _, undo := range []bool{false, true} {
			t.Run(fmt.Sprintf("sessions %t, undo %t", sessions, undo), func(t *testing.T) { cutRows(t, sessions, undo) })
		}
	}
}

// TestRowsRedoCutAtEveryStep: after a redo of a clean that was killed at any step, another redo removes the rows: the archive
// stays.
func TestRowsRedoCutAtEveryStep(t *testing.T) {
	storetest.Long(t)
	t.Parallel()
	for k := 0; ; k++ {
		f := newRowsFixture(t)
		before := dbtest.DumpRows(t, f.path)
		dbtest.Must(t, f.clean(nil, sqlstore.ArchiveRequest{Table: "event"}, nil))
		gone := dbtest.DumpRows(t, f.path)
		dbtest.Must(t, f.undo(nil))
		fault := &storetest.Fault{At: k}
		_ = f.undo(fault.Step)
		dbtest.Must(t, f.recover(nil))
		f.checkOwn(fmt.Sprint(fault.Calls), filepath.Base(filepath.Dir(f.archives()[0])))
		if dbtest.DumpRows(t, f.path) == before {
			if err := f.repeat(slices.Clone[[]change.Op]); err != nil {
				t.Fatalf("step %d (%v): the next redo: %v", k, fault.Calls, err)
			}
		}
		if dbtest.DumpRows(t, f.path) != gone {
			t.Fatalf("step %d (%v): rows are left after the redo", k, fault.Calls)
		}
		if !fault.Hit() {
			return
		}
	}
}

func cutRows(t *testing.T, sessions, undo bool) {
	forward, back := 0, 0
	for k := 0; ; k++ {
		f := newRowsFixture(t)
		request := sqlstore.ArchiveRequest{Table: "event"}
		if sessions {
			request = sqlstore.ArchiveRequest{Sessions: []string{f.session}}
		}
		before := dbtest.DumpRows(t, f.path)
		verb := func(step func(string) error) error { return f.clean(step, request, nil) }
		if undo {
			dbtest.Must(t, verb(nil))
			verb = f.undo
		}
		start := dbtest.DumpRows(t, f.path)
		fault := &storetest.Fault{At: k}
		err := verb(fault.Step)
		if !fault.Hit() {
			dbtest.Must(t, err)
			t.Logf("%d steps, %d end after it, %d before", k, forward, back)
			break
		}
		cut := &storetest.Fault{At: k % 5} // the recovery is cut, too
		_ = f.recover(cut.Step)
		if err := f.recover(nil); err != nil {
			t.Fatalf("step %d (%s): Recover: %v", k, fault.Calls[k], err)
		}
		made := dbtest.DumpRows(t, f.path) != start
		committed := f.isCommitted(undo)
		if committed != made {
			t.Errorf("step %d (%s): made %t, committed %t", k, fault.Calls[k], made, committed)
		}
		if made || undo {
			f.checkOwn(fault.Calls[k], filepath.Base(filepath.Dir(f.archives()[0])))
		} else {
			f.checkOwn(fault.Calls[k])
		}
		if committed {
			forward++
		} else {
			back++
		}
		if made != undo { // otherwise all rows are in the database
			f.undoClean()
		}
		if dbtest.DumpRows(t, f.path) != before {
			t.Fatalf("step %d (%s): after the undo the rows differ", k, fault.Calls[k])
		}
	}
	if forward == 0 || back == 0 {
		t.Errorf("%d changes were made, and %d were not: want some of each", forward, back)
	}
}

// TestRowsRefused: a clean removes no row that another program has written or changed after the archive was made.
func TestRowsRefused(t *testing.T) {
	storetest.Long(t)
	const newEvent = `INSERT INTO event SELECT id || 'x', aggregate_id, seq + 100000, type, data FROM event LIMIT 1`
	events := sqlstore.ArchiveRequest{Table: "event"}
	for name, c := range map[string]struct {
		sessions  bool
		meanwhile string
		removed   bool
	}{
		"a new event":            {false, newEvent, true},
		"an event changed":       {false, `UPDATE event SET data = 'x' WHERE seq = 3`, false},
		"an event deleted":       {false, `DELETE FROM event WHERE seq = 3`, false},
		"a new part":             {true, `INSERT INTO part SELECT id || 'x', message_id, session_id, time_created, time_updated, data FROM part LIMIT 1`, false},
		"a new event of session": {true, newEvent, false},
		"title changed":          {true, `UPDATE session SET title = 'x'`, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newRowsFixture(t)
			r := events
			if c.sessions {
				r = sqlstore.ArchiveRequest{Sessions: []string{f.session}}
			}
			want := ""
			err := f.clean(nil, r, func() {
				dbtest.Alter(t, f.path, c.meanwhile)
				want = dbtest.DumpRows(t, f.path)
			})
			var conflict *change.ConflictError
			if (err == nil) != c.removed || err != nil && !errors.As(err, &conflict) {
				t.Errorf("clean = %v, want no error %t, or else a conflict", err, c.removed)
			}
			if c.removed {
				dbtest.Must(t, f.undo(nil))
			}
			if dbtest.DumpRows(t, f.path) != want {
				t.Error("the rows of another program differ")
			}
			if !c.removed {
				f.checkOwn(name)
			}
		})
	}
}

// TestRowsOfDeletedSession: the undo of a clean restores no events of a session that was deleted since. With such events a
// new session of the same id would not answer.
func TestRowsOfDeletedSession(t *testing.T) {
	f := newRowsFixture(t)
	dbtest.Alter(t, f.path, `INSERT INTO event_sequence (aggregate_id, seq) VALUES ('ses_other', 0)`,
		`INSERT INTO event SELECT id || 'o', 'ses_other', 0, type, data FROM event LIMIT 1`)
	before, other := dbtest.DumpRows(t, f.path), hex.EncodeToString([]byte("ses_other"))
	dbtest.Must(t, f.clean(nil, sqlstore.ArchiveRequest{Table: "event"}, nil))
	dbtest.Alter(t, f.path, `DELETE FROM event_sequence WHERE aggregate_id = 'ses_other'`)
	dbtest.Must(t, f.undo(nil))
	dbtest.Alter(t, f.path, `INSERT INTO event_sequence (aggregate_id, seq) VALUES ('ses_other', 0)`)
	if now := dbtest.DumpRows(t, f.path); now == before || strings.Count(now, other) != 1 {
		t.Errorf("the database names the deleted session %d times, want once", strings.Count(now, other))
	}
}

// TestRowsWithoutSession: a clean of a session whose own row was deleted since removes all its events.
func TestRowsWithoutSession(t *testing.T) {
	f := newRowsFixture(t)
	dbtest.Alter(t, f.path, "DELETE FROM session")
	before := dbtest.DumpRows(t, f.path)
	dbtest.Must(t, f.clean(nil, sqlstore.ArchiveRequest{Sessions: []string{f.session}}, nil))
	gone := dbtest.DumpRows(t, f.path)
	if dbtest.Alter(t, f.path, "DELETE FROM event"); dbtest.DumpRows(t, f.path) != gone {
		t.Error("the clean left events")
	}
	dbtest.Must(t, f.undo(nil))
	if dbtest.DumpRows(t, f.path) != before {
		t.Error("the undo does not restore all rows")
	}
}

// TestRowsWithProject: the undo of removed sessions restores their project if it was deleted since, leaves it if it was
// changed, and creates no project that did not exist before.
func TestRowsWithProject(t *testing.T) {
	for name, c := range map[string]struct {
		before, since string
		same          bool // all rows are as before the change
	}{
		"deleted since": {"", "DELETE FROM project", true},
		"changed since": {"", "UPDATE project SET time_updated = 7", false},
		"unchanged":     {"", "", true},
		"never existed": {"DELETE FROM project", "", true},
		"created since": {"DELETE FROM project", "INSERT INTO project (id, worktree, time_created, time_updated, sandboxes) SELECT 'global', '/', 1, 1, '[]'", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newRowsFixture(t)
			dbtest.Alter(t, f.path, c.before)
			before := dbtest.DumpRows(t, f.path)
			dbtest.Must(t, f.clean(nil, sqlstore.ArchiveRequest{Sessions: []string{f.session}}, nil))
			dbtest.Alter(t, f.path, c.since)
			dbtest.Must(t, f.undo(nil))
			if same := dbtest.DumpRows(t, f.path) == before; same != c.same {
				t.Errorf("all rows are as before: %t, want %t", same, c.same)
			}
			if n := dbtest.Orphans(t, f.path); (n > 0) != (name == "never existed") {
				t.Errorf("%d rows refer to nothing", n)
			}
		})
	}
}

// TestRowsDamagedArchive: an undo with a damaged or truncated archive is refused, and writes no row.
func TestRowsDamagedArchive(t *testing.T) {
	storetest.Long(t)
	f := newRowsFixture(t)
	dbtest.Must(t, f.clean(nil, sqlstore.ArchiveRequest{Table: "event"}, nil))
	gone := dbtest.DumpRows(t, f.path)
	found := f.archives()
	whole, err := os.ReadFile(found[0])
	dbtest.Must(t, err)
	for i := 0; i < len(whole); i += 1 + len(whole)/storetest.Count(40, 13) {
		for _, data := range [][]byte{whole[:i], append(append(append([]byte{}, whole[:i]...), whole[i]^4), whole[i+1:]...)} {
			dbtest.Must(t, os.WriteFile(found[0], data, 0o600))
			if err := f.undo(nil); err == nil {
				t.Fatalf("undo with a byte changed or cut at %d: no error", i)
			}
			if dbtest.DumpRows(t, f.path) != gone {
				t.Fatalf("undo with a byte changed at %d: rows were written", i)
			}
		}
	}
}

// TestReclaim: Reclaim returns free pages to the file system and changes no row, unless a program has the database open.
func TestReclaim(t *testing.T) {
	f := newRowsFixture(t)
	dbtest.Alter(t, f.path, `INSERT INTO part SELECT id || 'big', message_id, session_id, 1, 1, randomblob(4000000) FROM part LIMIT 1`, `DELETE FROM part WHERE id GLOB '*big'`)
	before := dbtest.DumpRows(t, f.path)
	s := open(t, f.path, sqlstore.Options{})
	previous, now, err := s.Reclaim(t.Context())
	dbtest.Must(t, err)
	if previous < 4e6 || now > 1e6 {
		t.Errorf("Reclaim: %d bytes before, %d after", previous, now)
	}
	if dbtest.DumpRows(t, f.path) != before {
		t.Error("rows changed")
	}
	agent := dbtest.Agent(t, f.path)
	if previous, now, err := s.Reclaim(t.Context()); err == nil || previous != now {
		t.Errorf("Reclaim while a program has the database open: %d, %d, no error", previous, now)
	}
	dbtest.Must(t, agent.Close())
}

// TestRowsMemory: a clean of eight times the rows, and its undo, take no more memory.
func TestRowsMemory(t *testing.T) {
	storetest.NeedAllCases(t)
	var sys [2]uint64
	for i, n := range []int{2000, 16000} {
		f := newRowsFixture(t)
		dbtest.Alter(t, f.path, fmt.Sprintf(`INSERT INTO event WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			SELECT 'e' || i, (SELECT id FROM session), 1000 + i, 'x', hex(randomblob(2000)) FROM n`, n))
		dbtest.Must(t, f.clean(nil, sqlstore.ArchiveRequest{Table: "event"}, nil))
		dbtest.Must(t, f.undo(nil))
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		sys[i] = m.Sys
	}
	if sys[1] > sys[0]+16<<20 {
		t.Errorf("with eight times the rows, of 64 MB, the process got %d bytes more from the system", sys[1]-sys[0])
	}
	t.Logf("memory from the system: %d, then %d bytes", sys[0], sys[1])
}
