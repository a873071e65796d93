package change

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"

	"mend/session"
)

// An Image is a record as it is stored: its exact bytes and, for a file or a
// folder, its mode. A nil *Image means that the record does not exist, so one
// kind of [Op] covers create, replace and delete; a record of zero bytes exists.
//
// Data is not a json.RawMessage on purpose: encoding/json compacts those, and
// undo must give back the bytes it took, white space included.
type Image struct {
	Data []byte
	Mode fs.FileMode
}

// Equal reports whether both images are the same bytes and mode, or both nil.
func (i *Image) Equal(o *Image) bool {
	if i == nil || o == nil {
		return i == o
	}
	return i.Mode == o.Mode && bytes.Equal(i.Data, o.Data)
}

// ImageOf is the record as an image: a file's bytes and mode, or a row with all
// its columns. [RowOf] reads the latter back.
//
// A row is encoded as follows, and the encoding is frozen:
//
//	byte     1, the version
//	byte     storage class of the data column
//	uvarint  length of the data column, then its bytes
//	uvarint  number of other columns, and for each:
//	           uvarint length of its name, name
//	           byte    storage class
//	           uvarint length of its bytes, bytes
func ImageOf(r *session.Record) *Image {
	if r.Cols == nil {
		return &Image{Data: r.Data, Mode: r.Mode}
	}
	b := []byte{rowVersion, byte(cmp.Or(r.Class, session.ClassText))}
	b = appendBytes(b, r.Data)
	b = binary.AppendUvarint(b, uint64(len(r.Cols)))
	for _, c := range r.Cols {
		b = appendBytes(b, []byte(c.Name))
		b = append(b, byte(c.Class))
		b = appendBytes(b, c.Bytes)
	}
	return &Image{Data: b}
}

const rowVersion = 1

func appendBytes(b, s []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

var errRow = errors.New("image is no row")

// RowOf is the row that the image holds, under the given ref. The error says
// that the image is not one that [ImageOf] made of a row.
func RowOf(ref session.Ref, i *Image) (session.Record, error) {
	d := rowDecoder{rest: i.Data}
	if v := d.byte(); v != rowVersion {
		return session.Record{}, fmt.Errorf("%s: %w: version %d, want %d", ref, errRow, v, rowVersion)
	}
	r := session.Record{Ref: ref, Class: d.class(), Data: d.bytes()}
	if r.Class == session.ClassText {
		r.Class = 0
	}
	n := d.uvarint()
	if n > uint64(len(d.rest)) {
		d.bad = true
	}
	r.Cols = make([]session.Col, 0, min(n, 64))
	for ; n > 0 && !d.bad; n-- {
		r.Cols = append(r.Cols, session.Col{Name: string(d.bytes()), Class: d.class(), Bytes: d.bytes()})
	}
	if d.bad || len(d.rest) > 0 {
		return session.Record{}, fmt.Errorf("%s: %w: cut short or too long", ref, errRow)
	}
	return r, nil
}

type rowDecoder struct {
	rest []byte
	bad  bool
}

func (d *rowDecoder) byte() byte {
	if len(d.rest) == 0 {
		d.bad = true
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

func (d *rowDecoder) class() session.Class {
	c := session.Class(d.byte())
	if c < session.ClassNull || c > session.ClassBlob {
		d.bad = true
	}
	return c
}

func (d *rowDecoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *rowDecoder) bytes() []byte {
	n := d.uvarint()
	if n > uint64(len(d.rest)) {
		d.bad = true
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}
