package sqlstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/fail"
	"mend/internal/test/dbtest"
	"mend/sqlstore"
)

// TestUnknownSchema: an unknown schema is refused with an error that describes it, and every byte stays.
func TestUnknownSchema(t *testing.T) {
	cases := map[string]struct{ do, want string }{
		"no table":    {"DROP TABLE part", "no table part among account"},
		"other case":  {"ALTER TABLE part RENAME TO old; ALTER TABLE old RENAME TO Part", "no table part among Part"},
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

// TestLaterSchema: rows with unknown columns of every class, and rows of a table without rowids, are deleted and restored
// completely.
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
	// With a foreign key to a missing table every write would fail.
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

// TestSchemaChanges: if the agent adds a column between Prepare and Commit, the change is aborted.
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
		t.Error("a read does not have the new column")
	}
	dbtest.Alter(t, path, "DROP TABLE message")
	if _, err := sessionIDs(t.Context(), s); !errors.Is(err, sqlstore.ErrUnusable) {
		t.Errorf("View without a table: %v", err)
	}
}

// TestRefusedWrites: a change is aborted if the schema would make a statement do more, or less, than the plan.
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

// visible returns the columns that can be copied: in one schema a column is computed.
func visible(name string) string {
	if name == "converted" {
		return "(id, message_id, session_id, time_created, time_updated) SELECT id, message_id, session_id, time_created, time_updated"
	}
	return " SELECT *"
}

// tryPart changes the text and the time of a part. It commits even if Prepare fails.
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

// TestDefaultRow: the default row of a table has the values of a row that SQLite inserts without values.
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

// TestOptionalTable: an optional table is used only if it has the columns and the unique index of its spec.
func TestOptionalTable(t *testing.T) {
	path, _ := dbtest.Unpack(t, "1.18.33")
	for _, c := range []struct {
		spec sqlstore.TableSpec
		do   string
		want bool
	}{
		{sqlstore.TableSpec{Columns: []string{"a"}}, "", false},
		{sqlstore.TableSpec{Columns: []string{"a"}}, "CREATE TABLE extra (b)", false},
		{sqlstore.TableSpec{Columns: []string{"a"}}, "CREATE TABLE extra (a)", true},
		{sqlstore.TableSpec{Columns: []string{"a"}, Unique: []string{"a", "b"}}, "CREATE TABLE extra (a, b)", false},
		{sqlstore.TableSpec{Columns: []string{"a"}, Unique: []string{"a", "b"}}, "CREATE TABLE extra (a, b); CREATE INDEX extra_ab ON extra (a, b)", false},
		{sqlstore.TableSpec{Columns: []string{"a"}, Unique: []string{"a", "b"}}, "CREATE TABLE extra (a, b, UNIQUE (b, a))", false},
		{sqlstore.TableSpec{Columns: []string{"a"}, Unique: []string{"a", "b"}}, "CREATE TABLE extra (a, b, UNIQUE (a, b))", true},
	} {
		dbtest.Alter(t, path, "DROP TABLE IF EXISTS extra;"+c.do)
		c.spec.Name, c.spec.Optional = "extra", true
		s, err := sqlstore.Open(path, []sqlstore.TableSpec{c.spec}, sqlstore.Options{})
		dbtest.Must(t, err)
		has := false
		err = s.View(t.Context(), func(conn *sqlstore.Conn) error {
			has = conn.HasTable("extra")
			return nil
		})
		if err != nil || has != c.want {
			t.Errorf("%q: HasTable = %t, %v, want %t of %+v", c.do, has, err, c.want, c.spec)
		}
	}
}

// TestSized: of data above the limit only the size is read, at whatever position the column is.
func TestSized(t *testing.T) {
	for columns, limit := range map[string]int64{
		"id text PRIMARY KEY, session_id, data": 4,
		"data, id text PRIMARY KEY, session_id": 4,
		"id text PRIMARY KEY, data, session_id": 0, // SQLite's own
		"session_id, id text PRIMARY KEY, data": -1,
	} {
		second := "/5"
		if limit <= 0 {
			second = "12345/5"
		}
		path, _ := dbtest.Unpack(t, "1.18.33")
		dbtest.Alter(t, path, "CREATE TABLE extra ("+columns+")", "INSERT INTO extra (id, session_id, data) VALUES ('a', 's', '1234'), ('b', 's', '12345')")
		spec := sqlstore.TableSpec{Kind: change.KindMessage, Name: "extra", Data: "data", Parent: "session_id", Columns: []string{"id"}, SessionRows: `"session_id" = ?1 ORDER BY id`}
		s, err := sqlstore.Open(path, []sqlstore.TableSpec{spec}, sqlstore.Options{MaxRecord: limit})
		dbtest.Must(t, err)
		var sized, classes []string
		err = s.View(t.Context(), func(c *sqlstore.Conn) error {
			table := c.Table(change.KindMessage)
			read := func(sql string, to *[]string) error {
				*to = nil
				return c.Query(sql, []sqlstore.Value{sqlstore.Text("s")}, func(st *sqlite3.Stmt) error {
					*to = append(*to, st.ColumnText(table.DataIndex)+"/"+st.ColumnText(len(table.Cols)))
					return nil
				})
			}
			return errors.Join(read(table.SelectSized, &sized), read(table.SelectSizes, &classes))
		})
		if err != nil || strings.Join(sized, " ") != "1234/4 "+second || strings.Join(classes, " ") != "text/4 text/5" {
			t.Errorf("%s: %q, %q, %v", columns, sized, classes, err)
		}
	}
}

// TestLogHint: if a table is missing and the database has a -wal, the hint says that the -wal may be another database's.
func TestLogHint(t *testing.T) {
	for _, wal := range []bool{false, true} {
		path, _ := dbtest.Unpack(t, "1.18.33")
		if rename := "ALTER TABLE session RENAME TO other"; wal {
			dbtest.Exec(t, dbtest.Agent(t, path), "%s", rename)
		} else {
			dbtest.Alter(t, path, rename)
		}
		err := try(t, path)
		if _, hint := fail.Classify(err); err == nil || strings.Contains(hint, "a -wal of another database") != wal {
			t.Errorf("with a -wal %t: %v, %q", wal, err, hint)
		}
	}
}
