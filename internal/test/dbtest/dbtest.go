// Package dbtest has databases of OpenCode for tests: written by the real program, changed by other connections, and
// compared row by row.
//
// It may import agent/opencode/record, change, internal/test/storetest, sqlstore and testdata. Read [Unpack] and [Dump]
// first.
package dbtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/test/storetest"
	"mend/sqlstore"
	"mend/testdata"
)

// Name is the name of a database of a released OpenCode.
const Name = "opencode.db"

// Fixtures are the databases that the real program wrote.
var Fixtures = map[string][]byte{"1.2.27": testdata.OpenCode1227, "1.18.33": testdata.OpenCode11833}

// Unpack puts a fixture into a new folder and returns its database and session.
func Unpack(t testing.TB, version string) (db, id string) {
	t.Helper()
	dir := t.TempDir()
	id, err := testdata.Unpack(Fixtures[version], dir)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "opencode", Name), id
}

// Agent returns a connection such as the agent's: WAL, foreign keys on.
func Agent(t testing.TB, path string) *sqlite3.Conn {
	t.Helper()
	c, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	Exec(t, c, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA busy_timeout=5000; PRAGMA foreign_keys=ON; SELECT 1 FROM session")
	return c
}

// Exec runs SQL on the connection.
func Exec(t testing.TB, c *sqlite3.Conn, text string, args ...any) {
	t.Helper()
	if err := c.Exec(fmt.Sprintf(text, args...)); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// Alter runs statements on the database like a program that then exits.
func Alter(t testing.TB, path string, statements ...string) {
	t.Helper()
	c, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	if err != nil {
		t.Fatal(err)
	}
	Exec(t, c, "PRAGMA foreign_keys=OFF; PRAGMA legacy_alter_table=ON")
	for _, s := range statements {
		Exec(t, c, "%s", s)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// longValue is the number of bytes that [Dump] shows of a value, with the hash of a longer value.
const longValue = 64 << 10

// Dump returns every row of every table with the class and bytes of every column, ordered by primary key. It checks that the
// database is sound.
func Dump(t testing.TB, path string) string {
	t.Helper()
	return dumpAfter(t, path, "PRAGMA integrity_check", "PRAGMA foreign_key_check")
}

// DumpRows is [Dump] without the checks.
func DumpRows(t testing.TB, path string) string {
	t.Helper()
	return dumpAfter(t, path)
}

func dumpAfter(t testing.TB, path string, checks ...string) string {
	t.Helper()
	var b strings.Builder
	err := View(path, func(c *sqlstore.Conn) error {
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

// View runs f on the database, whatever its schema.
func View(path string, f func(*sqlstore.Conn) error) error {
	s, err := sqlstore.Open(path, nil, sqlstore.Options{})
	if err != nil {
		return err
	}
	return s.View(context.Background(), f)
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
			shown := hex.EncodeToString(v.Bytes[:min(len(v.Bytes), longValue)])
			if len(v.Bytes) > longValue {
				shown += fmt.Sprintf("... %d bytes, SHA-256 %x", len(v.Bytes), sha256.Sum256(v.Bytes))
			}
			fmt.Fprintf(b, " %s=%d:%s", st.ColumnName(i), v.Class, shown)
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Files returns the content of every file in the folder of the database, by name.
func Files(t testing.TB, path string) map[string]string {
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

// WantSame fails the test if a file was changed, created or removed.
func WantSame(t testing.TB, before, after map[string]string) {
	t.Helper()
	for name, data := range before {
		if now, ok := after[name]; !ok || now != data {
			t.Errorf("%s was changed or removed", name)
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			t.Errorf("%s is new", name)
		}
	}
}

// MixedOps returns ops of all kinds: they change, create and delete a part, and give a message with its parts another id.
func MixedOps(t testing.TB, before *record.Session) []change.Op {
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

// Write writes a file.
func Write(t testing.TB, path, data string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

// HasText reports whether a part of the session has the text.
func HasText(s *record.Session, text string) bool {
	for _, m := range s.Messages {
		for _, p := range m.Parts {
			if p.Text == text {
				return true
			}
		}
	}
	return false
}

// Must ends the test if there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Rebuild returns the SQL that gives a table other columns and no rows; the former table is called old.
func Rebuild(name, columns string) string {
	return "ALTER TABLE " + name + " RENAME TO old; CREATE TABLE " + name + "(" + columns + ")"
}

// Run prepares and commits ops.
func Run(t testing.TB, s storetest.Store, ops []change.Op) change.Outcome {
	t.Helper()
	st, err := s.Prepare(t.Context(), change.Plan{Ops: ops})
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Commit(t.Context(), st)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// DeleteAndRestore deletes the rows of the parts, restores them, and checks that every row of the database is
// unchanged, class by class.
func DeleteAndRestore(t *testing.T, s storetest.Store, path string, parts []record.Part) {
	t.Helper()
	before := DumpRows(t, path)
	var ops []change.Op
	for _, p := range parts {
		if !p.Unreadable() && p.Ref.Validate() == nil {
			ops = append(ops, change.Op{Ref: p.Ref, Pre: change.ImageOf(&p.Record)})
		}
	}
	if out := Run(t, s, ops); out.State != change.Committed {
		t.Fatalf("deleting: %+v", out)
	}
	if out := Run(t, s, change.Inverse(ops)); out.State != change.Committed || DumpRows(t, path) != before {
		t.Errorf("restoring: %+v", out)
	}
}

// Orphans returns how many rows refer to a row that does not exist.
func Orphans(t testing.TB, path string) int {
	t.Helper()
	var found []string
	err := View(path, func(c *sqlstore.Conn) (err error) {
		found, err = c.Strings("PRAGMA foreign_key_check")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}
