package sqlstore

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
	"mend/internal/sqlite"
)

// A Value is the storage class and the bytes of one column of a row, as in a [change.Col].
type Value = sqlite.Value

// ColValue returns the value of a column of a record.
func ColValue(c change.Col) Value { return sqlite.ColValue(c) }

// Text returns a value of class text.
func Text(s string) Value { return sqlite.Text(s) }

// CopyValue copies the value of a result column.
func CopyValue(st *sqlite3.Stmt, i int) Value { return sqlite.CopyColumn(st, i) }

// A RowBuffer is memory for one row. Its content is valid until the statement is stepped
// or the buffer is used again.
type RowBuffer struct {
	values []byte
	number [8]byte
}

// valueOf returns the record's value in a column of the table.
func (t *Table) valueOf(r *change.Record, col string) Value {
	if col == t.Data {
		return Value{Class: cmp.Or(r.Class, change.ClassText), Bytes: r.Data}
	}
	c, _ := r.Col(col)
	return ColValue(c)
}

// Row returns a result row with the table's columns. It is valid as long as b is.
func (t *Table) Row(st *sqlite3.Stmt, b *RowBuffer) change.Record {
	var r change.Record
	b.values = b.values[:0]
	for i := range t.Cols {
		v := sqlite.Column(st, i, &b.number)
		if i != t.DataIndex {
			b.values = change.AppendValue(b.values, v.Class, v.Bytes)
			continue
		}
		r.Data = v.Bytes
		if v.Class != change.ClassText {
			r.Class = v.Class
		}
	}
	r.Cols = change.EncodedCols(&t.others, b.values)
	return r
}

// CopyRow copies a result row with the table's columns.
func (t *Table) CopyRow(st *sqlite3.Stmt) change.Record {
	var b RowBuffer
	return CopyRecord(t.Row(st, &b))
}

// CopyRecord copies a record with bytes in a RowBuffer.
func CopyRecord(r change.Record) change.Record {
	r.Cols, r.Data = r.Cols.Clone(), bytes.Clone(r.Data)
	return r
}

// image returns the row with the id; nil if it does not exist.
func (c *Conn) image(t *Table, id string) (found *change.Image, err error) {
	var b RowBuffer
	err = c.Query(t.SelectRow, []Value{Text(id)}, func(st *sqlite3.Stmt) error {
		r, err := c.wholeRow(t, st, id, &b)
		found = change.ImageOf(&r) // a copy
		return err
	})
	return found, err
}

// wholeRow returns a result row of [Table.SelectRow], with the rows of TableSpec.With as its data: for each its length
// as a uvarint, and its image, whose data is the name of the table.
func (c *Conn) wholeRow(t *Table, st *sqlite3.Stmt, id string, b *RowBuffer) (change.Record, error) {
	r := t.Row(st, b)
	var other RowBuffer
	for _, w := range t.with {
		err := c.Query(w.SelectRow, []Value{Text(id)}, func(st *sqlite3.Stmt) error {
			row := w.Row(st, &other)
			row.Data = []byte(w.Name)
			image := change.AppendRow(nil, &row)
			r.Data = append(binary.AppendUvarint(r.Data, uint64(len(image))), image...)
			if int64(len(r.Data)) > t.Limit {
				return sqlite3.TOOBIG
			}
			return nil
		})
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

// writeWith deletes the rows of TableSpec.With that belong to a record, and inserts those in its new data.
func (c *Conn) writeWith(t *Table, id string, post *change.Record) error {
	for _, w := range t.with {
		if _, err := c.exec("DELETE FROM "+sqlite3.QuoteIdentifier(w.Name)+w.whereKey(), []Value{Text(id)}); err != nil {
			return err
		}
	}
	if post == nil || len(t.with) == 0 {
		return nil
	}
	for rest := post.Data; len(rest) > 0; {
		size, n := binary.Uvarint(rest)
		if n <= 0 || size > uint64(len(rest)-n) {
			return errors.New("the rows that belong to it are cut short")
		}
		row, err := change.RowOf(post.Ref, &change.Image{Data: rest[n : n+int(size)]})
		if err != nil {
			return err
		}
		rest = rest[n+int(size):]
		i := slices.IndexFunc(t.with, func(w *Table) bool { return w.Name == string(row.Data) })
		if key, _ := row.Col(t.key()); i < 0 || string(key.Bytes) != id || !slices.Equal(row.Cols.Names(), t.with[i].Cols) {
			return fmt.Errorf("a row of %s does not belong to it", row.Data)
		}
		row.Data = nil
		sql, args := t.with[i].writeStatement(rowChange{postImage: change.ImageOf(&row)})
		if _, err := c.exec(sql, args); err != nil {
			return err
		}
	}
	return nil
}

// rowEquals reports whether the row with the id equals r; a nil r means that there is no such row.
func (c *Conn) rowEquals(t *Table, id string, r *change.Record) (same bool, err error) {
	var b RowBuffer
	same = r == nil
	err = c.Query(t.SelectRow, []Value{Text(id)}, func(st *sqlite3.Stmt) error {
		now, err := c.wholeRow(t, st, id, &b)
		same = r != nil && change.SameImage(&now, r)
		return err
	})
	return same, err
}

// selectWhere returns a query for the rows that a condition and an order select, with an expression in place
// of the data, and the size of the data as last column.
func (t *Table) selectWhere(data, rows string) string {
	cols, size := make([]string, len(t.Cols)), "0"
	for i, name := range t.Cols {
		cols[i] = sqlite3.QuoteIdentifier(name)
	}
	if t.DataIndex >= 0 {
		cols[t.DataIndex], size = data, "octet_length("+sqlite3.QuoteIdentifier(t.Data)+")"
	}
	return "SELECT " + strings.Join(cols, ", ") + ", " + size + " FROM " + sqlite3.QuoteIdentifier(t.Name) + " WHERE " + rows
}
