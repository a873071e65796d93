package sqlite

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
)

// A Value is the storage class and the bytes of one column of a row, as in a [change.Col].
type Value struct {
	Class change.Class
	Bytes []byte
}

// ColValue returns the value of a column of a record.
func ColValue(c change.Col) Value { return Value{c.Class, c.Bytes} }

// Text returns a value of class text.
func Text(s string) Value { return ColValue(change.TextCol("", s)) }

// Int returns a value of class integer.
func Int(n int64) Value { return ColValue(change.IntCol("", n)) }

// Text returns the content of a text or a blob; "" for another class.
func (v Value) Text() string {
	if v.Class != change.ClassText && v.Class != change.ClassBlob {
		return ""
	}
	return string(v.Bytes)
}

// Int returns an integer; 0 for another class.
func (v Value) Int() int64 {
	n, _ := change.Col{Class: v.Class, Bytes: v.Bytes}.Int()
	return n
}

// Float returns a number; 0 for another class.
func (v Value) Float() float64 {
	n, _ := change.Col{Class: v.Class, Bytes: v.Bytes}.Float()
	return n
}

// Equal reports whether both have the same class and the same bytes.
func (v Value) Equal(o Value) bool {
	return v.Class == o.Class && bytes.Equal(v.Bytes, o.Bytes)
}

// Column returns the value of a result column. It is valid until the statement is stepped or number is used again.
func Column(st *sqlite3.Stmt, i int, number *[8]byte) Value {
	encode := func(bits uint64) []byte { return binary.BigEndian.AppendUint64(number[:0], bits) }
	switch st.ColumnType(i) {
	case sqlite3.INTEGER:
		return Value{change.ClassInteger, encode(uint64(st.ColumnInt64(i)))}
	case sqlite3.FLOAT:
		return Value{change.ClassReal, encode(math.Float64bits(st.ColumnFloat(i)))}
	case sqlite3.TEXT:
		return Value{change.ClassText, columnBytes(st, i)}
	case sqlite3.BLOB:
		return Value{change.ClassBlob, columnBytes(st, i)}
	default:
		return Value{Class: change.ClassNull}
	}
}

// columnBytes returns the bytes of a text or a blob; they are never nil.
func columnBytes(st *sqlite3.Stmt, i int) []byte {
	if raw := st.ColumnRawBlob(i); raw != nil {
		return raw
	}
	return []byte{}
}

// CopyColumn copies the value of a result column.
func CopyColumn(st *sqlite3.Stmt, i int) Value {
	v := Column(st, i, new([8]byte))
	if v.Class != change.ClassNull {
		v.Bytes = append([]byte{}, v.Bytes...)
	}
	return v
}

// Bind binds the value to a parameter of the statement.
func (v Value) Bind(st *sqlite3.Stmt, i int) error {
	switch v.Class {
	case change.ClassNull:
		return st.BindNull(i)
	case change.ClassText:
		return st.BindText(i, unsafe.String(unsafe.SliceData(v.Bytes), len(v.Bytes))) // a string(v.Bytes) would be a copy
	case change.ClassBlob:
		return st.BindBlob(i, v.Bytes)
	default:
		if len(v.Bytes) != 8 {
			return fmt.Errorf("a number of %d bytes", len(v.Bytes))
		}
	}
	if v.Class == change.ClassReal {
		return st.BindFloat(i, v.Float())
	}
	return st.BindInt64(i, v.Int())
}
