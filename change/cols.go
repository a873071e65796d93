package change

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
)

// Cols are a row's columns in the table's order, without the data column. A file has the zero Cols. A session may have
// very many rows, so the rows of a table share the names, and the values are encoded one after another.
type Cols struct {
	names  *[]string
	values []byte // see [AppendValue]
}

// NewCols returns the columns of a row.
func NewCols(cols ...Col) Cols {
	names := make([]string, len(cols))
	var values []byte
	for i, c := range cols {
		names[i], values = c.Name, AppendValue(values, c.Class, c.Bytes)
	}
	return Cols{&names, values}
}

// EncodedCols returns columns with the given names, which are not copied, and one value for each
// name, encoded by [AppendValue].
func EncodedCols(names *[]string, values []byte) Cols { return Cols{names, values} }

// AppendValue appends an encoded column value to values.
func AppendValue(values []byte, class Class, data []byte) []byte {
	values = binary.AppendUvarint(append(values, byte(class)), uint64(len(data)))
	return append(values, data...)
}

// Names returns the names of the columns. The caller must not change them.
func (c Cols) Names() []string {
	if c.names == nil {
		return nil
	}
	return *c.names
}

// All calls yield for each column. The bytes of a column belong to c.
func (c Cols) All(yield func(Col) bool) {
	rest := c.values
	for _, name := range c.Names() {
		size, n := binary.Uvarint(rest[1:])
		end := 1 + n + int(size)
		if !yield(Col{name, Class(rest[0]), rest[1+n : end : end]}) {
			return
		}
		rest = rest[end:]
	}
}

// Equal reports whether c and o have the same columns with the same values.
func (c Cols) Equal(o Cols) bool {
	return (c.names == nil) == (o.names == nil) && bytes.Equal(c.values, o.values) && (c.names == o.names || slices.Equal(*c.names, *o.names))
}

// Clone returns a copy of the values, with the same names.
func (c Cols) Clone() Cols { return Cols{c.names, bytes.Clone(c.values)} }

// replace returns the columns with to in place of the column of the same name.
func (c Cols) replace(to Col) Cols {
	var values []byte
	for col := range c.All {
		if col.Name == to.Name {
			col = to
		}
		values = AppendValue(values, col.Class, col.Bytes)
	}
	return Cols{c.names, values}
}

// A Col is one column of a row, with SQLite's storage class and bytes.
type Col struct {
	Name  string
	Class Class
	Bytes []byte // integers and reals: 8 bytes, big endian (a real as IEEE 754 bits)
}

// IntCol returns a column with the integer v.
func IntCol(name string, v int64) Col {
	return Col{Name: name, Class: ClassInteger, Bytes: binary.BigEndian.AppendUint64(nil, uint64(v))}
}

// TextCol returns a column with the text v.
func TextCol(name, v string) Col {
	return Col{Name: name, Class: ClassText, Bytes: []byte(v)}
}

// RealCol returns a column with the real v.
func RealCol(name string, v float64) Col {
	return Col{Name: name, Class: ClassReal, Bytes: binary.BigEndian.AppendUint64(nil, math.Float64bits(v))}
}

// Int returns the column's value, and whether it is an integer.
func (c Col) Int() (int64, bool) {
	if c.Class != ClassInteger || len(c.Bytes) != 8 {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(c.Bytes)), true
}

// Float returns the column's value, and whether it is a number.
func (c Col) Float() (float64, bool) {
	if len(c.Bytes) != 8 || c.Class != ClassInteger && c.Class != ClassReal {
		return 0, false
	}
	bits := binary.BigEndian.Uint64(c.Bytes)
	if c.Class == ClassReal {
		return math.Float64frombits(bits), true
	}
	return float64(int64(bits)), true
}
