// Package sqlite runs statements on a connection to an SQLite database, with values of any storage class.
//
// It may import change. Read [Statements.Query] and [Value] first.
package sqlite

import (
	"errors"

	"github.com/ncruces/go-sqlite3"
)

// Statements are the compiled statements of a connection. Each text is compiled once.
type Statements struct {
	db    *sqlite3.Conn
	stmts map[string]*sqlite3.Stmt
}

// NewStatements returns the statements of a connection; there are none yet.
func NewStatements(db *sqlite3.Conn) *Statements {
	return &Statements{db, map[string]*sqlite3.Stmt{}}
}

// CloseStatements closes all statements. They are compiled again when they are needed.
func (s *Statements) CloseStatements() {
	for _, st := range s.stmts {
		_ = st.Close() // its error only repeats the statement's last error
	}
	clear(s.stmts)
}

// Prepare returns the compiled statement.
func (s *Statements) Prepare(sql string) (*sqlite3.Stmt, error) {
	if st, ok := s.stmts[sql]; ok {
		return st, nil
	}
	st, _, err := s.db.Prepare(sql)
	if err != nil {
		return nil, err
	}
	s.stmts[sql] = st
	return st, nil
}

// Query runs a statement and calls each, which may be nil, for every row. The values of a row are valid only
// during the call.
func (s *Statements) Query(sql string, args []Value, each func(*sqlite3.Stmt) error) (err error) {
	st, err := s.Prepare(sql)
	if err != nil {
		return err
	}
	defer func() {
		if e := errors.Join(st.Reset(), st.ClearBindings()); err == nil { // SQLite keeps a copy of bound values
			err = e
		}
	}()
	for i, v := range args {
		if err := v.Bind(st, i+1); err != nil {
			return err
		}
	}
	for st.Step() {
		if each == nil {
			continue
		}
		if err := each(st); err != nil {
			return err
		}
	}
	return st.Err()
}

// Has reports whether the query has a row.
func (s *Statements) Has(sql string, args ...Value) (found bool, err error) {
	err = s.Query(sql, args, func(*sqlite3.Stmt) error { found = true; return nil })
	return found, err
}

// Strings returns the first column of a query's rows.
func (s *Statements) Strings(sql string, args ...Value) (found []string, err error) {
	err = s.Query(sql, args, func(st *sqlite3.Stmt) error { found = append(found, st.ColumnText(0)); return nil })
	return found, err
}

// Integer returns the integer of a query for one.
func (s *Statements) Integer(sql string, args ...Value) (n int64, err error) {
	err = s.Query(sql, args, func(st *sqlite3.Stmt) error { n = st.ColumnInt64(0); return nil })
	return n, err
}
