package scancache

import (
	"crypto/sha256"
	"encoding/binary"
)

// A coder writes values, or reads them in the same order, so that each field is named once. A
// number is a varint, a text has its length before it. JSON takes ten times as long to read
// (BenchmarkDecode), which is most of a scan of a store that has not changed.
type coder struct {
	reading bool
	data    []byte // what was written, or what is still to be read
	text    string // all that is read, of which the texts are parts
	damaged bool   // what was read is no such value
}

func (c *coder) fail() { c.data, c.damaged = nil, true }

func codeInt[T ~int | ~int64 | ~uint8](c *coder, v *T) {
	if !c.reading {
		c.data = binary.AppendVarint(c.data, int64(*v))
		return
	}
	n, size := binary.Varint(c.data)
	if size <= 0 {
		c.fail()
		return
	}
	*v, c.data = T(n), c.data[size:]
}

func codeBool(c *coder, v *bool) {
	var n uint8
	if *v {
		n = 1
	}
	codeInt(c, &n)
	*v = n == 1
}

func codeText[T ~string](c *coder, v *T) {
	n := len(*v)
	switch codeInt(c, &n); {
	case !c.reading:
		c.data = append(c.data, *v...)
	case n < 0 || n > len(c.data):
		c.fail()
	default:
		at := len(c.text) - len(c.data)
		*v, c.data = T(c.text[at:at+n]), c.data[n:]
	}
}

func (c *coder) texts(all ...*string) {
	for _, v := range all {
		codeText(c, v)
	}
}

// codeList calls code for each element. One takes at least so many bytes.
func codeList[T any](c *coder, v *[]T, least int, code func(*T)) {
	n := len(*v)
	if codeInt(c, &n); c.reading && (n < 0 || n > len(c.data)/least) {
		c.fail()
	} else if c.reading && n > 0 {
		*v = make([]T, n)
	}
	for i := range *v {
		code(&(*v)[i])
	}
}

func (c *coder) sum(v *[sha256.Size]byte) {
	switch {
	case !c.reading:
		c.data = append(c.data, v[:]...)
	case len(c.data) < len(v):
		c.fail()
	default:
		c.data = c.data[copy(v[:], c.data):]
	}
}
