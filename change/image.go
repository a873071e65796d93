package change

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"unique"
)

// An Image is the content of a record: its exact bytes and, for a file or a folder, its mode. A nil
// *Image means that the record does not exist, so one kind of [Op] covers create, replace and delete.
// A record of zero bytes exists.
//
// Data is not a json.RawMessage, because encoding/json compacts those, and undo must restore
// the exact bytes.
type Image struct {
	Data []byte
	Mode fs.FileMode

	// Time is the file's mtime in nanoseconds since 1970, recorded for a file that is deleted or gets
	// a new mtime; undo restores it. 0 lets the store choose the time. Equal does not compare it.
	Time int64
}

// Equal reports whether both images have the same bytes and mode, or both are nil.
func (i *Image) Equal(o *Image) bool {
	if i == nil || o == nil {
		return i == o
	}
	return i.Mode == o.Mode && bytes.Equal(i.Data, o.Data)
}

// Size returns how many bytes the image has; 0 for a record that does not exist.
func (i *Image) Size() int {
	if i == nil {
		return 0
	}
	return len(i.Data)
}

// ImageOf returns the record as an image: the bytes and mode of a file, or a row with all its
// columns, which [RowOf] decodes. The image of a file shares the bytes of r.
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
func ImageOf(r *Record) *Image {
	if !r.IsRow() {
		return &Image{Data: r.Data, Mode: r.Mode}
	}
	const rest = 256 // room for lengths and the names of columns
	return &Image{Data: AppendRow(make([]byte, 0, len(r.Data)+len(r.Cols.values)+rest), r)}
}

// AppendRow appends the data of the image of a row.
func AppendRow(b []byte, r *Record) []byte {
	b = append(b, rowVersion, byte(cmp.Or(r.Class, ClassText)))
	b = appendBytes(b, r.Data)
	b = binary.AppendUvarint(b, uint64(len(r.Cols.Names())))
	for c := range r.Cols.All {
		b = append(binary.AppendUvarint(b, uint64(len(c.Name))), c.Name...)
		b = append(b, byte(c.Class))
		b = appendBytes(b, c.Bytes)
	}
	return b
}

const rowVersion = 1

// SameImage reports whether two records have equal images, without building the images.
func SameImage(a, b *Record) bool {
	if a.IsRow() != b.IsRow() || !bytes.Equal(a.Data, b.Data) {
		return false
	}
	if !a.IsRow() {
		return a.Mode == b.Mode
	}
	return cmp.Or(a.Class, ClassText) == cmp.Or(b.Class, ClassText) && a.Cols.Equal(b.Cols)
}

func appendBytes(b, s []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

var errRow = errors.New("image is not a row")

// RecordOf returns the record of an image: a row if [ImageOf] encoded one, otherwise a file.
func RecordOf(ref Ref, i *Image) Record {
	if i.Mode == 0 {
		if row, err := RowOf(ref, i); err == nil {
			return row
		}
	}
	return Record{Ref: ref, Data: i.Data, Mode: i.Mode}
}

// RowOf decodes a row that [ImageOf] encoded and gives it the ref. The row's data shares the bytes of
// the image.
func RowOf(ref Ref, i *Image) (Record, error) {
	d := Decoder{Rest: i.Data}
	if v := d.Byte(); v != rowVersion {
		return Record{}, fmt.Errorf("%s: %w: version %d, want %d", ref, errRow, v, rowVersion)
	}
	r := Record{Ref: ref, Class: d.class(), Data: d.text()}
	if r.Class == ClassText {
		r.Class = 0
	}
	n := d.Uvarint()
	if n > uint64(len(d.Rest)) {
		d.Failed = true
	}
	names, values := make([]string, 0, min(n, 64)), make([]byte, 0, len(d.Rest))
	for ; n > 0 && !d.Failed; n-- {
		names = append(names, unique.Make(string(d.text())).Value()) // equal names share their memory
		values = AppendValue(values, d.class(), d.text())
	}
	r.Cols = EncodedCols(&names, values)
	if d.Failed || len(d.Rest) > 0 {
		return Record{}, fmt.Errorf("%s: %w: cut short or too long", ref, errRow)
	}
	return r, nil
}

func (d *Decoder) class() Class {
	c := Class(d.Byte())
	if c < ClassNull || c > ClassBlob {
		d.Failed = true
	}
	return c
}

// text reads bytes with a length prefix.
func (d *Decoder) text() []byte { return d.Bytes(d.Uvarint()) }
