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

// A sight is where a row is looked at in place: what is made of it is there until
// the statement goes on, or the next row is looked at.
type rowBuffer struct {
	cols    []session.Col
	numbers []byte
}

// value is the value of a result column.
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

// columnBytes is the bytes of a text or a blob; not nil where there are none.
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

// row looks at a row of a result whose columns are the table's.
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

// record copies a row of a result whose columns are the table's.
func (t *table) record(st *sqlite3.Stmt) session.Record {
	var b rowBuffer
	return copyRecord(t.row(st, &b))
}

// copyRecord is a copy of a record that was looked at in place.
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

// dataColumn is the column with the JSON, where a table has one.
const dataColumn = `"data"`

// sessionSelect is a query of the rows of a session, in the order in which they
// are read. It has an expression in the place of the data, and its size behind the
// table's columns.
func (t *table) sessionSelect(data string) string {
	cols := make([]string, len(t.cols))
	for i, name := range t.cols {
		cols[i] = sqlite3.QuoteIdentifier(name)
	}
	size := "0"
	if t.dataIndex >= 0 {
		cols[t.dataIndex], size = data, "octet_length("+dataColumn+")"
	}
	return "SELECT " + strings.Join(cols, ", ") + ", " + size + " FROM " + sqlite3.QuoteIdentifier(t.name) + map[session.Kind]string{
		session.KindSession: ` WHERE "id" = ?1`,
		session.KindMessage: ` WHERE "session_id" = ?1 ORDER BY "time_created", "id"`,
		session.KindPart:    ` WHERE "message_id" IN (SELECT "id" FROM "message" WHERE "session_id" = ?1) ORDER BY "message_id", "id"`,
	}[t.kind]
}

// rowWithinLimit looks at a row of the result of selectSized, and adds it to sum.
func (t *table) rowWithinLimit(st *sqlite3.Stmt, b *rowBuffer, h *stampHasher) session.Record {
	r := t.row(st, b)
	size := st.ColumnInt64(len(t.cols))
	h.addRow(t.kind, &r, classNames[r.Class], size)
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
