package change

import (
	"fmt"
	"io/fs"
)

// A Record is one stored unit, exactly as the store holds it: the content of a JSON file, or a row
// of a database.
type Record struct {
	Ref  Ref
	Data []byte      // the JSON: a file's content, or a row's data column
	Cols Cols        // a row's columns except data
	Mode fs.FileMode // a file's permission bits; 0 for a row

	// Class is the storage class of a row's data column if it is not text; the agent cannot read
	// such a row. It is 0 for text and for a file.
	Class Class

	// Defect explains why Data cannot be used, or only in part; nil if all of it can be used.
	Defect *Defect
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

// String returns the class with its article, to be used in a sentence.
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

// IsRow reports whether the record is a row of a database.
func (r *Record) IsRow() bool { return r.Cols.names != nil }

// Col returns the column of that name, and whether the record has it.
func (r *Record) Col(name string) (Col, bool) {
	for c := range r.Cols.All {
		if c.Name == name {
			return c, true
		}
	}
	return Col{}, false
}

// Text returns the text in a column, "" if the column has none or r is nil.
func (r *Record) Text(name string) string {
	if r == nil {
		return ""
	}
	if c, ok := r.Col(name); ok && c.Class == ClassText {
		return string(c.Bytes)
	}
	return ""
}

// Int returns the integer in a column, 0 if the column has none or r is nil.
func (r *Record) Int(name string) int64 {
	if r == nil {
		return 0
	}
	c, _ := r.Col(name)
	n, _ := c.Int()
	return n
}

// WithCol returns the record with c in place of the column of the same name.
func (r Record) WithCol(c Col) Record {
	r.Cols = r.Cols.replace(c)
	return r
}

// A Defect is a problem of a record itself, independent of the rest of the session.
type Defect struct {
	Kind DefectKind
	Why  string // the problem, in words for a person
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
	// WrongType: the object lacks a field that the agent needs, or the field has another type.
	WrongType
	// WrongName: the id in the record differs from the file's name.
	WrongName
)

// Unreadable reports whether the content of the record is unknown: its bytes are unknown,
// or nest too deep.
func (r *Record) Unreadable() bool {
	return r.Defect != nil && r.Defect.Kind <= TooDeep
}

// IsMalformed reports whether the record's bytes cannot be used as JSON: they
// are unknown, nest too deep, or are not one JSON object.
func (r *Record) IsMalformed() bool {
	return r.Defect != nil && r.Defect.Kind <= Malformed
}

// touch returns the record with time_updated increased by one, if the column has the same value
// in before; otherwise it returns the record unchanged.
func (r *Record) touch(before *Record) *Record {
	const name = "time_updated"
	old, _ := before.Col(name)
	now, _ := r.Col(name)
	v, ok := old.Int()
	if n, same := now.Int(); !ok || !same || n != v {
		return r
	}
	t := r.WithCol(IntCol(name, v+1))
	return &t
}
