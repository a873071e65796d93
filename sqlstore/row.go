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

// A value is the storage class and the bytes of one column of a row, as in a
// [session.Col].
type value struct {
	class session.Class
	bytes []byte
}

func text(s string) value { return value{session.ClassText, []byte(s)} }

// A rowBuffer is memory for one row. Its content is valid until the statement is stepped
// or the buffer is used again.
type rowBuffer struct {
	cols    []session.Col
	numbers []byte
}

// value returns the value of a result column.
func (b *rowBuffer) value(st *sqlite3.Stmt, i int) value {
	switch st.ColumnType(i) {
	case sqlite3.INTEGER:
		return value{session.ClassInteger, b.number(uint64(st.ColumnInt64(i)))}
	case sqlite3.FLOAT:
		return value{session.ClassReal, b.number(math.Float64bits(st.ColumnFloat(i)))}
	case sqlite3.TEXT:
		return value{session.ClassText, columnBytes(st, i)}
	case sqlite3.BLOB:
		return value{session.ClassBlob, columnBytes(st, i)}
	default:
		return value{class: session.ClassNull}
	}
}

// columnBytes returns the bytes of a text or a blob; they are never nil.
func columnBytes(st *sqlite3.Stmt, i int) []byte {
	if raw := st.ColumnRawBlob(i); raw != nil {
		return raw
	}
	return []byte{}
}

func (b *rowBuffer) number(bits uint64) []byte {
	n := len(b.numbers)
	b.numbers = binary.BigEndian.AppendUint64(b.numbers, bits)
	return b.numbers[n:]
}

// copyValue copies the value of a result column.
func copyValue(st *sqlite3.Stmt, i int) value {
	v := new(rowBuffer).value(st, i)
	if v.class != session.ClassNull {
		v.bytes = append([]byte{}, v.bytes...)
	}
	return v
}

// bind binds the value to a parameter of the statement.
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

// valueOf returns what the record holds in a column of the table.
func (t *table) valueOf(r *session.Record, col string) value {
	if col == t.Data {
		class := r.Class
		if class == 0 {
			class = session.ClassText
		}
		return value{class, r.Data}
	}
	c, _ := r.Col(col)
	return value{c.Class, c.Bytes}
}

// row returns the row of a result with the table's columns. It is valid as long as b.
func (t *table) row(st *sqlite3.Stmt, b *rowBuffer) session.Record {
	var r session.Record
	b.cols, b.numbers = b.cols[:0], b.numbers[:0]
	for i, name := range t.cols {
		v := b.value(st, i)
		if i != t.dataIndex {
			b.cols = append(b.cols, session.Col{Name: name, Class: v.class, Bytes: v.bytes})
			continue
		}
		r.Data = v.bytes
		if v.class != session.ClassText {
			r.Class = v.class
		}
	}
	r.Cols = b.cols
	return r
}

// record copies the row of a result with the table's columns.
func (t *table) record(st *sqlite3.Stmt) session.Record {
	var b rowBuffer
	return copyRecord(t.row(st, &b))
}

// copyRecord returns a copy of a record that uses a rowBuffer.
func copyRecord(r session.Record) session.Record {
	size := 0
	for _, c := range r.Cols {
		size += len(c.Bytes)
	}
	room := make([]byte, 0, size)
	cols := make([]session.Col, len(r.Cols))
	for i, c := range r.Cols {
		n := len(room)
		room = append(room, c.Bytes...)
		if c.Class != session.ClassNull {
			c.Bytes = room[n:len(room):len(room)]
		}
		cols[i] = c
	}
	r.Cols = cols
	if r.Data != nil {
		r.Data = append([]byte{}, r.Data...)
	}
	return r
}

// row returns the row with that id; nil if there is none.
func (c *conn) row(t *table, id string) (*session.Record, error) {
	var found *session.Record
	err := c.query(t.selectRow, []value{text(id)}, func(st *sqlite3.Stmt) error {
		r := t.record(st)
		found = &r
		return nil
	})
	return found, err
}

// sessionSelect returns a query for the rows of a session in the order in which they are
// read, with an expression in the place of the data, and its size as last column.
func (t *table) sessionSelect(data string) string {
	cols := make([]string, len(t.cols))
	for i, name := range t.cols {
		cols[i] = sqlite3.QuoteIdentifier(name)
	}
	size := "0"
	if t.dataIndex >= 0 {
		cols[t.dataIndex], size = data, "octet_length("+sqlite3.QuoteIdentifier(t.Data)+")"
	}
	return "SELECT " + strings.Join(cols, ", ") + ", " + size + " FROM " + sqlite3.QuoteIdentifier(t.Name) + " WHERE " + t.SessionRows
}

// rowWithinLimit returns a row of the result of selectSized, and adds it to h.
func (t *table) rowWithinLimit(st *sqlite3.Stmt, b *rowBuffer, h *stampHasher) session.Record {
	r := t.row(st, b)
	size := st.ColumnInt64(len(t.cols))
	h.addRow(t.Kind, &r, classNames[r.Class], size)
	h.budget -= int64(len(r.Data))
	if size > t.limit {
		h.unknown = true
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
