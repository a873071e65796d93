package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
)

// DefaultRow returns the values, without the data, that a row of the kind's table gets in columns
// that an INSERT omits. A required column has the class 0: it is NOT NULL without a default, or its
// default differs from row to row. The error wraps [ErrUnusable] or [change.ErrLocked], or is an
// error of the system.
func (s *Store) DefaultRow(ctx context.Context, kind change.Kind) (change.Record, error) {
	var cols []change.Col
	err := s.View(ctx, func(c *Conn) (err error) {
		if t := c.Table(kind); t != nil {
			cols, err = c.defaults(t)
		}
		return err
	})
	if err != nil {
		return change.Record{}, fmt.Errorf("reading the columns of %s: %w", s.id.Root, err)
	}
	return change.Record{Cols: change.NewCols(cols...)}, nil
}

// defaults returns the columns of a table, except Data, with their defaults.
func (c *Conn) defaults(t *Table) (cols []change.Col, err error) {
	memory, err := sqlite3.Open(":memory:")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, memory.Close()) }()
	const columns = `SELECT name, type, "notnull", coalesce(dflt_value, 'NULL') FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY cid`
	err = c.Query(columns, []Value{Text(t.Name)}, func(st *sqlite3.Stmt) error {
		name := st.ColumnText(0)
		if !slices.Contains(t.others, name) {
			return nil
		}
		v, err := defaultOf(memory, st.ColumnText(1), st.ColumnBool(2), st.ColumnText(3))
		cols = append(cols, change.Col{Name: name, Class: v.Class, Bytes: v.Bytes})
		return err
	})
	return cols, err
}

// defaultOf returns the value that existing rows get when a column is added to their table, the
// zero Value if SQLite refuses to add it. class and value are the type and the default of the
// column in the schema.
func defaultOf(memory *sqlite3.Conn, class string, notNull bool, value string) (v Value, err error) {
	if err := memory.Exec("DROP TABLE IF EXISTS t; CREATE TABLE t (x); INSERT INTO t VALUES (1)"); err != nil {
		return v, err
	}
	add := "ALTER TABLE t ADD COLUMN c " + sqlite3.QuoteIdentifier(class)
	if notNull {
		add += " NOT NULL"
	}
	st, tail, err := memory.Prepare(add + " DEFAULT " + value)
	if err != nil || tail != "" {
		return v, nil
	}
	if err := errors.Join(st.Exec(), st.Close()); err != nil {
		return v, nil
	}
	if st, _, err = memory.Prepare("SELECT c FROM t"); err != nil {
		return v, err
	}
	if st.Step() {
		v = CopyValue(st, 0)
	}
	return v, st.Close()
}
