package salvage

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"mend/change"
	"mend/internal/sqlite"
)

// TestLostRowsMemory: lost rows use less than 8 bytes of memory each. The root of a table is zeroed, so that every row
// counts as lost until its page is found.
func TestLostRowsMemory(t *testing.T) {
	inUse := func(rows int) (most uint64) {
		dir := t.TempDir()
		path := filepath.Join(dir, "whole.db")
		c := open(t, path)
		run(t, c, "CREATE TABLE event (id text PRIMARY KEY, session text NOT NULL, seq integer NOT NULL, data text); CREATE UNIQUE INDEX at ON event (session, seq)")
		run(t, c, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO event SELECT printf('evt_%%026d', i), printf('ses_%%026d', i / 100), i, hex(zeroblob(40)) FROM n", rows)
		root := texts(t, c, "SELECT rootpage FROM sqlite_schema WHERE name = 'event'")
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var n int
		if _, err := fmt.Sscan(root[0], &n); err != nil {
			t.Fatal(err)
		}
		clear(data[(n-1)*pageBytes : n*pageBytes])
		measure := func() uint64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before := measure()
		res, err := Read(t.Context(), Source{DB: bytes.NewReader(data), Size: int64(len(data))}, filepath.Join(dir, "new.db"), Options{
			Progress: func(int64, int64) { most = max(most, measure()) },
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Tables[0]; got.Rows != rows || got.Lost.Len() > 0 {
			t.Errorf("of %d rows %d were found and %d are lost", rows, got.Rows, got.Lost.Len())
		}
		if _, err := res.DB.Finish(res.Header); err != nil {
			t.Error(err)
		}
		return most - min(before, most)
	}
	const rows = 16_000
	inUse(rows / 16) // allocates what is allocated only once
	if n := inUse(rows); n > 8*rows {
		t.Errorf("%d bytes are in use for %d rows, want at most %d", n, rows, 8*rows)
	}
}

// TestLostRows: the known values of a lost row are read back unchanged, for each class.
func TestLostRows(t *testing.T) {
	table := Object{Type: "table", Name: "a", SQL: "CREATE TABLE a (t text, i integer, r real, b blob, other text)"}
	db, _, err := Create(filepath.Join(t.TempDir(), "db"), Header{}, pageBytes, []Object{table})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Abandon() }()
	l := db.tables[0].Lost
	known := Known{
		"t": {Class: change.ClassText, Bytes: []byte("half \xed\xa0\x80")}, "i": sqlite.Int(-1 << 63),
		"r": {Class: change.ClassReal, Bytes: []byte{0xbf, 0xe0, 0, 0, 0, 0, 0, 0}}, "b": {Class: change.ClassBlob, Bytes: []byte{}},
	}
	l.Set(7, Known{})
	l.Set(7, Known{"i": sqlite.Int(1), "t": known["t"]})
	l.Set(7, Known{"i": known["i"], "r": known["r"], "b": known["b"]})
	l.Set(-9, Known{})
	if got := l.Get(7); fmt.Sprint(got) != fmt.Sprint(known) {
		t.Errorf("Get = %v, want %v", got, known)
	}
	if !l.has("t", known["t"]) || l.has("t", sqlite.Text("half")) || l.has("other", sqlite.Text("")) || l.has("missing", sqlite.Text("")) {
		t.Error("has does not find exactly the texts that were set")
	}
	if l.Len() != 2 || l.Get(8) != nil || l.Get(-9) == nil {
		t.Errorf("%d rows, want 2; row 8 is %v, want nil; row -9 is %v, want empty values", l.Len(), l.Get(8), l.Get(-9))
	}
	var all []int64
	for rowid := range l.All() {
		all = append(all, rowid)
		l.Delete(rowid)
	}
	l.Delete(7)
	if fmt.Sprint(all) != "[-9 7]" || l.Len() != 0 || l.Get(7) != nil || db.err != nil {
		t.Errorf("%v were deleted, and %d are left; %v", all, l.Len(), db.err)
	}
}
