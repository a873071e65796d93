package sqlstore

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
	"mend/internal/fail"
)

// A schema is the database's definition of a store's tables.
type schema struct {
	source string // SQL of all tables, indexes, triggers and views; the rest is derived from it
	tables map[change.Kind]*Table
	exist  map[string]bool // names of the specs whose table exists
}

// A Table is a table of records.
type Table struct {
	TableSpec
	Cols      []string     // in the table's order, without those that SQLite computes
	others    []string     // Cols without Data
	DataIndex int          // index of Data in Cols; -1 if it has none
	parents   []foreignKey // from its rows
	children  []foreignKey // to its rows
	triggers  []string
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
	s.mu.Lock()
	seen := s.schema
	s.mu.Unlock()
	if seen != nil && seen.source == source[0] {
		return seen, nil
	}
	sc, err := c.readSchema(source[0], s.specs, s.opt.MaxRecord)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.schema = sc
	s.mu.Unlock()
	return sc, nil
}

func (c *Conn) readSchema(source string, specs []TableSpec, limit int64) (*schema, error) {
	sc := &schema{source: source, tables: map[change.Kind]*Table{}, exist: map[string]bool{}}
	for _, spec := range specs {
		if spec.Optional {
			ok, err := c.matchesSpec(spec)
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
		t, err := c.readTable(spec, limit)
		if err != nil {
			return nil, err
		}
		sc.tables[t.Kind] = t
	}
	return sc, c.readForeignKeys(sc)
}

// matchesSpec reports whether the table exists and has the columns and the index of the spec.
func (c *Conn) matchesSpec(spec TableSpec) (bool, error) {
	cols, err := c.Strings("SELECT name FROM pragma_table_info(?)", Text(spec.Name))
	for _, want := range spec.Columns {
		if !slices.Contains(cols, want) {
			return false, err
		}
	}
	if err != nil || spec.Unique == nil {
		return true, err
	}
	const indexes = `SELECT 1 FROM pragma_index_list(?1) AS l WHERE l."unique" AND NOT l.partial AND
		?2 = (SELECT group_concat(name) FROM (SELECT name FROM pragma_index_info(l.name) ORDER BY seqno))`
	return c.Has(indexes, Text(spec.Name), Text(strings.Join(spec.Unique, ",")))
}

// readTable reads the columns and triggers of a table and compares them with the spec.
func (c *Conn) readTable(spec TableSpec, limit int64) (*Table, error) {
	if err := c.checkKind(spec.Name); err != nil {
		return nil, err
	}
	t := &Table{TableSpec: spec, Limit: limit}
	var err error
	if t.Cols, err = c.Strings("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY cid", Text(t.Name)); err != nil {
		return nil, err
	}
	for _, col := range spec.Columns {
		if !slices.Contains(t.Cols, col) {
			return nil, Unusable("unknown schema: table %s has no column %s; it has %s", t.Name, col, strings.Join(t.Cols, ", "))
		}
	}
	if err := c.checkKey(&spec); err != nil {
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
	if err := c.readEntryQueries(t); err != nil {
		return nil, err
	}
	for _, name := range spec.With {
		cols, err := c.Strings("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY cid", Text(name))
		if err == nil && !slices.Contains(cols, spec.key()) {
			err = Unusable("unknown schema: table %s has no column %s", name, spec.key())
		}
		if err != nil {
			return nil, err
		}
		w := &Table{TableSpec: TableSpec{Name: name, Key: spec.Key}, Cols: cols, others: cols, DataIndex: -1}
		w.SelectRow = "SELECT " + quoteAll(cols) + " FROM " + sqlite3.QuoteIdentifier(name) + w.whereKey() + " ORDER BY rowid"
		t.with = append(t.with, w)
	}
	t.triggers, err = c.Strings("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND lower(tbl_name) = ?", Text(t.Name))
	return t, err
}

// checkKey returns an error unless the primary key is the id column alone, compared by bytes:
// otherwise an id would not identify one row.
func (c *Conn) checkKey(spec *TableSpec) error {
	name := spec.Name
	keys, err := c.Strings("SELECT name FROM pragma_table_info(?) WHERE pk > 0", Text(name))
	if err != nil {
		return err
	}
	_, collation, _, _, _, err := c.db.TableColumnMetadata("main", name, spec.key())
	if err == nil && (len(keys) != 1 || keys[0] != spec.key() || collation != "BINARY") {
		err = Unusable("unknown schema: the primary key of %s is (%s), and %s is compared by %s", name, strings.Join(keys, ", "), spec.key(), collation)
	}
	return err
}

// checkKind returns an error if the table does not exist, or is a view or a virtual table.
func (c *Conn) checkKind(name string) error {
	found, err := c.Strings("SELECT type || ' ' || substr(sql, 1, 14) FROM sqlite_schema WHERE name = ? AND type IN ('table', 'view')", Text(name))
	if err != nil {
		return err
	}
	switch {
	case len(found) == 0:
		all, err := c.Strings("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
		if err == nil {
			err = Unusable("unknown schema: no table %s among %s", name, cmp.Or(strings.Join(all, ", "), "none"))
			if info, errWAL := os.Stat(c.db.Filename("main").String() + "-wal"); errWAL == nil && info.Size() > 0 {
				err = fail.WithHint(err, "a -wal of another database may lie beside it: \"mend salvage --dry-run\" then reads the database without it")
			}
		}
		return err
	case !strings.HasPrefix(found[0], "table ") || strings.HasPrefix(strings.ToUpper(found[0]), "TABLE CREATE VIRTUAL"):
		return Unusable("unknown schema: %s is not a plain table", name)
	}
	return nil
}

// Strings returns the first column of a query's rows.
func (c *Conn) Strings(sql string, args ...Value) ([]string, error) {
	var found []string
	err := c.Query(sql, args, func(st *sqlite3.Stmt) error {
		found = append(found, st.ColumnText(0))
		return nil
	})
	return found, err
}

// integer returns the integer of a query for one.
func (c *Conn) integer(sql string, args ...Value) (n int64, err error) {
	err = c.Query(sql, args, func(st *sqlite3.Stmt) error { n = st.ColumnInt64(0); return nil })
	return n, err
}

func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = sqlite3.QuoteIdentifier(n)
	}
	return strings.Join(quoted, ", ")
}
