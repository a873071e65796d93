package salvage

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"mend/internal/test/storetest"
	"mend/testdata"
)

// A truth is what a database has before it is damaged, found without the code that is tested: the rows as
// SQLite reads them, and where each lies in the file.
type truth struct {
	data []byte
	rows map[string]string // table and rowid → values
	at   map[string]extent // where they lie
}

// An extent is where a row lies: a cell on a page, and the overflow pages behind it.
type extent struct {
	page, at, end int
	overflow      []int
}

const pageBytes = 4096

func open(t testing.TB, path string) *sqlite3.Conn {
	t.Helper()
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func run(t testing.TB, c *sqlite3.Conn, sql string, args ...any) {
	t.Helper()
	if err := c.Exec(fmt.Sprintf(sql, args...)); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func texts(t testing.TB, c *sqlite3.Conn, sql string) (all []string) {
	t.Helper()
	st, _, err := c.Prepare(sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer func() { _ = st.Close() }()
	for st.Step() {
		all = append(all, st.ColumnText(0))
	}
	if err := st.Err(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return all
}

// build makes a database of several sessions from one that the real OpenCode wrote, with long rows, odd storage
// classes and pages that deleted sessions left.
func build(t testing.TB, archive []byte, path string) {
	t.Helper()
	dir := t.TempDir()
	id, err := testdata.Unpack(archive, dir)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, "opencode", "opencode.db"))
	if err == nil {
		err = os.WriteFile(path, whole, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := open(t, path)
	defer func() { _ = c.Close() }()
	run(t, c, "PRAGMA journal_mode=DELETE; PRAGMA foreign_keys=OFF")
	refs := map[string][]string{"session": {"id"}, "message": {"id", "session_id"}, "part": {"id", "message_id", "session_id"}}
	if len(texts(t, c, "SELECT 1 FROM sqlite_schema WHERE name = 'event'")) > 0 {
		refs["event_sequence"], refs["event"] = []string{"aggregate_id"}, []string{"id", "aggregate_id"}
	}
	for i := range 12 {
		for _, table := range slices.Sorted(maps.Keys(refs)) {
			ids := refs[table]
			owner := map[string]string{"session": "id", "event": "aggregate_id", "event_sequence": "aggregate_id"}[table]
			if owner == "" {
				owner = "session_id"
			}
			var cols []string
			for _, col := range texts(t, c, "SELECT name FROM pragma_table_info('"+table+"')") {
				value := `"` + col + `"`
				for _, ref := range ids {
					if ref == col {
						value += fmt.Sprintf(" || 'x%d'", i)
					}
				}
				if col == "data" {
					value = fmt.Sprintf("replace(data, '%s', '%sx%d')", id, id, i)
				}
				cols = append(cols, value)
			}
			run(t, c, `INSERT INTO "%s" SELECT %s FROM "%s" WHERE "%s" = '%s'`, table, strings.Join(cols, ", "), table, owner, id)
		}
	}
	run(t, c, `UPDATE part SET data = json_set(data, '$.padding', hex(zeroblob(length(data) * 9))) WHERE rowid %% 7 = 0`)
	run(t, c, `UPDATE part SET data = json_set(data, '$.padding', hex(zeroblob(30000))) WHERE rowid %% 41 = 0`)
	run(t, c, `UPDATE message SET data = CAST(data AS BLOB) WHERE rowid %% 13 = 0; UPDATE part SET data = '' WHERE rowid %% 53 = 0; UPDATE part SET data = substr(data, 1, 40) WHERE rowid %% 59 = 0`)
	run(t, c, "PRAGMA foreign_keys=ON; DELETE FROM session WHERE id LIKE '%%x3' OR id LIKE '%%x7' OR id LIKE '%%x11'")
	if refs["event"] != nil {
		run(t, c, "DELETE FROM event_sequence WHERE aggregate_id LIKE '%%x3' OR aggregate_id LIKE '%%x7' OR aggregate_id LIKE '%%x11'")
	}
	run(t, c, "PRAGMA journal_mode=WAL; PRAGMA wal_checkpoint(TRUNCATE)")
}

// rowsIn returns the rows of all tables as SQLite reads them.
func rowsIn(t testing.TB, path string) map[string]string {
	t.Helper()
	c := open(t, path)
	defer func() { _ = c.Close() }()
	rows := map[string]string{}
	for _, table := range texts(t, c, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'") {
		st, _, err := c.Prepare(`SELECT rowid, * FROM "` + table + `"`)
		if err != nil {
			t.Fatal(err)
		}
		for st.Step() {
			var b strings.Builder
			for i := 1; i < st.ColumnCount(); i++ {
				fmt.Fprintf(&b, "%v:%x|", st.ColumnType(i), st.ColumnRawText(i))
			}
			rows[fmt.Sprintf("%s %d", table, st.ColumnInt64(0))] = b.String()
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

// readTruth reads a database that is whole.
func readTruth(t testing.TB, path string) truth {
	t.Helper()
	tr := truth{rows: rowsIn(t, path), at: map[string]extent{}}
	var err error
	if tr.data, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	c := open(t, path)
	defer func() { _ = c.Close() }()
	st, _, err := c.Prepare("SELECT name, rootpage FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
	if err != nil {
		t.Fatal(err)
	}
	for st.Step() {
		tr.follow(st.ColumnText(0), st.ColumnInt(1))
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if len(tr.at) != len(tr.rows) {
		t.Fatalf("%d rows lie somewhere, SQLite reads %d", len(tr.at), len(tr.rows))
	}
	return tr
}

func uvarint(b []byte) (v uint64, n int) {
	for n < 8 {
		v = v<<7 | uint64(b[n]&127)
		n++
		if b[n-1] < 128 {
			return v, n
		}
	}
	return v<<8 | uint64(b[8]), 9
}

// follow notes where the rows of a table lie.
func (tr *truth) follow(table string, page int) {
	p := tr.data[(page-1)*pageBytes : page*pageBytes]
	u16 := func(at int) int { return int(binary.BigEndian.Uint16(p[at:])) }
	n := u16(3)
	if p[0] == 5 {
		for i := range n {
			tr.follow(table, int(binary.BigEndian.Uint32(p[u16(12+2*i):])))
		}
		tr.follow(table, int(binary.BigEndian.Uint32(p[8:])))
		return
	}
	for i := range n {
		at := u16(8 + 2*i)
		size, w := uvarint(p[at:])
		rowid, w2 := uvarint(p[at+w:])
		e := extent{page: page, at: at}
		body, u := at+w+w2, pageBytes
		local := int(size)
		if local > u-35 {
			m := (u-12)*32/255 - 23
			if local = m + (int(size)-m)%(u-4); local > u-35 {
				local = m
			}
			for next := binary.BigEndian.Uint32(p[body+local:]); next != 0; {
				e.overflow = append(e.overflow, int(next))
				next = binary.BigEndian.Uint32(tr.data[(int(next)-1)*pageBytes:])
			}
			local += 4
		}
		e.end = body + local
		tr.at[fmt.Sprintf("%s %d", table, int64(rowid))] = e
	}
}

// readable returns the rows of which every byte is in the damaged file: their cell on its page or, where pages are
// swapped, on that page at another place, and their overflow pages. doubtful are those that may be read with other bytes.
func (tr *truth) readable(damaged []byte) (whole map[string]bool) {
	whole = map[string]bool{}
	pages := map[string]bool{}
	for at := 0; at+pageBytes <= len(damaged); at += pageBytes {
		pages[string(damaged[at:at+pageBytes])] = true
	}
	same := func(from, to int) bool {
		return to <= len(damaged) && bytes.Equal(damaged[from:to], tr.data[from:to])
	}
	for name, e := range tr.at {
		base := (e.page - 1) * pageBytes
		ok := same(base+e.at, base+e.end) || pages[string(tr.data[base:base+pageBytes])]
		for _, o := range e.overflow {
			ok = ok && same((o-1)*pageBytes, o*pageBytes)
		}
		if ok {
			whole[name] = true
		}
	}
	return whole
}

// damageAt damages a file at random, and says how.
func damageAt(rnd *rand.Rand, whole []byte) (data []byte, how string) {
	data = bytes.Clone(whole)
	for range 1 + rnd.IntN(3) {
		n := rnd.IntN(len(data)/pageBytes + 1)
		if n > 0 {
			n--
		}
		if rnd.IntN(12) == 0 {
			n = 0
		}
		p := data[n*pageBytes : (n+1)*pageBytes]
		how += fmt.Sprintf("page %d (kind %d)", n+1, p[0])
		switch rnd.IntN(8) {
		case 0:
			clear(p)
			how += " zeroed; "
		case 1:
			for i := range p {
				p[i] = byte(rnd.Uint32())
			}
			how += " random; "
		case 2, 3:
			o := rnd.IntN(len(data) / pageBytes)
			q := data[o*pageBytes : (o+1)*pageBytes]
			was := bytes.Clone(p)
			copy(p, q)
			copy(q, was)
			how += fmt.Sprintf(" swapped with %d (kind %d); ", o+1, was[0])
		case 4:
			p[rnd.IntN(12)] ^= byte(1 + rnd.IntN(255))
			how += " header byte; "
		case 5:
			at := rnd.IntN(pageBytes - 64)
			clear(p[at : at+64])
			how += fmt.Sprintf(" 64 bytes at %d; ", at)
		case 6:
			at := 8 + 2*rnd.IntN(10)
			p[at], p[at+1] = byte(rnd.Uint32()), byte(rnd.Uint32())
			how += " cell pointer; "
		case 7:
			if rnd.IntN(4) == 0 {
				data = data[:pageBytes+rnd.IntN(len(data)-pageBytes)]
				how += fmt.Sprintf(" cut to %d; ", len(data))
				return data, how
			}
			o := rnd.IntN(len(data) / pageBytes)
			copy(p, data[o*pageBytes:(o+1)*pageBytes])
			how += fmt.Sprintf(" copied from %d; ", o+1)
		}
	}
	return data, how
}

var owners = map[string]Owner{"message": {"session_id", "session", "id"}, "part": {"session_id", "session", "id"}, "event": {"aggregate_id", "event_sequence", "aggregate_id"}}

// TestDamagedFiles damages databases at random: every row whose bytes are in the file is in the new database as SQLite read it before,
// and no row is there that was not.
func TestDamagedFiles(t *testing.T) {
	n := storetest.Count(500, 60)
	for version, archive := range map[string][]byte{"1.2.27": testdata.OpenCode1227, "1.18.33": testdata.OpenCode11833} {
		dir := t.TempDir()
		path := filepath.Join(dir, "whole.db")
		build(t, archive, path)
		tr := readTruth(t, path)
		whole := map[string]Object{}
		c := open(t, path)
		for _, name := range texts(t, c, "SELECT name FROM sqlite_schema") {
			whole[name] = Object{Name: name, Type: texts(t, c, "SELECT type FROM sqlite_schema WHERE name='"+name+"'")[0], SQL: texts(t, c, "SELECT coalesce(sql,'') FROM sqlite_schema WHERE name='"+name+"'")[0]}
		}
		var known []Object
		for _, name := range texts(t, c, "SELECT name FROM sqlite_schema ORDER BY rowid") {
			known = append(known, whole[name])
		}
		_ = c.Close()
		total, got := 0, 0
		for seed := range n {
			if only := os.Getenv("SEEDS"); only != "" && !slices.Contains(strings.Split(only, ","), fmt.Sprint(seed)) {
				continue
			}
			rnd := rand.New(rand.NewPCG(uint64(seed), 35))
			data, how := damageAt(rnd, tr.data)
			out := filepath.Join(dir, fmt.Sprintf("new%d.db", seed))
			res, err := Read(context.Background(), Source{DB: bytes.NewReader(data), Size: int64(len(data))}, out, Options{Known: func([]Object) [][]Object { return [][]Object{known} }, Owners: owners})
			if err != nil {
				t.Errorf("%s, seed %d (%s): %v", version, seed, how, err)
				continue
			}
			if _, err := res.WriteDoubtful(); err != nil {
				t.Fatal(err)
			}
			if _, err := res.DB.Finish(res.Header); err != nil {
				t.Errorf("%s, seed %d (%s): Finish: %v", version, seed, how, err)
				continue
			}
			rows, want := rowsIn(t, out), tr.readable(data)
			lost, made := 0, 0
			for name := range want {
				total++
				if rows[name] != tr.rows[name] {
					if lost++; lost < 4 {
						t.Logf("%s, seed %d: %s on page %d is %.80q, want %.80q", version, seed, name, tr.at[name].page, rows[name], tr.rows[name])
					}
				} else {
					got++
				}
			}
			for name := range rows {
				if _, ok := tr.rows[name]; !ok {
					if made++; made < 4 {
						t.Logf("%s, seed %d: made up: %s %.80q", version, seed, name, rows[name])
					}
				}
			}
			for _, table := range res.Tables {
				for rowid := range table.Lost {
					if name := fmt.Sprintf("%s %d", table.Name, rowid); rows[name] != "" {
						t.Errorf("%s, seed %d (%s): %s is there and counts as lost", version, seed, how, name)
					}
				}
			}
			if lost > 0 || made > 0 {
				t.Errorf("%s, seed %d (%s): %d of %d readable rows are not there, %d were made up", version, seed, how, lost, len(want), made)
			}
			_ = os.Remove(out)
		}
		t.Logf("%s: %d of %d readable rows in %d files of %d pages", version, got, total, n, len(tr.data)/pageBytes)
	}
}
