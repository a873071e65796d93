package record

import (
	"bytes"
	"cmp"
	"math"

	"mend/session"
)

// A SortKey is the value that the agent sorts a message by: the time of its row in any
// storage class, or the time in its file.
type SortKey struct {
	class session.Class
	bits  uint64 // an integer, or a real as IEEE 754 bits
	text  []byte
}

// SortKey returns the message's first sort key, its time.
func (m *Message) SortKey() SortKey {
	if c, isRow := m.Col("time_created"); isRow {
		return ColumnKey(c)
	}
	return TimeKey(m.Created)
}

// IDKey returns the message's second sort key, which orders messages of one time: the id
// of its row in any storage class, or the id in its file.
func (m *Message) IDKey() SortKey { return idKey(&m.Record, m.ID) }

func idKey(r *session.Record, id string) SortKey {
	if c, isRow := r.Col("id"); isRow {
		return ColumnKey(c)
	}
	return SortKey{class: session.ClassText, text: []byte(id)}
}

// IsNull reports whether the key is that of NULL.
func (k SortKey) IsNull() bool { return k.class == session.ClassNull }

// TimeKey returns the key of a time in milliseconds since 1970.
func TimeKey(ms int64) SortKey { return SortKey{class: session.ClassInteger, bits: uint64(ms)} }

// ColumnKey returns the key of a column's value.
func ColumnKey(c session.Col) SortKey {
	k := SortKey{class: c.Class}
	switch c.Class {
	case session.ClassInteger:
		n, _ := c.Int()
		k.bits = uint64(n)
	case session.ClassReal:
		f, _ := c.Float()
		k.bits = math.Float64bits(f)
	case session.ClassText, session.ClassBlob:
		k.text = c.Bytes
	case session.ClassNull:
	}
	return k
}

// Compare orders keys as SQLite's ORDER BY does (sqlite.org/datatype3.html, 4.1):
// NULL, then numbers by their value, then text, then blobs, both bytewise.
func (k SortKey) Compare(o SortKey) int {
	if rank := cmp.Compare(k.rank(), o.rank()); rank != 0 {
		return rank
	}
	switch {
	case k.class == session.ClassInteger && o.class == session.ClassInteger:
		return cmp.Compare(int64(k.bits), int64(o.bits))
	case k.class == session.ClassReal && o.class == session.ClassReal:
		return cmp.Compare(math.Float64frombits(k.bits), math.Float64frombits(o.bits))
	case k.class == session.ClassInteger:
		return compareReal(int64(k.bits), math.Float64frombits(o.bits))
	case k.class == session.ClassReal:
		return -compareReal(int64(o.bits), math.Float64frombits(k.bits))
	}
	return bytes.Compare(k.text, o.text)
}

func (k SortKey) rank() session.Class {
	if k.class == session.ClassReal {
		return session.ClassInteger
	}
	return k.class
}

// compareReal compares an integer with a real without rounding either.
func compareReal(n int64, f float64) int {
	switch {
	case f >= math.MaxInt64:
		return -1
	case f < math.MinInt64:
		return 1
	}
	whole := math.Trunc(f)
	return cmp.Or(cmp.Compare(n, int64(whole)), cmp.Compare(whole, f))
}
