package salvage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
	"mend/internal/test/storetest"
	"mend/testdata"
)

// salvageRows salvages files into a new database, and returns its rows.
func salvageRows(t *testing.T, src Source) (map[string]string, *Result) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "new.db")
	res, err := Read(t.Context(), src, out, Options{Owners: owners})
	if err == nil {
		_, err = res.DB.Finish(res.Header)
	}
	if err != nil {
		t.Fatal(err)
	}
	return rowsIn(t, out), res
}

func source(db, wal []byte) Source {
	src := Source{DB: bytes.NewReader(db), Size: int64(len(db))}
	if wal != nil {
		src.WAL, src.WALSize = bytes.NewReader(wal), int64(len(wal))
	}
	return src
}

// TestWAL: salvage reads the same frames as SQLite: of a torn -wal up to its last complete transaction, and none of
// another database's -wal.
func TestWAL(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "db")
	build(t, testdata.OpenCode11833, path)
	before := rowsIn(t, path)
	base, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := open(t, path)
	defer func() { _ = c.Close() }()
	run(t, c, "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0")
	states := []map[string]string{before}
	var sizes []int
	for i := range 3 {
		run(t, c, "BEGIN; INSERT INTO part SELECT id || 'w%d', message_id, session_id, time_created, time_updated, data FROM part WHERE rowid BETWEEN %d AND %d; UPDATE message SET data = data || ' ' WHERE rowid %% 5 = %d; COMMIT", i, 20*i, 20*i+60, i)
		wal, err := os.ReadFile(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(dir, fmt.Sprint("state", i))
		if err := errors.Join(os.WriteFile(copied, base, 0o600), os.WriteFile(copied+"-wal", wal, 0o600)); err != nil {
			t.Fatal(err)
		}
		states, sizes = append(states, rowsIn(t, copied)), append(sizes, len(wal))
	}
	wal, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	want := func(what string, src Source, rows map[string]string) *Result {
		t.Helper()
		got, res := salvageRows(t, src)
		if !maps.Equal(got, rows) {
			t.Errorf("%s: the %d rows are not the %d that SQLite reads", what, len(got), len(rows))
		}
		return res
	}
	want("whole", source(base, wal), states[3])
	for i, size := range sizes {
		want(fmt.Sprint("cut after transaction ", i), source(base, wal[:size]), states[i+1])
		want(fmt.Sprint("cut in transaction ", i), source(base, wal[:size-100]), states[i])
		torn := bytes.Clone(wal)
		torn[size-2000] ^= 1
		want(fmt.Sprint("torn in transaction ", i), source(base, torn), states[i])
	}
	other := filepath.Join(dir, "other")
	build(t, testdata.OpenCode1227, other)
	otherBase, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	if res := want("of another database", source(otherBase, wal), rowsIn(t, other)); !res.ForeignWAL {
		t.Error("the -wal of another database was used")
	}
}

// TestWALOfAnotherMoment: if there was a checkpoint between the moments of a database and its -wal, the two do not fit.
// All rows of the database are unchanged, and the rows of the -wal that belong to one of its sessions are added. A -wal
// without any of the tables is not read.
func TestWALOfAnotherMoment(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "db")
	build(t, testdata.OpenCode11833, path)
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before := rowsIn(t, path)
	c := open(t, path)
	defer func() { _ = c.Close() }()
	run(t, c, "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0")
	grow := func(tag string) {
		run(t, c, "INSERT INTO message SELECT id || '%[1]s', session_id, time_created, time_updated, data FROM message WHERE rowid < 100; INSERT INTO part SELECT id || '%[1]s', message_id || '%[1]s', session_id, time_created, time_updated, data FROM part WHERE message_id IN (SELECT id FROM message WHERE rowid < 100)", tag)
	}
	grow("a")
	run(t, c, "PRAGMA wal_checkpoint(RESTART)")
	grow("b")
	wal, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	after := rowsIn(t, path)
	got, res := salvageRows(t, source(first, wal))
	for name, row := range before {
		if got[name] != row {
			t.Errorf("%s is %.60q, want %.60q", name, got[name], row)
		}
	}
	for name, row := range got {
		if before[name] == "" && after[name] != row {
			t.Errorf("%s is invented: %.60q", name, row)
		}
	}
	if !res.ForeignWAL || res.FromWAL < 50 || len(got) != len(before)+res.FromWAL {
		t.Errorf("%d rows, %d before, %d from the -wal; foreign: %t", len(got), len(before), res.FromWAL, res.ForeignWAL)
	}

	other := filepath.Join(dir, "other")
	o := open(t, other)
	defer func() { _ = o.Close() }()
	run(t, o, "PRAGMA page_size=4096; PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; CREATE TABLE x (a, b); INSERT INTO x WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, hex(zeroblob(200)) FROM n")
	if wal, err = os.ReadFile(other + "-wal"); err != nil {
		t.Fatal(err)
	}
	if got, res := salvageRows(t, source(first, wal)); !maps.Equal(got, before) || !res.ForeignWAL {
		t.Errorf("with the -wal of another database: %d of %d rows, foreign: %t", len(got), len(before), res.ForeignWAL)
	}
}

// TestWALMoment: a database and its -wal fit in every state in which two programs leave them. A -wal that is older than
// the file is recognised, and a salvage then has the rows of the file. A -wal from after a gap is recognised as later.
func TestWALMoment(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "db")
	build(t, testdata.OpenCode11833, path)
	type files struct{ db, wal []byte }
	read := func() (f files) {
		t.Helper()
		var err, errWAL error
		if f.db, err = os.ReadFile(path); err == nil {
			f.wal, errWAL = os.ReadFile(path + "-wal")
		}
		if err != nil || errWAL != nil && !errors.Is(errWAL, os.ErrNotExist) {
			t.Fatal(err, errWAL)
		}
		return f
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	programs := make([]*sqlite3.Conn, 2)
	restart := func(i int) {
		if programs[i] != nil {
			_ = programs[i].Close()
		}
		programs[i] = open(t, path)
		run(t, programs[i], "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; PRAGMA synchronous=OFF")
	}
	restart(0)
	restart(1)
	defer func() { _, _ = programs[0].Close(), programs[1].Close() }()
	var runs []files // at the end of each run of a program
	for step := range storetest.Count(300, 50) {
		c := programs[rnd.IntN(2)]
		switch k := rnd.IntN(20); {
		case k < 8:
			run(t, c, "INSERT INTO part SELECT id || 'm%d', message_id, session_id, time_created, time_updated, data FROM part ORDER BY random() LIMIT %d", step, 1+rnd.IntN(30))
		case k < 12:
			run(t, c, "UPDATE message SET time_updated = time_updated + 1 WHERE rowid %% 7 = %d", rnd.IntN(7))
		case k < 14:
			run(t, c, "DELETE FROM part WHERE rowid IN (SELECT rowid FROM part ORDER BY random() LIMIT 20)")
		case k == 14:
			run(t, c, "VACUUM")
		case k == 15:
			runs = append(runs, read())
			restart(rnd.IntN(2))
		default:
			run(t, c, "PRAGMA wal_checkpoint(%s)", []string{"PASSIVE", "FULL", "RESTART", "TRUNCATE"}[rnd.IntN(4)])
		}
		if f := read(); WALMoment(source(f.db, f.wal)) != Fits {
			t.Fatalf("step %d: moment %d", step, WALMoment(source(f.db, f.wal)))
		}
	}
	for range 4 { // so that a gap lies between the earlier -wal files and the last file
		_, _ = programs[0].Close(), programs[1].Close()
		programs[0], programs[1] = nil, nil
		restart(0)
		restart(1)
		run(t, programs[0], "INSERT INTO part SELECT id || hex(randomblob(8)), message_id, session_id, time_created, time_updated, data FROM part LIMIT 60")
		runs = append(runs, read())
	}
	last := runs[len(runs)-1]
	older, later := 0, 0
	for i := range len(runs) - 4 {
		f := runs[i]
		if len(f.wal) > 32 {
			older++
			mixed := source(last.db, f.wal)
			if m := WALMoment(mixed); m != Older {
				t.Errorf("the -wal of run %d beside the last file: moment %d", i, m)
				continue
			}
			alone := filepath.Join(dir, fmt.Sprint("alone", i))
			if err := os.WriteFile(alone, last.db, 0o600); err != nil {
				t.Fatal(err)
			}
			if got, res := salvageRows(t, mixed); !res.OldWAL || !maps.Equal(got, rowsIn(t, alone)) {
				t.Errorf("run %d: %d rows, old %t", i, len(got), res.OldWAL)
			}
		}
		if later++; WALMoment(source(f.db, last.wal)) != Later {
			t.Errorf("the last -wal beside the file of run %d: moment %d", i, WALMoment(source(f.db, last.wal)))
		}
	}
	if older == 0 || later == 0 {
		t.Errorf("%d older and %d later -wal files were tried, want some of each", older, later)
	}
}

// A badDisk is a disk that cannot read some pages.
type badDisk struct {
	io.ReaderAt
	bad map[int64]bool
}

func (d badDisk) ReadAt(p []byte, at int64) (int, error) {
	for b := at / pageBytes; b <= (at+int64(len(p))-1)/pageBytes; b++ {
		if d.bad[b] {
			return 0, errors.New("input/output error")
		}
	}
	return d.ReaderAt.ReadAt(p, at)
}

// TestBadDisk: only the rows on pages that the disk cannot read are lost, and these pages are counted.
func TestBadDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	build(t, testdata.OpenCode11833, path)
	tr := readTruth(t, path)
	disk := badDisk{bytes.NewReader(tr.data), map[int64]bool{}}
	damaged := bytes.Clone(tr.data)
	for n := int64(7); n < int64(len(tr.data)/pageBytes); n += 31 {
		disk.bad[n] = true
		clear(damaged[n*pageBytes:][:pageBytes])
	}
	got, res := salvageRows(t, Source{DB: disk, Size: int64(len(tr.data))})
	for name := range tr.readable(damaged) {
		if got[name] != tr.rows[name] {
			t.Errorf("%s is not read", name)
		}
	}
	for name, row := range got {
		if tr.rows[name] != row {
			t.Errorf("%s has other values", name)
		}
	}
	if res.Unreadable == 0 {
		t.Error("no page counts as unreadable")
	}
}

// TestRefusedRows: the new database has the schema of the file, and a row that one of its indexes refuses is reported.
func TestRefusedRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	build(t, testdata.OpenCode11833, path)
	c := open(t, path)
	run(t, c, "UPDATE message SET data = '{}' WHERE NOT json_valid(data) OR typeof(data) = 'blob'; CREATE INDEX recall_message_role_idx ON message (id, json_extract(data, '$.role'))")
	run(t, c, "CREATE INDEX recall_part_search_idx ON part (session_id) WHERE json_valid(data); CREATE TABLE kilo_board (id text PRIMARY KEY, session_id text); INSERT INTO kilo_board SELECT 'b' || id, id FROM session; PRAGMA wal_checkpoint(TRUNCATE)")
	role := texts(t, c, "SELECT id FROM message WHERE json_extract(data, '$.role') = 'user' ORDER BY rowid LIMIT 1")[0]
	row := "message " + texts(t, c, "SELECT rowid FROM message WHERE id = '"+role+"'")[0]
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	tr := readTruth(t, path)
	data, e := bytes.Clone(tr.data), tr.at[row]
	at := (e.page-1)*pageBytes + e.at
	at += bytes.Index(data[at:], []byte(`"role"`))
	data[at] = '!' // the row is no longer JSON
	got, res := salvageRows(t, source(data, nil))
	refused := 0
	for _, table := range res.Tables {
		for _, r := range table.Refused {
			refused++
			if table.Name != "message" || string(r.Known["id"].Bytes) != role || !strings.Contains(r.Why, "malformed JSON") {
				t.Errorf("refused: %s %q, %s", table.Name, r.Known["id"].Bytes, r.Why)
			}
		}
	}
	if refused != 1 || len(got) != len(tr.rows)-1 {
		t.Errorf("%d of %d rows are there and %d are refused, want one refused", len(got), len(tr.rows), refused)
	}
}

// TestRefusedAlone: a row outside the tree of its table that the database does not accept is reported as refused:
// nothing else would report that it is lost.
func TestRefusedAlone(t *testing.T) {
	db, _, err := Create(filepath.Join(t.TempDir(), "db"), Header{}, pageBytes, []Object{{Type: "table", Name: "t", SQL: "CREATE TABLE t (a text NOT NULL)"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Abandon() }()
	s, table := &scan{db: db}, db.tables[0]
	for i, inTree := range []bool{true, false} {
		if err := s.write(table, 1, []Value{{Class: change.ClassNull}}, inTree); err != nil || len(table.Refused) != i {
			t.Errorf("in the tree %t: refused %v, %v", inTree, table.Refused, err)
		}
	}
}
