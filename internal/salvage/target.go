package salvage

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
	"mend/internal/sqlite"
)

// An Object is a row of the schema.
type Object struct{ Type, Name, SQL string }

// A DB is the new database to which rows are written.
type DB struct {
	*sqlite3.Conn
	*sqlite.Statements

	path   string
	later  []Object // objects to create after all rows
	tables []*Table
	err    error   // from a LostRows
	args   []Value // of the row that is written
}

// A Table is a table of the database.
type Table struct {
	Name string
	Lost *LostRows // rows that an index has and that were not found, by rowid
	Rows int       // number of rows found
	// Refused are rows that were read but that the new database does not accept.
	Refused []Refusal
	// Damaged means that pages of the table are damaged: rows may be lost that no index has.
	Damaged bool

	root         uint32
	withoutRowid bool
	cols         []column
	indexes      []*index
	parents      []Owner // the tables that foreign keys refer to
	alias        int     // the column that is an alias of the rowid, or -1
	rowid        string
	have         intervals
	insert       map[int]string // statements, by the number of columns
	complete     bool           // an index has every row
	hole         bool           // its tree is damaged: its pages may be anywhere
}

// Known are the values that indexes have of a row, by column.
type Known map[string]Value

// A Refusal is a row that was read and not written.
type Refusal struct {
	Rowid int64
	Known Known // its short values
	Why   string
}

type column struct {
	name     string
	notNull  bool
	dropped  bool // a row may end before it
	affinity byte
}

type index struct {
	name    string
	root    uint32
	cols    []int // indexes into the columns of the table; -1 for the rowid or an expression
	partial bool  // a partial index
	unique  bool
	ordered bool // ordered by bytes, ascending
}

// Create makes a new database at path, which must not exist, with the tables and those indexes that can refuse rows.
// Tables that cannot be created are returned in bad.
func Create(path string, h Header, pageSize int, objects []Object) (db *DB, bad []Object, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, nil, err
	}
	if err := f.Close(); err != nil {
		return nil, nil, err
	}
	c, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	if err != nil {
		return nil, nil, err
	}
	db = newDB(c, path)
	vacuum := 0
	if h.AutoVacuum {
		vacuum = 1
		if h.Incremental {
			vacuum = 2
		}
	}
	err = c.Exec(fmt.Sprintf("PRAGMA page_size=%d; PRAGMA auto_vacuum=%d; PRAGMA encoding='UTF-8'; PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF;"+
		"PRAGMA locking_mode=EXCLUSIVE; PRAGMA foreign_keys=OFF; PRAGMA temp_store=FILE; PRAGMA cache_size=-16000; PRAGMA ignore_check_constraints=ON; PRAGMA trusted_schema=OFF;"+
		"PRAGMA user_version=%d; PRAGMA application_id=%d; BEGIN", pageSize, vacuum, h.UserVersion, h.ApplicationID))
	if err != nil {
		return nil, nil, errors.Join(err, db.Abandon())
	}
	var first []Object
	for _, o := range objects {
		if o.Type == "table" || o.Type == "index" && canRefuse(o.SQL) {
			first = append(first, o)
		} else if o.SQL != "" {
			db.later = append(db.later, o) // it refuses no row, and is created faster after all rows
		}
	}
	bad = db.makeTables(first)
	all, err := Sketch(objects)
	if err == nil {
		err = all.readTables()
		err = errors.Join(err, all.Close())
	}
	if err != nil {
		return nil, nil, errors.Join(err, db.Abandon())
	}
	db.tables = all.tables
	for i, t := range db.tables {
		t.Lost = &LostRows{db: db, t: t, name: fmt.Sprintf("temp.lost_%d", i)}
	}
	return db, bad, nil
}

func newDB(c *sqlite3.Conn, path string) *DB {
	return &DB{Conn: c, Statements: sqlite.NewStatements(c), path: path}
}

// Objects returns the schema, including the objects created after the rows.
func (db *DB) Objects() ([]Object, error) {
	all, err := Objects(db.Statements)
	return append(all, db.later...), err
}

// Objects returns the schema of any database.
func Objects(s *sqlite.Statements) (all []Object, err error) {
	const objects = "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid"
	err = s.Query(objects, nil, func(st *sqlite3.Stmt) error {
		all = append(all, Object{Type: st.ColumnText(0), Name: st.ColumnText(1), SQL: st.ColumnText(2)})
		return nil
	})
	return all, err
}

// canRefuse reports whether the index can refuse a row.
func canRefuse(sql string) bool {
	upper := strings.ToUpper(sql)
	columns := sql[strings.Index(sql, "(")+1:]
	return strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(upper, "CREATE")), "UNIQUE") || strings.ContainsRune(columns, '(') || strings.Contains(upper, "WHERE")
}

// Sketch returns a database in memory, without rows, with the tables and indexes of a schema that can be created.
func Sketch(objects []Object) (*DB, error) {
	db, err := newTrial()
	if err != nil {
		return nil, err
	}
	db.makeTables(objects) // objects that cannot be created are left out
	return db, nil
}

// makeTables creates the tables and then the indexes among objects, and returns those that cannot be created.
func (db *DB) makeTables(objects []Object) (bad []Object) {
	for _, kind := range []string{"table", "index"} {
		for _, o := range objects {
			if o.Type == kind && o.SQL != "" && !strings.HasPrefix(o.Name, "sqlite_") && !db.make(o) {
				bad = append(bad, o)
			}
		}
	}
	return bad
}

// make creates an object of the schema with its own statement, and reports whether that succeeded. The statement is
// untrusted: it is not run if it does anything else.
func (db *DB) make(o Object) bool {
	if db.SetAuthorizer(authorizeCreate) != nil {
		return false
	}
	made := db.makeOne(o.SQL)
	if db.SetAuthorizer(nil) != nil || !made {
		return false
	}
	found, _ := db.Has("SELECT 1 FROM sqlite_schema WHERE type = ?1 AND name = ?2", sqlite.Text(o.Type), sqlite.Text(o.Name))
	return found
}

func (db *DB) makeOne(sql string) bool {
	st, tail, err := db.Conn.Prepare(sql)
	if err != nil || st == nil {
		return false
	}
	if strings.TrimSpace(tail) != "" {
		_ = st.Close() // it was not run
		return false
	}
	return errors.Join(st.Exec(), st.Close()) == nil
}

// authorizeCreate allows the actions that create a table, index, view or trigger without rows: no select, no other
// file, no module.
func authorizeCreate(action sqlite3.AuthorizerActionCode, name, _, _, _ string) sqlite3.AuthorizerReturnCode {
	making := []sqlite3.AuthorizerActionCode{
		sqlite3.AUTH_CREATE_TABLE, sqlite3.AUTH_CREATE_INDEX, sqlite3.AUTH_CREATE_VIEW, sqlite3.AUTH_CREATE_TRIGGER,
		sqlite3.AUTH_READ, sqlite3.AUTH_REINDEX, sqlite3.AUTH_FUNCTION,
	}
	schema := (action == sqlite3.AUTH_INSERT || action == sqlite3.AUTH_UPDATE) && strings.HasPrefix(name, "sqlite_")
	if schema || slices.Contains(making, action) {
		return sqlite3.AUTH_OK
	}
	return sqlite3.AUTH_DENY
}

func (db *DB) readTables() error {
	const tables = `SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' OR name IN ('sqlite_sequence')`
	err := db.Query(tables, nil, func(st *sqlite3.Stmt) error {
		name := st.ColumnText(0)
		db.tables = append(db.tables, &Table{Name: name, withoutRowid: st.ColumnBool(1), alias: -1, insert: map[int]string{}})
		return nil
	})
	for _, t := range db.tables {
		err = errors.Join(err, db.readColumns(t), db.readIndexes(t), db.readParents(t))
	}
	slices.SortFunc(db.tables, func(a, b *Table) int { return strings.Compare(a.Name, b.Name) })
	return err
}

func (db *DB) readColumns(t *Table) error {
	var keys, at []int
	err := db.Query("SELECT name, type, \"notnull\", dflt_value IS NOT NULL, pk, hidden FROM pragma_table_xinfo(?1) ORDER BY cid", []Value{sqlite.Text(t.Name)}, func(st *sqlite3.Stmt) error {
		if st.ColumnInt(5) == 2 { // computed, not stored
			return nil
		}
		c := column{name: st.ColumnText(0), notNull: st.ColumnBool(2), affinity: affinity(st.ColumnText(1))}
		c.dropped = !c.notNull || st.ColumnBool(3)
		if st.ColumnInt(4) > 0 {
			keys = append(keys, len(t.cols))
			if strings.EqualFold(st.ColumnText(1), "INTEGER") {
				at = append(at, len(t.cols))
			}
		}
		t.cols = append(t.cols, c)
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range []string{"rowid", "_rowid_", "oid"} {
		if !slices.ContainsFunc(t.cols, func(c column) bool { return strings.EqualFold(c.name, name) }) {
			t.rowid = name
			break
		}
	}
	if len(keys) == 1 && len(at) == 1 && !t.withoutRowid {
		var indexed bool // an INTEGER PRIMARY KEY DESC has an index of its own, and is not an alias of the rowid
		if indexed, err = db.Has("SELECT 1 FROM pragma_index_list(?1) WHERE origin = 'pk'", sqlite.Text(t.Name)); !indexed {
			t.alias = at[0]
		}
	}
	return err
}

func affinity(declared string) byte {
	d := strings.ToUpper(declared)
	contains := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(d, w) })
	}
	switch {
	case contains("INT"):
		return 'i'
	case contains("CHAR", "CLOB", "TEXT"):
		return 't'
	case contains("BLOB") || d == "":
		return 'b'
	case contains("REAL", "FLOA", "DOUB"):
		return 'r'
	}
	return 'n'
}

func (db *DB) readIndexes(t *Table) error {
	const columns = `SELECT l.name, x.cid, x.key, x."desc", coalesce(x.coll, ''), l.partial, l."unique" FROM pragma_index_list(?1) AS l, pragma_index_xinfo(l.name) AS x ORDER BY l.seq, x.seqno`
	names := map[string]*index{}
	return db.Query(columns, []Value{sqlite.Text(t.Name)}, func(st *sqlite3.Stmt) error {
		name := st.ColumnText(0)
		ix := names[name]
		if ix == nil {
			ix = &index{name: name, partial: st.ColumnBool(5), unique: st.ColumnBool(6), ordered: true}
			names[name] = ix
			t.indexes = append(t.indexes, ix)
		}
		if cid := st.ColumnInt(1); cid == -1 {
			return nil
		} else if cid < 0 || cid >= len(t.cols) {
			ix.cols, ix.ordered = append(ix.cols, -1), false
		} else {
			ix.cols = append(ix.cols, cid)
		}
		ix.ordered = ix.ordered && !st.ColumnBool(3) && st.ColumnText(4) == "BINARY"
		return nil
	})
}

func (db *DB) readParents(t *Table) error {
	const keys = `SELECT "from", "table", coalesce("to", 'id') FROM pragma_foreign_key_list(?1)`
	return db.Query(keys, []Value{sqlite.Text(t.Name)}, func(st *sqlite3.Stmt) error {
		t.parents = append(t.parents, Owner{st.ColumnText(0), st.ColumnText(1), st.ColumnText(2)})
		return nil
	})
}

// row returns the values of columns of a row in the new database; NULL for -1.
func (db *DB) row(t *Table, cols []int, rowid int64) (row []Value, ok bool) {
	if t.rowid == "" {
		return nil, false
	}
	var names []string
	for _, at := range cols {
		name := "NULL"
		if at >= 0 {
			name = sqlite3.QuoteIdentifier(t.cols[at].name)
		}
		names = append(names, name)
	}
	_ = db.Query("SELECT "+strings.Join(names, ", ")+" FROM "+sqlite3.QuoteIdentifier(t.Name)+" NOT INDEXED WHERE "+t.rowid+" = ?1", []Value{sqlite.Int(rowid)}, func(st *sqlite3.Stmt) error {
		ok = true
		for i := range names {
			row = append(row, sqlite.CopyColumn(st, i))
		}
		return nil
	})
	return row, ok
}

// known returns the short values of a row.
func (t *Table) known(vals []Value) Known {
	known := Known{}
	for i, v := range vals[:min(len(vals), len(t.cols))] {
		if i != t.alias && len(v.Bytes) <= change.MaxID {
			known[t.cols[i].name] = cloneValues([]Value{v})[0]
		}
	}
	return known
}

// Column returns the value of a column of a row; NULL if the row has none.
func (t *Table) Column(vals []Value, name string) Value {
	i := slices.IndexFunc(t.cols, func(c column) bool { return c.name == name })
	if i < 0 || i >= len(vals) {
		return Value{Class: change.ClassNull}
	}
	return vals[i]
}

// canHold reports whether the values can be a row of the table.
func (t *Table) canHold(vals []Value) bool {
	if len(vals) > len(t.cols) {
		return false
	}
	for i, c := range t.cols {
		if i >= len(vals) {
			if !c.dropped {
				return false
			}
			continue
		}
		switch class := vals[i].Class; {
		case i == t.alias:
			if class != change.ClassNull {
				return false
			}
		case class == change.ClassNull:
			if c.notNull {
				return false
			}
		case c.affinity == 'i' || c.affinity == 'r':
			if class != change.ClassInteger && class != change.ClassReal {
				return false
			}
		case c.affinity == 't':
			if class != change.ClassText && class != change.ClassBlob {
				return false
			}
		}
	}
	return true
}

// write writes a row. why is the reason if the new database does not accept it, else "".
func (db *DB) write(t *Table, rowid int64, vals []Value) (why string, err error) {
	vals = vals[:min(len(vals), len(t.cols))]
	args := append(db.args[:0], vals...)
	if t.alias >= 0 && t.alias < len(vals) {
		args[t.alias] = sqlite.Int(rowid)
	}
	isOwn := t.alias < 0 && !t.withoutRowid && t.rowid != "" // no column is an alias of the rowid
	if isOwn {
		args = append(args, sqlite.Int(rowid))
	}
	db.args = args
	sql := t.insert[len(vals)]
	if sql == "" {
		var names []string
		for _, c := range t.cols[:len(vals)] {
			names = append(names, sqlite3.QuoteIdentifier(c.name))
		}
		if isOwn {
			names = append(names, t.rowid)
		}
		sql = "INSERT OR ABORT INTO " + sqlite3.QuoteIdentifier(t.Name) + " (" + strings.Join(names, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(names)-1) + ")"
		if _, err := db.Statements.Prepare(sql); err != nil {
			return "", err
		}
		t.insert[len(vals)] = sql
	}
	err = db.Query(sql, args, nil)
	if errors.Is(err, sqlite3.CONSTRAINT) || errors.Is(err, sqlite3.ERROR) || errors.Is(err, sqlite3.TOOBIG) || errors.Is(err, sqlite3.MISMATCH) {
		return strings.TrimPrefix(err.Error(), "sqlite3: "), nil
	}
	return "", err
}

// Abandon closes and removes a database that is not finished.
func (db *DB) Abandon() error {
	return errors.Join(db.Close(), os.Remove(db.path))
}

// Close closes the statements and the database.
func (db *DB) Close() error {
	db.CloseStatements()
	return db.Conn.Close()
}

// Finish creates the other indexes, views and triggers, checks the whole database and closes it. The caller makes the
// file durable. Objects that could not be created are returned in bad.
func (db *DB) Finish(h Header) (bad []Object, err error) {
	for _, o := range db.later {
		if !db.make(o) {
			bad = append(bad, o)
		}
	}
	mode := "WAL"
	if h.Rollback {
		mode = "DELETE"
	}
	db.CloseStatements()
	var found []string
	err = db.Exec("COMMIT; PRAGMA ignore_check_constraints=OFF")
	if err = errors.Join(err, db.err); err == nil {
		err = db.Query("PRAGMA integrity_check(100)", nil, func(st *sqlite3.Stmt) error {
			if line := st.ColumnText(0); line != "ok" && !strings.HasPrefix(line, "CHECK constraint failed") {
				found = append(found, line)
			}
			return nil
		})
	}
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("the new database is not sound: %s", found[0])
	}
	if err == nil {
		db.CloseStatements()
		err = db.Exec("PRAGMA journal_mode=" + mode)
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return bad, errors.Join(err, os.Remove(db.path))
	}
	return bad, nil
}
