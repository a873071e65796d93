package salvage

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
	"mend/internal/sqlite"
)

// LostRows are the missing rows of a table, with the values that its indexes have of them. There may be millions, so
// they are in a temporary table beside the new database rather than in memory.
type LostRows struct {
	db   *DB
	t    *Table
	name string // name of the temporary table
	made bool   // it exists
}

// Len returns the number of rows.
func (l *LostRows) Len() (n int) {
	l.query("SELECT count(*) FROM %s", nil, func(st *sqlite3.Stmt) error { n = st.ColumnInt(0); return nil })
	return n
}

// Get returns the known values of a row; nil if the row is not in l.
func (l *LostRows) Get(rowid int64) (known Known) {
	l.query("SELECT * FROM %s WHERE n = ?1", []Value{sqlite.Int(rowid)}, func(st *sqlite3.Stmt) error { known = l.known(st); return nil })
	return known
}

// has reports whether a row has the value in a column.
func (l *LostRows) has(name string, v Value) (found bool) {
	at := slices.IndexFunc(l.t.cols, func(c column) bool { return c.name == name })
	if at < 0 {
		return false
	}
	l.query(fmt.Sprintf("CREATE INDEX IF NOT EXISTS %%s_c%d ON %s (c%[1]d)", at, strings.TrimPrefix(l.name, "temp.")), nil, nil)
	l.query(fmt.Sprintf("SELECT 1 FROM %%s WHERE c%d = ?1", at), []Value{v}, func(*sqlite3.Stmt) error { found = true; return nil })
	return found
}

// Set adds a row, or known values of it.
func (l *LostRows) Set(rowid int64, known Known) {
	all, names, marks, updates, args := "n INTEGER PRIMARY KEY", "n", "?1", "n = n", []Value{sqlite.Int(rowid)}
	for i, c := range l.t.cols {
		all += fmt.Sprintf(", c%d", i)
		if v, ok := known[c.name]; ok {
			args = append(args, v)
			names, marks = fmt.Sprintf("%s, c%d", names, i), fmt.Sprintf("%s, ?%d", marks, len(args))
			updates += fmt.Sprintf(", c%d = ?%d", i, len(args))
		}
	}
	if !l.made {
		l.made = true
		l.query("CREATE TABLE %s ("+all+")", nil, nil)
	}
	l.query("INSERT INTO %s ("+names+") VALUES ("+marks+") ON CONFLICT (n) DO UPDATE SET "+updates, args, nil)
}

// Delete removes a row.
func (l *LostRows) Delete(rowid int64) {
	l.query("DELETE FROM %s WHERE n = ?1", []Value{sqlite.Int(rowid)}, nil)
}

// Clear removes all rows.
func (l *LostRows) Clear() { l.query("DELETE FROM %s", nil, nil) }

// All yields the rows by rowid. The caller may delete the row that was yielded last.
func (l *LostRows) All() iter.Seq2[int64, Known] {
	return func(yield func(int64, Known) bool) {
		l.query("SELECT * FROM %s", nil, func(st *sqlite3.Stmt) error {
			if !yield(st.ColumnInt64(0), l.known(st)) {
				return errEnough
			}
			return nil
		})
	}
}

// errEnough ends the iteration of All early.
var errEnough = errors.New("enough")

// known returns the known values in a row of the temporary table.
func (l *LostRows) known(st *sqlite3.Stmt) Known {
	known := Known{}
	for i, c := range l.t.cols {
		if v := sqlite.CopyColumn(st, i+1); v.Class != change.ClassNull {
			known[c.name] = v
		}
	}
	return known
}

// query runs a statement on the temporary table, if it exists, and records an error for [DB.Finish].
func (l *LostRows) query(sql string, args []Value, each func(*sqlite3.Stmt) error) {
	if l == nil || !l.made {
		return
	}
	err := l.db.Query(fmt.Sprintf(sql, l.name), args, each)
	if err != nil && !errors.Is(err, errEnough) && l.db.err == nil {
		l.db.err = fmt.Errorf("noting lost rows of %s: %w", l.t.Name, err)
	}
}
