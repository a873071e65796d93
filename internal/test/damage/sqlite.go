package damage

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// SQL returns a [Database.SQL] for the file at path that needs no agent. Foreign keys
// are not enforced.
func SQL(t Failer, path string) func(statement string, args ...any) []map[string]any {
	return failOnError(t, func(statement string, args ...any) ([]map[string]any, error) {
		return query(path, statement, args)
	})
}

func failOnError(t Failer, ask func(statement string, args ...any) ([]map[string]any, error)) func(statement string, args ...any) []map[string]any {
	return func(statement string, args ...any) []map[string]any {
		rows, err := ask(statement, args...)
		if err != nil {
			t.Fatal(fmt.Errorf("running %s: %w", statement, err))
		}
		return rows
	}
}

// Edit calls edit with the store at path, a tree or a database, which no program may have open: a database is
// changed over one connection and without a flush, which is most of the cost of the damage.
func Edit(t Failer, path, session string, edit func(Store)) {
	if filepath.Ext(path) != ".db" {
		edit(Tree{T: t, Root: path, Session: session})
		return
	}
	db, err := connect(path)
	if err == nil {
		defer func() { _ = db.Close() }()
		err = db.Exec("pragma synchronous = off")
	}
	if err != nil {
		t.Fatal(fmt.Errorf("opening %s: %w", path, err))
	}
	edit(Database{SQL: failOnError(t, func(statement string, args ...any) ([]map[string]any, error) {
		return ask(db, statement, args...)
	})})
}

func query(path, statement string, args []any) (rows []map[string]any, err error) {
	db, err := connect(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	return ask(db, statement, args...)
}

func connect(path string) (*sqlite3.Conn, error) {
	db, err := sqlite3.Open(path)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(db.BusyTimeout(5*time.Second), db.Exec("pragma foreign_keys = off")); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func ask(db *sqlite3.Conn, statement string, args ...any) (rows []map[string]any, err error) {
	st, _, err := db.Prepare(statement)
	if err != nil {
		return nil, err
	}
	defer func() { _ = st.Close() }()
	for i, a := range args {
		if err := st.BindText(i+1, fmt.Sprint(a)); err != nil {
			return nil, err
		}
	}
	for st.Step() {
		row := map[string]any{}
		for i := range st.ColumnCount() {
			row[st.ColumnName(i)] = st.ColumnText(i)
		}
		rows = append(rows, row)
	}
	return rows, st.Err()
}

// rows returns every row of every table of the database, by table and primary key,
// each column with its storage class and bytes.
func rows(path string) (map[string]string, error) {
	db, err := connect(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	cols, err := ask(db, `select m.name as of, pk from sqlite_schema m, pragma_table_xinfo(m.name) p where m.type = 'table' and hidden <> 1 order by m.name, cid`)
	tables := map[string][]bool{} // by table: which columns are in its key
	for _, c := range cols {
		tables[c["of"].(string)] = append(tables[c["of"].(string)], c["pk"] != "0")
	}
	all := map[string]string{}
	for table, keys := range tables {
		err = errors.Join(err, tableRows(db, table, keys, all))
	}
	return all, err
}

func tableRows(db *sqlite3.Conn, table string, keys []bool, all map[string]string) error {
	what := "*"
	if !slices.Contains(keys, true) {
		what, keys = "*, rowid", append(keys, true)
	}
	st, _, err := db.Prepare("select " + what + " from " + sqlite3.QuoteIdentifier(table))
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }()
	for st.Step() {
		key, row := table, ""
		for i, isKey := range keys {
			// The text of a number has 15 digits.
			value := fmt.Sprintf(" %v %v %s", st.ColumnType(i), st.ColumnFloat(i), st.ColumnRawText(i))
			if row += value; isKey {
				key += value
			}
		}
		all[key] = row
	}
	return st.Err()
}
