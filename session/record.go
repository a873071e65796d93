package session

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"math"
)

// A Record is one stored unit, exactly as the store holds it: the content of a JSON file,
// or a row of a database.
type Record struct {
	Ref  Ref
	Data []byte      // the JSON: a file's content, or a row's data column
	Cols []Col       // a row's columns but data, in the table's order; nil for a file
	Mode fs.FileMode // a file's permission bits; 0 for a row

	// Class is the storage class of a row's data column if that is not text; the agent
	// cannot read such a row. It is 0 for text and for a file.
	Class Class

	// Defect says why Data cannot be used, or not in full; nil if it can.
	Defect *Defect

	// Locked says why the store cannot replace or remove the record, and what helps; ""
	// if it can. A locked record has Data, unless Defect says otherwise.
	Locked string
}

// A Col is one column of a row, with the storage class and the bytes that
// SQLite has for it.
type Col struct {
	Name  string
	Class Class
	Bytes []byte // integers and reals: 8 bytes, big endian (a real as IEEE 754 bits)
}

// A Class is a storage class of SQLite (sqlite.org/datatype3.html). The zero
// Class is invalid.
type Class uint8

// The storage classes. The numbers are part of the journal's format: frozen.
const (
	ClassNull    Class = 1
	ClassInteger Class = 2
	ClassReal    Class = 3
	ClassText    Class = 4
	ClassBlob    Class = 5
)

// String returns the class with its article, as a part of a sentence.
func (c Class) String() string {
	switch c {
	case ClassNull:
		return "NULL"
	case ClassInteger:
		return "an integer"
	case ClassReal:
		return "a real"
	case ClassText:
		return "text"
	case ClassBlob:
		return "a blob"
	}
	return fmt.Sprintf("class(%d)", uint8(c))
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

// Int returns the column's value as an integer, and whether it is one.
func (c Col) Int() (int64, bool) {
	if c.Class != ClassInteger || len(c.Bytes) != 8 {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(c.Bytes)), true
}

// Float returns the column's value as a number, and whether it is one.
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

// Col returns the column with that name, and whether the record has it.
func (r *Record) Col(name string) (Col, bool) {
	for _, c := range r.Cols {
		if c.Name == name {
			return c, true
		}
	}
	return Col{}, false
}

// setCol replaces the column with that name in a copy of the columns.
func (r *Record) setCol(c Col) {
	cols := make([]Col, len(r.Cols))
	copy(cols, r.Cols)
	for i := range cols {
		if cols[i].Name == c.Name {
			cols[i] = c
		}
	}
	r.Cols = cols
}

// WithCol returns the record with another value in a column that it has.
func (r Record) WithCol(c Col) Record {
	r.setCol(c)
	return r
}

// A Defect says what is wrong with a record itself, independent of the rest of the
// session.
type Defect struct {
	Kind DefectKind
	Why  string // for a person: what was found
}

// A DefectKind is the kind of a [Defect]. The zero DefectKind is invalid.
type DefectKind uint8

// The kinds of defects, worst first.
const (
	// Unreadable: the bytes are unknown, because the file cannot be read or is not a
	// regular file. No plan may depend on this record.
	Unreadable DefectKind = iota + 1
	// TooDeep: the bytes are known, and nest objects and lists deeper than
	// [jsonedit.MaxDepth]. The agent may be able to read them.
	TooDeep
	// Malformed: the bytes are known and are not one JSON object.
	Malformed
	// WrongType: the object lacks a field that the agent needs, or has it with
	// another type.
	WrongType
	// WrongName: the id in the record is not that of the file's name.
	WrongName
)

// Unreadable reports whether the content of the record is unknown: its bytes are unknown,
// or nest too deep.
func (r *Record) Unreadable() bool {
	return r.Defect != nil && r.Defect.Kind <= TooDeep
}

// Malformed reports whether the record's bytes cannot be used as JSON: they
// are unknown, nest too deep, or are not one JSON object.
func (r *Record) Malformed() bool {
	return r.Defect != nil && r.Defect.Kind <= Malformed
}

// Touched returns the record with time_updated one higher than in was, if both have that
// column with the same value; otherwise it returns the record itself.
func (r *Record) Touched(was *Record) *Record {
	const name = "time_updated"
	old, _ := was.Col(name)
	now, _ := r.Col(name)
	v, ok := old.Int()
	if n, same := now.Int(); !ok || !same || n != v {
		return r
	}
	t := *r
	t.setCol(IntCol(name, v+1))
	return &t
}
