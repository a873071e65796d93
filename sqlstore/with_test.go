package sqlstore_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"mend/change"
	"mend/internal/test/dbtest"
	"mend/sqlstore"
)

// TestRowsOfSeveralTables: a record of several tables is compared, deleted and restored with all of its rows, and with no
// other row.
func TestRowsOfSeveralTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	run := func(sql string) (rows []string) {
		t.Helper()
		db, err := sqlite3.Open(path)
		dbtest.Must(t, err)
		dbtest.Must(t, db.Exec(sql))
		for _, q := range []string{"SELECT 's', id, at FROM state ORDER BY id", "SELECT 'a', id || n, quote(x) FROM a ORDER BY id, n", "SELECT 'b', id, quote(y) FROM b ORDER BY id, y"} {
			st, _, err := db.Prepare(q)
			dbtest.Must(t, err)
			for st.Step() {
				rows = append(rows, st.ColumnText(0)+" "+st.ColumnText(1)+" "+st.ColumnText(2))
			}
			dbtest.Must(t, st.Close())
		}
		dbtest.Must(t, db.Close())
		return rows
	}
	before := run(`PRAGMA journal_mode = wal; CREATE TABLE state (id TEXT PRIMARY KEY, at INTEGER);
		CREATE TABLE a (id TEXT, n INTEGER, x, PRIMARY KEY (id, n)); CREATE TABLE b (id TEXT, y TEXT);
		INSERT INTO state VALUES ('s1', 1), ('s2', 2);
		INSERT INTO a VALUES ('s1', 2, x'00ff'), ('s1', 1, 1.5), ('s2', 1, NULL); INSERT INTO b VALUES ('s1', 'é'), ('s2', 'z')`)
	spec := sqlstore.TableSpec{Kind: change.KindHistory, Name: "state", Columns: []string{"id"}, SessionRows: `"id" = ?1`, With: []string{"a", "b"}}
	s, err := sqlstore.Open(path, []sqlstore.TableSpec{spec}, sqlstore.Options{})
	dbtest.Must(t, err)
	ref := change.Ref{Kind: change.KindHistory, Session: "s1"}
	read := func() *change.Image {
		t.Helper()
		now, err := s.Read(t.Context(), []change.Ref{ref})
		dbtest.Must(t, err)
		return now[0]
	}
	commit := func(pre, post *change.Image, want change.State) {
		t.Helper()
		out, err := s.Commit(t.Context(), change.Staged{Store: s.ID(), Ops: []change.Op{{Ref: ref, Pre: pre, Post: post}}})
		if err != nil || out.State != want {
			t.Fatalf("Commit: %v, %v, %v", out.State, out.Cause, err)
		}
	}
	first := read()
	commit(first, nil, change.Committed)
	if d := cmp.Diff([]string{"s s2 2", "a s21 NULL", "b s2 'z'"}, run("")); d != "" {
		t.Error(d)
	}
	commit(nil, first, change.Committed)
	if d := cmp.Diff(before, run("")); d != "" {
		t.Error(d)
	}
	run("UPDATE a SET x = 7 WHERE id = 's1' AND n = 2; DELETE FROM b WHERE id = 's1'")
	commit(first, nil, change.Aborted)
	commit(read(), first, change.Committed)
	if d := cmp.Diff(before, run("")); d != "" {
		t.Error(d)
	}
	commit(first, nil, change.Committed)

	row, err := change.RowOf(ref, first)
	dbtest.Must(t, err)
	for _, c := range []struct {
		data []byte
		why  string
	}{
		{row.Data[:len(row.Data)-1], "are cut short"},
		{[]byte{0xff}, "are cut short"},
		{bytes.Repeat([]byte{0xff}, 11), "are cut short"},
		{slices.Concat([]byte{row.Data[0] + 1}, row.Data[1:]), "cut short or too long"},
		{[]byte{1, 'x'}, "image is not a row"},
		{[]byte(replaceLast(string(row.Data), "s1", "s2")), "a row of b does not belong to it"},
		{[]byte(replaceLast(string(row.Data), "b", "c")), "a row of c does not belong to it"},
		{[]byte(replaceLast(string(row.Data), "y", "w")), "a row of b does not belong to it"},
	} {
		bad := row
		bad.Data = c.data
		out, err := s.Commit(t.Context(), change.Staged{Store: s.ID(), Ops: []change.Op{{Ref: ref, Post: change.ImageOf(&bad)}}})
		if err != nil || out.State != change.Aborted || !strings.Contains(out.Cause.Error(), c.why) || read() != nil {
			t.Errorf("%q: %v, %v, %v, want %q", c.data, out.State, out.Cause, err, c.why)
		}
	}

	other := change.Ref{Kind: change.KindHistory, Session: "s2"}
	now, err := s.Read(t.Context(), []change.Ref{other})
	dbtest.Must(t, err)
	row, err = change.RowOf(other, now[0])
	dbtest.Must(t, err)
	for _, most := range []int64{int64(len(row.Data)), int64(len(row.Data)) - 1} {
		small, err := sqlstore.Open(path, []sqlstore.TableSpec{spec}, sqlstore.Options{MaxRecord: most})
		dbtest.Must(t, err)
		if _, err := small.Read(t.Context(), []change.Ref{other}); (err == nil) != (most == int64(len(row.Data))) {
			t.Errorf("Read of a record of %d bytes with a limit of %d: %v", len(row.Data), most, err)
		}
	}
	spec.With = []string{"gone"}
	strange, err := sqlstore.Open(path, []sqlstore.TableSpec{spec}, sqlstore.Options{})
	dbtest.Must(t, err)
	if _, err := strange.Read(t.Context(), []change.Ref{ref}); err == nil {
		t.Error("Read of a missing table: no error")
	}
}

// replaceLast replaces the last occurrence of old, which has the same length.
func replaceLast(s, old, text string) string {
	for i := len(s) - len(old); i >= 0; i-- {
		if s[i:i+len(old)] == old {
			return s[:i] + text + s[i+len(old):]
		}
	}
	return s
}
