package sqlstore

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
	"mend/internal/fail"
)

// A schema is the database's definition of its tables.
type schema struct {
	source string                // SQL of all tables, indexes, triggers and views; the rest is derived from it
	all    map[string]*tableInfo // all plain tables, by name in lower case
	tables map[change.Kind]*Table
	exist  map[string]bool // names of the specs whose table exists
}

// A tableInfo is a plain table of the database, with or without a spec.
type tableInfo struct {
	name     string
	cols     []string // in the table's order, without those that SQLite computes
	keys     []string // the columns of the primary key, in its order
	triggers []string
	parents  []foreignKey // from its rows
	children []foreignKey // to its rows
}

// A Table is a table of records.
type Table struct {
	TableSpec
	*tableInfo
	Cols      []string // in the table's order, without those that SQLite computes
	others    []string // Cols without Data
	DataIndex int      // index of Data in Cols; -1 if it has none
	with      []*Table // the tables in With

	entryQueries     []entryQuery // one for each index, see readEntryQueries
	rowid, nextRowid string       // queries for the rowid of an id, and for the next rowid

	SelectAll   string // all rows
	SelectRow   string // the row of an id
	SelectSized string // the rows of a session, with NULL for data above the limit, and the size of the data as last column
	SelectSizes string // SelectSized with the storage class in place of the data
	Limit       int64
}

// schemaOf returns the schema in the transaction of c. The error wraps [ErrUnusable] if it does not
// match the specs.
func (s *Store) schemaOf(c *Conn) (*schema, error) {
	source, err := c.Strings("SELECT coalesce(group_concat(sql, ';'), '') FROM sqlite_schema")
	if err != nil {
		return nil, err
	}
	if seen := s.schema.Load(); seen != nil && seen.source == source[0] {
		return seen, nil
	}
	sc, err := c.readSchema(source[0], s.specs, s.opt.MaxRecord)
	if err == nil {
		s.schema.Store(sc)
	}
	return sc, err
}

func (c *Conn) readSchema(source string, specs []TableSpec, limit int64) (*schema, error) {
	sc := &schema{source: source, all: map[string]*tableInfo{}, tables: map[change.Kind]*Table{}, exist: map[string]bool{}}
	if err := errors.Join(c.readTables(sc), c.readForeignKeys(sc)); err != nil {
		return nil, err
	}
	for _, spec := range specs {
		if spec.Optional {
			ok, err := c.matchesSpec(sc, &spec)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
		}
		sc.exist[spec.Name] = true
		if spec.Kind == 0 {
			continue
		}
		t, err := c.newTable(sc, spec, limit)
		if err != nil {
			return nil, err
		}
		sc.tables[t.Kind] = t
	}
	return sc, nil
}

// readTables reads the columns, keys and triggers of all plain tables.
func (c *Conn) readTables(sc *schema) error {
	const columns = `SELECT m.name, x.name, x.pk FROM sqlite_schema AS m, pragma_table_xinfo(m.name) AS x
		WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%' AND x.hidden = 0 ORDER BY m.name, x.cid`
	err := c.Query(columns, nil, func(st *sqlite3.Stmt) error {
		name, col := st.ColumnText(0), st.ColumnText(1)
		t := sc.table(name)
		if t == nil {
			t = &tableInfo{name: name}
			sc.all[strings.ToLower(name)] = t
		}
		t.cols = append(t.cols, col)
		if at := st.ColumnInt(2); at > 0 {
			t.keys = append(t.keys, make([]string, max(0, at-len(t.keys)))...)
			t.keys[at-1] = col
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.Query("SELECT tbl_name, name FROM sqlite_schema WHERE type = 'trigger'", nil, func(st *sqlite3.Stmt) error {
		if t := sc.table(st.ColumnText(0)); t != nil { // else it is on a view
			t.triggers = append(t.triggers, st.ColumnText(1))
		}
		return nil
	})
}

// table returns the plain table of that name, nil if there is none. SQLite ignores the case of names.
func (sc *schema) table(name string) *tableInfo { return sc.all[strings.ToLower(name)] }

// matchesSpec reports whether the table exists and has the columns and the index of the spec.
func (c *Conn) matchesSpec(sc *schema, spec *TableSpec) (bool, error) {
	t := sc.table(spec.Name)
	if t == nil || slices.ContainsFunc(spec.Columns, func(want string) bool { return !slices.Contains(t.cols, want) }) {
		return false, nil
	}
	if spec.Unique == nil {
		return true, nil
	}
	const indexes = `SELECT 1 FROM pragma_index_list(?1) AS l WHERE l."unique" AND NOT l.partial AND
		?2 = (SELECT group_concat(name) FROM (SELECT name FROM pragma_index_info(l.name) ORDER BY seqno))`
	return c.Has(indexes, Text(spec.Name), Text(strings.Join(spec.Unique, ",")))
}

// newTable returns the table of a spec, which it must match.
func (c *Conn) newTable(sc *schema, spec TableSpec, limit int64) (*Table, error) {
	info, err := c.plainTable(sc, spec.Name, spec.Columns)
	if err != nil {
		return nil, err
	}
	t := &Table{TableSpec: spec, tableInfo: info, Cols: info.cols, Limit: limit}
	if err := c.checkKey(t); err != nil {
		return nil, err
	}
	t.SelectAll = "SELECT " + quoteAll(t.Cols) + " FROM " + sqlite3.QuoteIdentifier(t.Name)
	t.SelectRow = t.SelectAll + t.whereKey()
	t.others = slices.DeleteFunc(slices.Clone(t.Cols), func(name string) bool { return name == t.Data })
	t.DataIndex = slices.IndexFunc(t.Cols, func(name string) bool { return t.Data != "" && name == t.Data })
	class := "typeof(" + sqlite3.QuoteIdentifier(t.Data) + ")"
	sized := fmt.Sprintf("iif(octet_length(%[1]s) > %[2]d, NULL, %[1]s)", sqlite3.QuoteIdentifier(t.Data), t.Limit)
	t.SelectSized = t.selectWhere(sized, t.SessionRows)
	t.SelectSizes = t.selectWhere(class, t.SessionRows)
	for _, name := range spec.With {
		info, err := c.plainTable(sc, name, []string{spec.key()})
		if err != nil {
			return nil, err
		}
		w := &Table{TableSpec: TableSpec{Name: name, Key: spec.Key}, tableInfo: info, Cols: info.cols, others: info.cols, DataIndex: -1}
		w.SelectRow = "SELECT " + quoteAll(w.Cols) + " FROM " + sqlite3.QuoteIdentifier(name) + w.whereKey() + " ORDER BY rowid"
		t.with = append(t.with, w)
	}
	return t, c.readEntryQueries(t)
}

// checkKey returns an error unless the primary key is the id column alone, compared by bytes:
// otherwise an id would not identify one row.
func (c *Conn) checkKey(t *Table) error {
	_, collation, _, _, _, err := c.db.TableColumnMetadata("main", t.Name, t.key())
	if err == nil && (!slices.Equal(t.keys, []string{t.key()}) || collation != "BINARY") {
		err = Unusable("unknown schema: the primary key of %s is (%s), and %s is compared by %s", t.Name, strings.Join(t.keys, ", "), t.key(), collation)
	}
	return err
}

// plainTable returns the table of exactly that name, which must have the columns.
func (c *Conn) plainTable(sc *schema, name string, cols []string) (*tableInfo, error) {
	if t := sc.table(name); t != nil && t.name == name {
		for _, col := range cols {
			if !slices.Contains(t.cols, col) {
				return nil, Unusable("unknown schema: table %s has no column %s; it has %s", name, col, strings.Join(t.cols, ", "))
			}
		}
		return t, nil
	}
	all, err := c.Strings("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name")
	if err != nil {
		return nil, err
	}
	if slices.Contains(all, name) {
		return nil, Unusable("unknown schema: %s is not a plain table", name)
	}
	err = Unusable("unknown schema: no table %s among %s", name, cmp.Or(strings.Join(all, ", "), "none"))
	if info, errWAL := os.Stat(c.db.Filename("main").String() + "-wal"); errWAL == nil && info.Size() > 0 {
		err = fail.WithHint(err, "a -wal of another database may lie beside it: \"mend salvage --dry-run\" then reads the database without it")
	}
	return nil, err
}

func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = sqlite3.QuoteIdentifier(n)
	}
	return strings.Join(quoted, ", ")
}
