package sqlstore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"mend/session"
)

// A value is what one column of a row holds: its storage class and its bytes, as
// in a [session.Col].
type value struct {
	class session.Class
	bytes []byte
}

func text(s string) value { return value{session.ClassText, []byte(s)} }

func integer(v int64) value {
	return value{session.ClassInteger, session.IntCol("", v).Bytes}
}

// valueAt copies the value of a result column.
func valueAt(st *sqlite3.Stmt, i int) value {
	switch st.ColumnType(i) {
	case sqlite3.INTEGER:
		return integer(st.ColumnInt64(i))
	case sqlite3.FLOAT:
		bits := math.Float64bits(st.ColumnFloat(i))
		return value{session.ClassReal, binary.BigEndian.AppendUint64(nil, bits)}
	case sqlite3.TEXT:
		return value{session.ClassText, append([]byte{}, st.ColumnRawBlob(i)...)}
	case sqlite3.BLOB:
		return value{session.ClassBlob, append([]byte{}, st.ColumnRawBlob(i)...)}
	default:
		return value{class: session.ClassNull}
	}
}

// bind gives the value to a parameter of the statement.
func (v value) bind(st *sqlite3.Stmt, i int) error {
	switch v.class {
	case session.ClassNull:
		return st.BindNull(i)
	case session.ClassText:
		return st.BindRawText(i, v.bytes)
	case session.ClassBlob:
		return st.BindBlob(i, v.bytes)
	default:
		return v.bindNumber(st, i)
	}
}

func (v value) bindNumber(st *sqlite3.Stmt, i int) error {
	if len(v.bytes) != 8 {
		return fmt.Errorf("a number of %d bytes", len(v.bytes))
	}
	bits := binary.BigEndian.Uint64(v.bytes)
	if v.class == session.ClassReal {
		return st.BindFloat(i, math.Float64frombits(bits))
	}
	return st.BindInt64(i, int64(bits))
}

// valueOf is what the record holds in a column of the table.
func (t *table) valueOf(r *session.Record, col string) value {
	if col == t.data {
		class := r.Class
		if class == 0 {
			class = session.ClassText
		}
		return value{class, r.Data}
	}
	c, _ := r.Col(col)
	return value{c.Class, c.Bytes}
}

// record reads a row from a result whose columns are the table's.
func (t *table) record(st *sqlite3.Stmt) session.Record {
	r := session.Record{Cols: make([]session.Col, 0, len(t.cols))}
	for i, name := range t.cols {
		v := valueAt(st, i)
		if name != t.data {
			r.Cols = append(r.Cols, session.Col{Name: name, Class: v.class, Bytes: v.bytes})
			continue
		}
		r.Data = v.bytes
		if v.class != session.ClassText {
			r.Class = v.class
		}
	}
	return r
}

// row is the row of that id, nil if there is none.
func (c *conn) row(t *table, id string) (*session.Record, error) {
	var found *session.Record
	err := c.query(t.selectRow, []value{text(id)}, func(st *sqlite3.Stmt) error {
		r := t.record(st)
		found = &r
		return nil
	})
	return found, err
}

// sizedSelect is a query of all rows that leaves out data above the limit without
// reading it, and has the size of the data behind the table's columns.
func (t *table) sizedSelect(limit int64) string {
	cols := make([]string, len(t.cols))
	for i, name := range t.cols {
		cols[i] = sqlite3.QuoteIdentifier(name)
		if name == t.data {
			cols[i] = fmt.Sprintf("iif(octet_length(%[1]s) > %[2]d, NULL, %[1]s)", cols[i], limit)
		}
	}
	size := "0"
	if t.data != "" {
		size = "octet_length(" + sqlite3.QuoteIdentifier(t.data) + ")"
	}
	return "SELECT " + strings.Join(cols, ", ") + ", " + size + " FROM " + sqlite3.QuoteIdentifier(t.name)
}

// sizedRecord reads a row from the result of selectSized.
func (t *table) sizedRecord(st *sqlite3.Stmt) session.Record {
	r := t.record(st)
	if size := st.ColumnInt64(len(t.cols)); size > t.limit {
		r.Class, r.Data = 0, nil
		r.Defect = &session.Defect{
			Kind: session.Unreadable,
			Why:  fmt.Sprintf("%d bytes, more than the %d that are read", size, t.limit),
		}
	}
	return r
}

func (v value) equal(o value) bool {
	return v.class == o.class && bytes.Equal(v.bytes, o.bytes)
}
