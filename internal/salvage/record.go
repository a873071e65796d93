package salvage

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"

	"mend/change"
	"mend/internal/sqlite"
)

// A Value is one column of a row.
type Value = sqlite.Value

// compare orders values as SQLite does with the collation BINARY.
func compare(v, o Value) int {
	isNumber := func(v Value) bool { return v.Class == change.ClassInteger || v.Class == change.ClassReal }
	switch {
	case v.Class == change.ClassInteger && o.Class == change.ClassInteger:
		return cmp.Compare(v.Int(), o.Int())
	case isNumber(v) && isNumber(o):
		return cmp.Compare(v.Float(), o.Float())
	case v.Class != o.Class:
		return cmp.Compare(v.Class, o.Class)
	}
	return bytes.Compare(v.Bytes, o.Bytes)
}

// A recordBuffer is memory for the values of one record.
type recordBuffer struct {
	vals    []Value
	numbers []byte // the bytes of its integers
}

// parse decodes a record; ok is false for invalid bytes. The values share the payload, and are valid until the next
// call.
func (b *recordBuffer) parse(payload []byte) (vals []Value, ok bool) {
	b.vals, b.numbers = b.vals[:0], b.numbers[:0]
	head, body, ok := splitRecord(payload)
	for ok && len(head) > 0 {
		var serial int64
		serial, head, ok = nextSerial(head)
		class, n := typeOf(serial)
		if !ok || n > int64(len(body)) {
			return nil, false
		}
		v := Value{Class: class, Bytes: body[:n:n]}
		switch {
		case class == change.ClassInteger:
			at := len(b.numbers)
			b.numbers = binary.BigEndian.AppendUint64(b.numbers, uint64(integer(serial, v.Bytes)))
			v.Bytes = b.numbers[at:]
		case class == change.ClassNull, class == change.ClassReal && math.IsNaN(v.Float()):
			v = Value{Class: change.ClassNull}
		}
		b.vals, body = append(b.vals, v), body[n:]
	}
	return b.vals, ok && len(body) == 0 && len(b.vals) > 0
}

// splitRecord returns the header of a record, without its size, and the bytes after it.
func splitRecord(b []byte) (head, body []byte, ok bool) {
	size, w := varint(b)
	if w == 0 || size < int64(w) || size > int64(len(b)) {
		return nil, nil, false
	}
	return b[w:size], b[size:], true
}

// nextSerial returns the first serial type of a header, and the rest of the header.
func nextSerial(head []byte) (serial int64, rest []byte, ok bool) {
	serial, w := varint(head)
	if w == 0 || serial < 0 || serial == 10 || serial == 11 {
		return 0, nil, false
	}
	return serial, head[w:], true
}

// typeOf returns the class and the size that a serial type stands for.
func typeOf(serial int64) (class change.Class, size int64) {
	switch {
	case serial == 0:
		return change.ClassNull, 0
	case serial == 7:
		return change.ClassReal, 8
	case serial < 10:
		return change.ClassInteger, [...]int64{0, 1, 2, 3, 4, 6, 8, 8, 0, 0}[serial]
	case serial%2 == 0:
		return change.ClassBlob, (serial - 12) / 2
	}
	return change.ClassText, (serial - 13) / 2
}

// integer decodes an integer of at most eight bytes.
func integer(serial int64, b []byte) int64 {
	if len(b) == 0 {
		return serial - 8 // the types of 0 and 1
	}
	n := int64(int8(b[0])) //nolint:gosec // the sign is in the first byte
	for _, x := range b[1:] {
		n = n<<8 | int64(x)
	}
	return n
}

// payload returns the payload of a cell, which is valid until the next call.
func (f *file) payload(p *page, c cell, buf *payloadBuffer) (b []byte, ok bool) {
	local := p.data[c.body : c.body+c.local]
	if c.size <= c.local {
		return local, true
	}
	rest := (c.size - c.local + f.usable - 5) / (f.usable - 4) // number of overflow pages
	if int64(rest) > int64(f.pages) {
		return nil, false
	}
	buf.data = append(buf.data[:0], local...)
	if buf.page == nil {
		buf.page = make([]byte, f.pageSize)
	}
	next := p.u32(c.body + c.local)
	for i := range rest {
		if next < 2 || next > f.pages || next == p.n {
			return nil, false
		}
		o := f.read(next, buf.page)
		n := min(c.size-len(buf.data), f.usable-4)
		if 4+n > o.avail {
			return nil, false
		}
		next = o.u32(0)
		if i == rest-1 && next != 0 {
			return nil, false
		}
		buf.data = append(buf.data, o.data[4:4+n]...)
	}
	return buf.data, true
}

type payloadBuffer struct{ data, page []byte }
