package salvage

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"

	"mend/change"
)

// A Value is one column of a row, with its storage class. Bytes has the content of a text or a blob.
type Value struct {
	Class change.Class
	Int   int64
	Float float64
	Bytes []byte
}

// compare orders values as SQLite does with the collation BINARY.
func (v Value) compare(o Value) int {
	rank := func(c change.Class) int {
		if c == change.ClassReal {
			return int(change.ClassInteger)
		}
		return int(c)
	}
	if d := rank(v.Class) - rank(o.Class); d != 0 {
		return d
	}
	switch v.Class {
	case change.ClassText, change.ClassBlob:
		return bytes.Compare(v.Bytes, o.Bytes)
	case change.ClassInteger, change.ClassReal:
		if v.Class == change.ClassInteger && o.Class == change.ClassInteger {
			return cmp.Compare(v.Int, o.Int)
		}
		return cmp.Compare(v.number(), o.number())
	case change.ClassNull:
	}
	return 0
}

func (v Value) number() float64 {
	if v.Class == change.ClassReal {
		return v.Float
	}
	return float64(v.Int)
}

// parseRecord decodes a record into vals; ok is false for invalid bytes. The values share the payload.
func parseRecord(payload []byte, vals []Value) ([]Value, bool) {
	vals = vals[:0]
	size, w := varint(payload)
	if w == 0 || size < int64(w) || size > int64(len(payload)) {
		return vals, false
	}
	head, body := payload[w:size], payload[size:]
	for len(head) > 0 {
		serial, w := varint(head)
		if w == 0 || serial < 0 || serial == 10 || serial == 11 {
			return vals, false
		}
		head = head[w:]
		n := serialSize(serial)
		if n > int64(len(body)) {
			return vals, false
		}
		vals = append(vals, decode(serial, body[:n:n]))
		body = body[n:]
	}
	return vals, len(body) == 0 && len(vals) > 0
}

func serialSize(serial int64) int64 {
	if serial >= 12 {
		return (serial - 12) / 2
	}
	return [...]int64{0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0}[serial]
}

func decode(serial int64, b []byte) Value {
	switch {
	case serial == 0:
		return Value{Class: change.ClassNull}
	case serial == 7:
		f := math.Float64frombits(binary.BigEndian.Uint64(b))
		if math.IsNaN(f) {
			return Value{Class: change.ClassNull}
		}
		return Value{Class: change.ClassReal, Float: f}
	case serial == 8 || serial == 9:
		return Value{Class: change.ClassInteger, Int: serial - 8}
	case serial < 7:
		n := int64(int8(b[0])) //nolint:gosec // the sign is in the first byte
		for _, x := range b[1:] {
			n = n<<8 | int64(x)
		}
		return Value{Class: change.ClassInteger, Int: n}
	case serial%2 == 0:
		return Value{Class: change.ClassBlob, Bytes: b}
	}
	return Value{Class: change.ClassText, Bytes: b}
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
