package damage

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
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
// changed over one connection and without a flush, which is most of the cost of a damage.
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
	tables, err := ask(db, `select name from sqlite_schema where type = 'table'`)
	all := map[string]string{}
	for _, table := range tables {
		name := table["name"].(string)
		if err == nil {
			err = tableRows(db, name, all)
		}
	}
	return all, err
}

func tableRows(db *sqlite3.Conn, table string, all map[string]string) error {
	cols, err := ask(db, `select name, pk from pragma_table_info(?)`, table)
	if err != nil {
		return err
	}
	var keys, values []string
	for _, c := range cols {
		quoted := sqlite3.QuoteIdentifier(c["name"].(string))
		if c["pk"] != "0" {
			keys = append(keys, "quote("+quoted+")")
		}
		values = append(values, fmt.Sprintf("typeof(%[1]s) || ' ' || quote(%[1]s)", quoted))
	}
	if len(keys) == 0 {
		keys = []string{"rowid"}
	}
	found, err := ask(db, fmt.Sprintf("select %s as k, %s as v from %s", strings.Join(keys, " || "), strings.Join(values, " || ', ' || "), sqlite3.QuoteIdentifier(table)))
	for _, row := range found {
		all[table+" "+row["k"].(string)] = row["v"].(string)
	}
	return err
}
