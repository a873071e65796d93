package sqlstore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"mend/session"
)

// A schema is what we must know of the database's tables.
type schema struct {
	source string // the SQL of all tables and triggers, from which the rest follows
	tables map[session.Kind]*table

	projects   bool // there is a table of projects, by folder and time
	workspaces bool // there is a table of workspaces
}

// A table is one of the three that hold sessions.
type table struct {
	name     string
	kind     session.Kind
	cols     []string     // in the table's order, but for those that SQLite computes
	data     string       // the name of the column with the JSON, "" if there is none
	parents  []foreignKey // what its rows refer to
	children []foreignKey // what refers to its rows
	triggers []string

	dataIndex int // where the data stands among cols, -1 for none

	selectAll   string // all rows
	selectRow   string // the row of an id
	selectSized string // the rows of a session, but no data above the limit, and its size behind the columns
	selectSizes string // the same with the class of the data in its place
	limit       int64
}

// required lists what the agent and we rely on. All known versions have it.
func required() []table {
	return []table{
		{kind: session.KindSession, name: "session", cols: []string{
			"id", "project_id", "directory", "title", "version", "time_created", "time_updated",
		}},
		{kind: session.KindMessage, name: "message", data: "data", cols: []string{
			"id", "session_id", "time_created", "time_updated", "data",
		}},
		{kind: session.KindPart, name: "part", data: "data", cols: []string{
			"id", "message_id", "session_id", "time_created", "time_updated", "data",
		}},
	}
}

// schemaOf is the schema in the transaction that c is in. The error wraps
// [ErrUnusable] if it is not one that we know.
func (s *Store) schemaOf(c *conn) (*schema, error) {
	source, err := c.strings("SELECT coalesce(group_concat(sql, ';'), '') FROM sqlite_schema WHERE type IN ('table', 'trigger', 'view')")
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	seen := s.schema
	s.mu.Unlock()
	if seen != nil && seen.source == source[0] {
		return seen, nil
	}
	sc, err := c.readSchema(source[0], s.opt.MaxRecord)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.schema = sc
	s.mu.Unlock()
	return sc, nil
}

func (c *conn) readSchema(source string, limit int64) (*schema, error) {
	sc := &schema{source: source, tables: map[session.Kind]*table{}}
	for _, want := range required() {
		t, err := c.readTable(want, limit)
		if err != nil {
			return nil, err
		}
		sc.tables[t.kind] = t
	}
	cols, err := c.strings("SELECT name FROM pragma_table_info('project') WHERE name IN ('id', 'worktree', 'time_updated')")
	if err != nil {
		return nil, err
	}
	if sc.projects = len(cols) == 3; sc.projects {
		t, err := c.readTable(table{kind: session.KindProject, name: "project", cols: []string{"id", "worktree", "time_updated"}}, limit)
		if err != nil {
			return nil, err
		}
		sc.tables[t.kind] = t
	}
	if cols, err = c.strings("SELECT name FROM pragma_table_info('workspace') WHERE name = 'id'"); err != nil {
		return nil, err
	}
	sc.workspaces = len(cols) == 1
	return sc, c.readForeignKeys(sc)
}

// readTable reads what the database says of a table and compares it with what
// is needed.
func (c *conn) readTable(want table, limit int64) (*table, error) {
	if err := c.checkKind(want.name); err != nil {
		return nil, err
	}
	t := &table{name: want.name, kind: want.kind, data: want.data, limit: limit}
	var err error
	if t.cols, err = c.strings("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY cid", text(t.name)); err != nil {
		return nil, err
	}
	for _, col := range want.cols {
		if !slices.Contains(t.cols, col) {
			return nil, unusable("unknown schema: table %s has no column %s; it has %s", t.name, col, strings.Join(t.cols, ", "))
		}
	}
	if err := c.checkKey(t.name); err != nil {
		return nil, err
	}
	t.selectAll = "SELECT " + quoteAll(t.cols) + " FROM " + sqlite3.QuoteIdentifier(t.name)
	t.selectRow = t.selectAll + ` WHERE "id" = ?`
	t.dataIndex = slices.IndexFunc(t.cols, func(name string) bool { return t.data != "" && name == t.data })
	t.selectSized = t.sessionSelect(fmt.Sprintf("iif(octet_length(%[1]s) > %[2]d, NULL, %[1]s)", dataColumn, limit))
	t.selectSizes = t.sessionSelect("typeof(" + dataColumn + ")")
	t.triggers, err = c.strings("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND lower(tbl_name) = ?", text(t.name))
	return t, err
}

// checkKey reports if the primary key is not the id alone, compared bytewise:
// then an id would not mean one row.
func (c *conn) checkKey(name string) error {
	keys, err := c.strings("SELECT name FROM pragma_table_info(?) WHERE pk > 0", text(name))
	if err != nil {
		return err
	}
	_, collation, _, _, _, err := c.db.TableColumnMetadata("main", name, "id")
	if err == nil && (len(keys) != 1 || keys[0] != "id" || collation != "BINARY") {
		err = unusable("unknown schema: the primary key of %s is (%s), id is compared by %s", name, strings.Join(keys, ", "), collation)
	}
	return err
}

// checkKind reports what is wrong with the table as a whole: it is not there, or
// is a view or a virtual table.
func (c *conn) checkKind(name string) error {
	found, err := c.strings("SELECT type || ' ' || substr(sql, 1, 14) FROM sqlite_schema WHERE name = ? AND type IN ('table', 'view')", text(name))
	if err != nil {
		return err
	}
	switch {
	case len(found) == 0:
		all, err := c.strings("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
		if err == nil {
			err = unusable("unknown schema: no table %s among %s", name, orNone(all))
		}
		return err
	case !strings.HasPrefix(found[0], "table ") || strings.HasPrefix(strings.ToUpper(found[0]), "TABLE CREATE VIRTUAL"):
		return unusable("unknown schema: %s is no plain table", name)
	}
	return nil
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// strings is the first column of a query's rows.
func (c *conn) strings(sql string, args ...value) ([]string, error) {
	var found []string
	err := c.query(sql, args, func(st *sqlite3.Stmt) error {
		found = append(found, st.ColumnText(0))
		return nil
	})
	return found, err
}

func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = sqlite3.QuoteIdentifier(n)
	}
	return strings.Join(quoted, ", ")
}
