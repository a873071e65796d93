package salvage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
)

// LostRows are rows of a table, with the values that indexes have of them. There may be millions, so they are in a
// temporary table beside the new database rather than in memory.
type LostRows struct {
	db   *DB
	t    *Table
	name string // name of the temporary table
	n    int
}

// Len returns the number of rows.
func (l *LostRows) Len() int {
	if l == nil {
		return 0
	}
	return l.n
}

// Get returns the known values of a row; nil if the row is not in l.
func (l *LostRows) Get(rowid int64) (known Known) {
	if l == nil || l.n == 0 {
		return nil
	}
	l.query("SELECT known FROM temp."+l.name+" WHERE rowid = ?1", func(st *sqlite3.Stmt) error {
		known = l.t.decodeKnown(st.ColumnRawBlob(0))
		return nil
	}, rowid)
	return known
}

// Set adds a row, or replaces its known values.
func (l *LostRows) Set(rowid int64, known Known) {
	if l == nil || l.n == 0 {
		l.query("CREATE TEMP TABLE IF NOT EXISTS "+l.name+" (rowid INTEGER PRIMARY KEY, known BLOB)", nil)
	}
	blob := l.t.encodeKnown(known)
	l.query("UPDATE temp."+l.name+" SET known = ?2 WHERE rowid = ?1", nil, rowid, blob)
	if l.db.Changes() == 0 {
		l.query("INSERT INTO temp."+l.name+" VALUES (?1, ?2)", nil, rowid, blob)
		l.n++
	}
}

// Delete removes a row.
func (l *LostRows) Delete(rowid int64) {
	if l == nil || l.n == 0 {
		return
	}
	l.query("DELETE FROM temp."+l.name+" WHERE rowid = ?1", nil, rowid)
	l.n -= int(l.db.Changes())
}

// Clear removes all rows.
func (l *LostRows) Clear() {
	if l != nil && l.n > 0 {
		l.query("DELETE FROM temp."+l.name, nil)
		l.n = 0
	}
}

// All yields the rows by rowid. The caller may delete the row that was yielded last.
func (l *LostRows) All() iter.Seq2[int64, Known] {
	return func(yield func(int64, Known) bool) {
		if l == nil || l.n == 0 {
			return
		}
		l.query("SELECT rowid, known FROM temp."+l.name, func(st *sqlite3.Stmt) error {
			if !yield(st.ColumnInt64(0), l.t.decodeKnown(st.ColumnRawBlob(1))) {
				return errEnough
			}
			return nil
		})
	}
}

// errEnough ends an iteration.
var errEnough = errors.New("enough")

// query records an error for [DB.Finish].
func (l *LostRows) query(sql string, each func(*sqlite3.Stmt) error, args ...any) {
	if err := l.db.Query(sql, each, args...); err != nil && !errors.Is(err, errEnough) && l.db.err == nil {
		l.db.err = fmt.Errorf("noting lost rows of %s: %w", l.t.Name, err)
	}
}

// encodeKnown encodes the known values with the indexes of their columns.
func (t *Table) encodeKnown(known Known) []byte {
	b := []byte{}
	for i, c := range t.cols {
		if v, ok := known[c.name]; ok {
			b = binary.AppendUvarint(append(binary.AppendUvarint(b, uint64(i)), byte(v.Class)), uint64(v.Int))
			b = binary.AppendUvarint(binary.AppendUvarint(b, math.Float64bits(v.Float)), uint64(len(v.Bytes)))
			b = append(b, v.Bytes...)
		}
	}
	return b
}

// decodeKnown is the inverse of encodeKnown.
func (t *Table) decodeKnown(b []byte) Known {
	known := Known{}
	number := func() uint64 {
		v, n := binary.Uvarint(b)
		b = b[n:]
		return v
	}
	for b = bytes.Clone(b); len(b) > 0; {
		name, v := t.cols[number()].name, Value{Class: change.Class(b[0])}
		b = b[1:]
		v.Int, v.Float = int64(number()), math.Float64frombits(number()) //nolint:gosec // all 64 bits
		if n := number(); v.Class == change.ClassText || v.Class == change.ClassBlob {
			v.Bytes, b = b[:n:n], b[n:]
		}
		known[name] = v
	}
	return known
}
