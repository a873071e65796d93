package database

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/session"
	"mend/sqlstore"
	"mend/testdata"
)

// fixtures are the databases that the real program wrote.
var fixtures = map[string][]byte{"1.2.27": testdata.OpenCode1227, "1.18.33": testdata.OpenCode11833}

// unpack puts a fixture into a new folder and returns its database and session.
func unpack(t testing.TB, version string) (db, id string) {
	t.Helper()
	dir := t.TempDir()
	id, err := testdata.Unpack(fixtures[version], dir)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "opencode", dbName), id
}

func open(t testing.TB, path string, o Options) *Store {
	t.Helper()
	s, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func load(t testing.TB, s *Store, id string) *record.Session {
	t.Helper()
	got, err := s.Load(t.Context(), session.Head{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// agent is a connection such as the agent's: WAL, foreign keys on.
func agent(t testing.TB, path string) *sqlite3.Conn {
	t.Helper()
	c, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	sql(t, c, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA busy_timeout=5000; PRAGMA foreign_keys=ON; SELECT 1 FROM session")
	return c
}

func sql(t testing.TB, c *sqlite3.Conn, text string, args ...any) {
	t.Helper()
	if err := c.Exec(fmt.Sprintf(text, args...)); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// alter runs statements on the database as a program that then goes away.
func alter(t testing.TB, path string, statements ...string) {
	t.Helper()
	c, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	if err != nil {
		t.Fatal(err)
	}
	sql(t, c, "PRAGMA foreign_keys=OFF; PRAGMA legacy_alter_table=ON")
	for _, s := range statements {
		sql(t, c, "%s", s)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// dump returns every row of every table with the class and bytes of every column,
// ordered by primary key; it checks that the database is sound.
func dump(t testing.TB, path string) string {
	t.Helper()
	return dumpAfter(t, path, "PRAGMA integrity_check", "PRAGMA foreign_key_check")
}

// dumpRows is dump without the checks.
func dumpRows(t testing.TB, path string) string {
	t.Helper()
	return dumpAfter(t, path)
}

func dumpAfter(t testing.TB, path string, checks ...string) string {
	t.Helper()
	var b strings.Builder
	err := view(path, func(c *sqlstore.Conn) error {
		b.Reset()
		for _, check := range checks {
			if found, err := c.Strings(check); err != nil || len(found) > 0 && found[0] != "ok" {
				t.Errorf("%s: %v, %v", check, found, err)
			}
		}
		tables, err := c.Strings("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
		for _, name := range tables {
			dumpTable(t, c, name, &b)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// view runs f on the database, whatever its schema.
func view(path string, f func(*sqlstore.Conn) error) error {
	s, err := sqlstore.Open(path, nil, sqlstore.Options{})
	if err != nil {
		return err
	}
	return s.View(context.Background(), f)
}

// conflictsIn returns the conflicts of an error.
func conflictsIn(err error) []change.Conflict {
	var c *change.ConflictError
	if errors.As(err, &c) {
		return c.Conflicts
	}
	return nil
}

func dumpTable(t testing.TB, c *sqlstore.Conn, name string, b *strings.Builder) {
	t.Helper()
	keys, err := c.Strings("SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", sqlstore.Text(name))
	if err != nil {
		t.Fatal(err)
	}
	if len(keys) == 0 {
		keys = []string{"rowid"}
	}
	err = c.Query("SELECT * FROM "+sqlite3.QuoteIdentifier(name)+" ORDER BY "+strings.Join(keys, ", "), nil, func(st *sqlite3.Stmt) error {
		b.WriteString(name)
		for i := range st.ColumnCount() {
			v := sqlstore.CopyValue(st, i)
			fmt.Fprintf(b, " %s=%d:%s", st.ColumnName(i), v.Class, hex.EncodeToString(v.Bytes))
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// files returns the content of every file in the folder of the database, by name.
func files(t testing.TB, path string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(path), e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(data)
	}
	return all
}

// same fails the test if a file was changed, created or removed.
func same(t testing.TB, before, after map[string]string) {
	t.Helper()
	for name, data := range before {
		if now, ok := after[name]; !ok || now != data {
			t.Errorf("%s changed or is gone", name)
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			t.Errorf("%s is new", name)
		}
	}
}

// run prepares and commits ops.
func run(t testing.TB, s *Store, ops []change.Op) change.Outcome {
	t.Helper()
	return runPlan(t, s, change.Plan{Ops: ops})
}

func runPlan(t testing.TB, s *Store, p change.Plan) change.Outcome {
	t.Helper()
	st, err := s.Prepare(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Commit(t.Context(), st)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// mixedOps returns ops of all kinds: a part is changed, one is created, one is deleted,
// and a message with its parts gets another id.
func mixedOps(t testing.TB, before *record.Session) []change.Op {
	t.Helper()
	after := before.Clone()
	m := &after.Messages[1]
	if err := m.Parts[2].Set([]byte(`"changed"`), "text"); err != nil {
		t.Fatal(err)
	}
	m.Insert(after.NewTextPart(m, m.Parts[0].ID+"0", "[user interrupted]"))
	m.Remove(m.Parts[len(m.Parts)-1].Ref)
	last := &after.Messages[len(after.Messages)-1]
	to := last.Ref
	to.Message += "0"
	moved, err := record.Move(&last.Record, to)
	if err != nil {
		t.Fatal(err)
	}
	last.Record = moved
	for i := range last.Parts {
		ref := last.Parts[i].Ref
		ref.Message, ref.Part = to.Message, ref.Part+"0"
		r, err := record.Move(&last.Parts[i].Record, ref)
		if err != nil {
			t.Fatal(err)
		}
		last.Parts[i] = record.NewPart(r)
	}
	return change.Diff(before.AllRecords, after.AllRecords)
}
