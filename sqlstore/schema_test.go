package sqlstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/test/dbtest"
	"mend/sqlstore"
)

// TestUnknownSchema: an unknown schema is refused, the error lists what was found, and every byte
// stays. Fault case 30.
func TestUnknownSchema(t *testing.T) {
	cases := map[string]struct{ do, want string }{
		"no table":    {"DROP TABLE part", "no table part among account"},
		"no column":   {"ALTER TABLE message RENAME COLUMN data TO body", "table message has no column data; it has id, session_id"},
		"view":        {"ALTER TABLE part RENAME TO part2; CREATE VIEW part AS SELECT * FROM part2", "part is not a plain table"},
		"key":         {dbtest.Rebuild("part", "id text, message_id text, session_id text, time_created, time_updated, data"), "primary key of part is ()"},
		"double key":  {dbtest.Rebuild("part", "id text, message_id text, session_id text, time_created, time_updated, data, PRIMARY KEY(id, session_id)"), "primary key of part is (id, session_id)"},
		"collation":   {dbtest.Rebuild("part", "id text COLLATE NOCASE PRIMARY KEY, message_id text, session_id text, time_created, time_updated, data"), "compared by NOCASE"},
		"foreign key": {"CREATE TABLE x(a, b, FOREIGN KEY (a, b) REFERENCES part)", "does not fit"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			path, _ := dbtest.Unpack(t, "1.18.33")
			dbtest.Alter(t, path, c.do)
			before := dbtest.Files(t, path)
			err := try(t, path)
			if !errors.Is(err, sqlstore.ErrUnusable) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v; want %q in one line", err, c.want)
			}
			dbtest.WantSame(t, before, dbtest.Files(t, path))
		})
	}
}

// TestLaterSchema has columns of a later version, of every class, and a table without rowids: rows
// are read and restored completely. Fault case 30.
func TestLaterSchema(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	dbtest.Alter(t, path,
		"ALTER TABLE part ADD COLUMN extra_null",
		`ALTER TABLE part ADD COLUMN "extra ""real" real DEFAULT -0.5`,
		"ALTER TABLE part ADD COLUMN extra_blob blob DEFAULT x'00ff'",
		"ALTER TABLE part ADD COLUMN extra_text text DEFAULT 'it''s'",
		"ALTER TABLE part ADD COLUMN extra_size integer AS (length(data)) VIRTUAL",
		"UPDATE part SET extra_null = 1e999, extra_text = CAST(x'61006200ff' AS TEXT)",
		"UPDATE part SET extra_blob = zeroblob(0), extra_text = '' WHERE rowid % 2",
		dbtest.Rebuild("message", "id text PRIMARY KEY, session_id text, time_created, time_updated, data REFERENCES nowhere, extra) WITHOUT ROWID; SELECT (1")+"",
		"INSERT INTO message SELECT *, 9223372036854775807 FROM old", "DROP TABLE old")
	// A foreign key to a table that is not there would fail on every write.
	dbtest.Alter(t, path, "CREATE TABLE nowhere(data PRIMARY KEY)", "INSERT INTO nowhere SELECT DISTINCT data FROM message")
	before := dbtest.Dump(t, path)
	s := open(t, path, sqlstore.Options{})
	got := load(t, s, id)
	if n := len(got.Messages[1].Parts[1].Cols.Names()); n != 9 {
		t.Errorf("%d columns, want 9", n)
	}
	ops := partOps(dbtest.MixedOps(t, got), got.Messages[1].ID)
	if out := dbtest.Run(t, s, ops); out.State != change.Committed {
		t.Fatalf("Commit = %+v", out)
	}
	if out := dbtest.Run(t, s, change.Inverse(ops)); out.State != change.Committed {
		t.Fatalf("undo = %+v", out)
	}
	if now := dbtest.Dump(t, path); now != before {
		t.Errorf("after undo\n%s\nwant\n%s", now, before)
	}
	for _, m := range got.Messages {
		dbtest.DeleteAndRestore(t, s, path, m.Parts)
	}
}

func partOps(ops []change.Op, message string) []change.Op {
	var own []change.Op
	for _, o := range ops {
		if o.Ref.Kind == change.KindPart && o.Ref.Message == message {
			own = append(own, o)
		}
	}
	return own
}

// TestSchemaChanges has the agent upgrade the database between Load and Commit. Fault case 30.
func TestSchemaChanges(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, sqlstore.Options{})
	before := load(t, s, id)
	after := before.Clone()
	m := &after.Messages[1]
	m.Insert(after.NewTextPart(m, m.Parts[0].ID+"0", "new"))
	ops := change.Diff(before.AllRecords, after.AllRecords)
	st, err := s.Prepare(t.Context(), change.Plan{Ops: ops})
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Alter(t, path, "ALTER TABLE part ADD COLUMN extra text NOT NULL DEFAULT 'x'")
	previous := dbtest.Dump(t, path)
	out, err := s.Commit(t.Context(), st)
	if err != nil || out.State != change.Aborted || out.Cause == nil || !strings.Contains(out.Cause.Error(), "extra") {
		t.Errorf("Commit = %+v, %v", out, err)
	}
	if dbtest.Dump(t, path) != previous {
		t.Error("rows changed")
	}
	if got := load(t, s, id); len(got.Messages[1].Parts[0].Cols.Names()) != 6 {
		t.Error("the new column is not seen")
	}
	dbtest.Alter(t, path, "DROP TABLE message")
	if _, err := sessionIDs(t.Context(), s); !errors.Is(err, sqlstore.ErrUnusable) {
		t.Errorf("View without a table: %v", err)
	}
}

// TestRefusedWrites has schemas where a statement would do more, or less, than is planned.
func TestRefusedWrites(t *testing.T) {
	const cols = "id text PRIMARY KEY, message_id text, session_id text, time_created integer, time_updated integer, data"
	const fill = "; INSERT INTO part SELECT * FROM old; DROP TABLE old"
	cases := map[string]struct{ do, want string }{
		"trigger":    {"CREATE TRIGGER t AFTER UPDATE ON part BEGIN DELETE FROM session; END", "trigger t"},
		"constraint": {dbtest.Rebuild("part", cols+", CHECK (data NOT LIKE '%changed%')") + fill, "CHECK constraint failed"},
		"converted":  {dbtest.Rebuild("part", cols+" blob COLLATE NOCASE AS (lower(id)) STORED") + fill, "unknown schema"},
		"affinity":   {dbtest.Rebuild("part", strings.Replace(cols, "time_updated integer", "time_updated text", 1)) + fill, "changed the row"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			path, id := dbtest.Unpack(t, "1.18.33")
			s := open(t, path, sqlstore.Options{})
			before := load(t, s, id)
			dbtest.Alter(t, path, strings.ReplaceAll(c.do, "INSERT INTO part SELECT *", "INSERT INTO part"+visible(name)))
			previous := dbtest.Dump(t, path)
			out := tryPart(t, s, before)
			if out.State != change.Aborted || out.Cause == nil || !strings.Contains(out.Cause.Error(), c.want) {
				t.Errorf("%+v, want %q", out, c.want)
			}
			if dbtest.Dump(t, path) != previous {
				t.Error("rows changed")
			}
		})
	}
}

// visible returns the expression to copy if a column is computed.
func visible(name string) string {
	if name == "converted" {
		return "(id, message_id, session_id, time_created, time_updated) SELECT id, message_id, session_id, time_created, time_updated"
	}
	return " SELECT *"
}

// tryPart changes a text, and the time from its present value to an integer; an error of Prepare
// counts as one of Commit.
func tryPart(t *testing.T, s *sqlstore.Store, before *record.Session) change.Outcome {
	t.Helper()
	after := before.Clone()
	p := &after.Messages[1].Parts[2]
	if err := p.Set([]byte(`"changed"`), "text"); err != nil {
		t.Fatal(err)
	}
	ops := change.Diff(before.AllRecords, after.AllRecords)
	now, err := s.Read(t.Context(), []change.Ref{p.Ref})
	if err != nil {
		return change.Outcome{State: change.Aborted, Cause: err}
	}
	ops[0].Pre = now[0]
	st, err := s.Prepare(t.Context(), change.Plan{Ops: ops})
	if err != nil {
		st = change.Staged{Store: s.ID(), Ops: ops}
	}
	out, commitErr := s.Commit(t.Context(), st)
	if commitErr != nil {
		t.Error(commitErr)
	}
	return out
}

// TestDefaultRow compares the default row of a table with the row that SQLite itself inserts.
func TestDefaultRow(t *testing.T) {
	path, _ := dbtest.Unpack(t, "1.18.33")
	columns := []string{
		"a", "b text", "c integer NOT NULL DEFAULT '7'", "d real DEFAULT 1", "e blob DEFAULT x'00ff'", "f text DEFAULT 1", "g text DEFAULT 'it''s \"q\"; -- x'",
		"h boolean DEFAULT true", "i integer DEFAULT -1", "j text DEFAULT word", `k "a ""strange"" type" DEFAULT '8'`, "l varchar(5) DEFAULT NULL", "m text AS (id)",
		"n text DEFAULT CURRENT_TIMESTAMP", "o integer DEFAULT (random())", "p text NOT NULL", "q DEFAULT (1+1)",
	}
	const mustBeGiven = " n o p q id message_id session_id time_created time_updated "
	want := map[string]string{}
	dbtest.Alter(t, path, "DROP TABLE part", "CREATE TABLE part (id text PRIMARY KEY NOT NULL, message_id text NOT NULL, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL, "+strings.Join(columns, ", ")+")",
		"INSERT INTO part (id, message_id, session_id, time_created, time_updated, data, p) VALUES ('prt_1', '', '', 0, 0, '', '')")
	s := open(t, path, sqlstore.Options{})
	err := s.View(t.Context(), func(c *sqlstore.Conn) error {
		table := c.Table(change.KindPart)
		return c.Query(table.SelectAll, nil, func(st *sqlite3.Stmt) error {
			r := table.CopyRow(st)
			for c := range r.Cols.All {
				want[c.Name] = fmt.Sprintf("%v %x", c.Class, c.Bytes)
			}
			return nil
		})
	})
	row, err2 := s.DefaultRow(t.Context(), change.KindPart)
	if err := errors.Join(err, err2); err != nil || len(row.Cols.Names()) != len(want) {
		t.Fatalf("%v, %v; want %v", row.Cols.Names(), err, want)
	}
	for c := range row.Cols.All {
		given := strings.Contains(mustBeGiven, " "+c.Name+" ")
		if got := fmt.Sprintf("%v %x", c.Class, c.Bytes); given != (c.Class == 0) || !given && got != want[c.Name] {
			t.Errorf("%s: %s, want %s", c.Name, got, want[c.Name])
		}
	}
	if row, err := s.DefaultRow(t.Context(), change.KindFile); err != nil || len(row.Cols.Names()) > 0 {
		t.Errorf("the row of a file has %v, %v", row.Cols.Names(), err)
	}
}
