package salvage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"mend/internal/test/storetest"
	"mend/testdata"
)

// A truth is the content of a database before it is damaged, read without the tested code: the rows as SQLite reads
// them, and their locations in the file.
type truth struct {
	page int // size in bytes
	data []byte
	rows map[string]string // table and rowid → values
	at   map[string]extent // table and rowid → location
	free map[int]bool      // numbers of the free pages; a row that is copied to one counts as deleted
}

// An extent is the location of a row: its cell on a page, and its overflow pages.
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

// readTruth reads an undamaged database.
func readTruth(t testing.TB, path string) truth {
	t.Helper()
	tr := truth{page: pageBytes, rows: rowsIn(t, path), at: map[string]extent{}, free: map[int]bool{}}
	var err error
	if tr.data, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	c := open(t, path)
	defer func() { _ = c.Close() }()
	if _, err := fmt.Sscan(texts(t, c, "PRAGMA page_size")[0], &tr.page); err != nil {
		t.Fatal(err)
	}
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
	u32 := func(at int) int { return int(binary.BigEndian.Uint32(tr.data[at:])) }
	for trunk := u32(32); trunk != 0; trunk = u32((trunk - 1) * tr.page) {
		tr.free[trunk] = true
		for i := range u32((trunk-1)*tr.page + 4) {
			tr.free[u32((trunk-1)*tr.page+8+4*i)] = true
		}
	}
	if len(tr.at) != len(tr.rows) {
		t.Fatalf("%d rows have a location, and SQLite reads %d", len(tr.at), len(tr.rows))
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

// follow records the locations of the rows of a table.
func (tr *truth) follow(table string, page int) {
	p := tr.data[(page-1)*tr.page : page*tr.page]
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
		body, u := at+w+w2, tr.page
		local := int(size)
		if local > u-35 {
			m := (u-12)*32/255 - 23
			if local = m + (int(size)-m)%(u-4); local > u-35 {
				local = m
			}
			for next := binary.BigEndian.Uint32(p[body+local:]); next != 0; {
				e.overflow = append(e.overflow, int(next))
				next = binary.BigEndian.Uint32(tr.data[(int(next)-1)*tr.page:])
			}
			local += 4
		}
		e.end = body + local
		tr.at[fmt.Sprintf("%s %d", table, int64(rowid))] = e
	}
}

// readable returns the rows that are complete in the damaged file: it has their overflow pages, and their cell,
// either at its offset or on a copy of its whole page. The first page has the schema and no rows.
func (tr *truth) readable(damaged []byte) (whole map[string]bool) {
	whole = map[string]bool{}
	pages := map[string]bool{}
	for at := tr.page; at+tr.page <= len(damaged); at += tr.page {
		if !tr.free[at/tr.page+1] {
			pages[string(damaged[at:at+tr.page])] = true
		}
	}
	same := func(from, to int) bool {
		return to <= len(damaged) && bytes.Equal(damaged[from:to], tr.data[from:to])
	}
	for name, e := range tr.at {
		base := (e.page - 1) * tr.page
		ok := same(base+e.at, base+e.end) || pages[string(tr.data[base:base+tr.page])]
		for _, o := range e.overflow {
			ok = ok && same((o-1)*tr.page, o*tr.page)
		}
		if ok {
			whole[name] = true
		}
	}
	return whole
}

// damageAt damages a file at random, and describes how.
func damageAt(rnd *rand.Rand, whole []byte, page int) (data []byte, how string) {
	data = bytes.Clone(whole)
	for range 1 + rnd.IntN(3) {
		n := rnd.IntN(len(data)/page + 1)
		if n > 0 {
			n--
		}
		if rnd.IntN(12) == 0 {
			n = 0
		}
		p := data[n*page : (n+1)*page]
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
			o := rnd.IntN(len(data) / page)
			q := data[o*page : (o+1)*page]
			before := bytes.Clone(p)
			copy(p, q)
			copy(q, before)
			how += fmt.Sprintf(" swapped with %d (kind %d); ", o+1, before[0])
		case 4:
			p[rnd.IntN(12)] ^= byte(1 + rnd.IntN(255))
			how += " header byte; "
		case 5:
			at := rnd.IntN(page - 64)
			clear(p[at : at+64])
			how += fmt.Sprintf(" 64 bytes at %d; ", at)
		case 6:
			at := 8 + 2*rnd.IntN(10)
			p[at], p[at+1] = byte(rnd.Uint32()), byte(rnd.Uint32())
			how += " cell pointer; "
		case 7:
			if rnd.IntN(4) == 0 {
				data = data[:page+rnd.IntN(len(data)-page)]
				how += fmt.Sprintf(" cut to %d; ", len(data))
				return data, how
			}
			o := rnd.IntN(len(data) / page)
			copy(p, data[o*page:(o+1)*page])
			how += fmt.Sprintf(" copied from %d; ", o+1)
		}
	}
	return data, how
}

var owners = map[string]Owner{"message": {"session_id", "session", "id"}, "part": {"session_id", "session", "id"}, "event": {"aggregate_id", "event_sequence", "aggregate_id"}}

// noRow reports whether values are a row of the table migration that lies in another table of the same shape.
func noRow(t *Table, vals []Value) bool {
	return t.Name != "migration" && bytes.HasPrefix(vals[0].Bytes, []byte("2026"))
}

// TestDamagedFiles: from a database that is damaged at random, every row whose bytes are all left is in the new
// database with the values that SQLite read before, and no other row is.
func TestDamagedFiles(t *testing.T) {
	const rebuilt = "PRAGMA journal_mode=DELETE; PRAGMA auto_vacuum=%d; PRAGMA page_size=%d; VACUUM; PRAGMA foreign_keys=ON; DELETE FROM session WHERE id LIKE '%%x5'; DELETE FROM event_sequence WHERE aggregate_id LIKE '%%x5'; PRAGMA journal_mode=WAL; PRAGMA wal_checkpoint(TRUNCATE)"
	for _, kind := range []struct {
		version string
		archive []byte
		alter   string
		stream  uint64
		seeds   []int // always tried, because they once lost rows
	}{
		{"1.2.27", testdata.OpenCode1227, "", 135, []int{97, 126, 212}},
		{"1.18.33", testdata.OpenCode11833, "", 135, []int{361}},
		{"1.18.33", testdata.OpenCode11833, fmt.Sprintf(rebuilt, 0, 4096), 1127, nil},
		{"1.18.33", testdata.OpenCode11833, fmt.Sprintf(rebuilt, 2, 1024), 4, nil},
		{"1.18.33", testdata.OpenCode11833, fmt.Sprintf(rebuilt, 1, 16384), 7, nil},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "whole.db")
		build(t, kind.archive, path)
		c := open(t, path)
		run(t, c, "%s", kind.alter)
		var known []Object
		st, _, err := c.Prepare("SELECT type, name, coalesce(sql, '') FROM sqlite_schema ORDER BY rowid")
		if err != nil {
			t.Fatal(err)
		}
		for st.Step() {
			known = append(known, Object{Type: st.ColumnText(0), Name: st.ColumnText(1), SQL: st.ColumnText(2)})
		}
		_, _ = st.Close(), c.Close()
		tr := readTruth(t, path)
		seeds := kind.seeds
		for seed := range storetest.Count(500, 2) {
			seeds = append(seeds, seed)
		}
		total, got := 0, 0
		for _, seed := range seeds {
			if only := os.Getenv("SEEDS"); only != "" && !slices.Contains(strings.Split(only, ","), fmt.Sprint(seed)) {
				continue
			}
			rnd := rand.New(rand.NewPCG(uint64(seed), kind.stream))
			data, how := damageAt(rnd, tr.data, tr.page)
			how = fmt.Sprintf("%s, pages of %d, seed %d (%s)", kind.version, tr.page, seed, how)
			all, found := tr.check(t, data, how, known, filepath.Join(dir, fmt.Sprintf("new%d.db", seed)))
			total, got = total+all, got+found
		}
		t.Logf("%s: %d of %d readable rows in %d files of %d pages of %d", kind.version, got, total, len(seeds), len(tr.data)/tr.page, tr.page)
	}
}

// check salvages a damaged file, and returns how many rows can be read in it and how many of those are in the new
// database.
func (tr *truth) check(t *testing.T, data []byte, how string, known []Object, out string) (all, got int) {
	res, err := Read(t.Context(), Source{DB: bytes.NewReader(data), Size: int64(len(data))}, out, Options{Known: func([]Object) []Object { return known }, Owners: owners, NoRow: noRow})
	if err != nil {
		t.Errorf("%s: %v", how, err)
		return 0, 0
	}
	reported := map[string]map[int64]bool{} // the rows that are reported as lost, by table
	for _, table := range res.Tables {
		reported[table.Name] = map[int64]bool{}
		for rowid := range table.Lost.All() {
			reported[table.Name][rowid] = true
		}
	}
	if _, err := res.DB.Finish(res.Header); err != nil {
		t.Errorf("%s: Finish: %v", how, err)
		return 0, 0
	}
	rows, want := rowsIn(t, out), tr.readable(data)
	lost, invented := 0, 0
	for name := range want {
		if rows[name] == tr.rows[name] {
			got++
		} else if lost++; lost < 4 {
			t.Logf("%s: %s on page %d is %.80q, want %.80q", how, name, tr.at[name].page, rows[name], tr.rows[name])
		}
	}
	for name := range rows {
		if _, ok := tr.rows[name]; !ok {
			if invented++; invented < 4 {
				t.Logf("%s: invented: %s %.80q", how, name, rows[name])
			}
		}
	}
	nonexistent := 0
	for _, table := range res.Tables {
		for rowid := range reported[table.Name] {
			name := fmt.Sprintf("%s %d", table.Name, rowid)
			if rows[name] != "" {
				t.Errorf("%s: %s is in the new database and is reported as lost", how, name)
			}
			if tr.rows[name] == "" && table.Damaged {
				nonexistent++
			}
		}
	}
	for name := range tr.rows {
		table, id, _ := strings.Cut(name, " ")
		i := slices.IndexFunc(res.Tables, func(t *Table) bool { return t.Name == table })
		if rows[name] != "" || i < 0 || !res.Tables[i].Complete() {
			continue
		}
		rowid, _ := strconv.ParseInt(id, 10, 64)
		if !reported[table][rowid] && !slices.ContainsFunc(res.Tables[i].Refused, func(r Refusal) bool { return r.Rowid == rowid }) {
			t.Errorf("%s: %s is not in the new database, and is not reported", how, name)
		}
	}
	if nonexistent > 3 { // an entry of an index can be damaged
		t.Errorf("%s: %d rows are reported as lost that never existed", how, nonexistent)
	}
	if lost > 0 || invented > 0 {
		t.Errorf("%s: %d of %d readable rows are not in the new database, %d were invented", how, lost, len(want), invented)
	}
	_ = os.Remove(out)
	return len(want), got
}
