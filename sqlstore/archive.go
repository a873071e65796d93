package sqlstore

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"mend/change"
)

// An archive is a file with rows that were removed from the database, in a folder of mend's own beside it. It is a zstd
// stream, read and written row by row. The encoding is frozen:
//
//	"mend rows 1\n"
//	T  name of a table, number of its columns, their names: the rows that follow belong to it
//	R  for each column: byte of the storage class, bytes
//	E  the end
//
// Numbers are uvarints; names and bytes have a length prefix.
const (
	archiveVersion = "mend rows 1\n"
	archiveFile    = "rows.zst"
	archiveWindow  = 4 << 20
)

// A rowList describes the content of an archive: it is the image of the change.
type rowList struct {
	size    int64 // size of the file
	sum     string
	content int64 // bytes of the rows
	tables  []tableRows
}

// A tableRows counts the rows of one table in an archive.
type tableRows struct {
	name string
	rows int64
}

// image returns the list as an image. The encoding is frozen.
func (l *rowList) image() *change.Image {
	var b strings.Builder
	fmt.Fprintf(&b, "%sarchive %d %s %d\n", archiveVersion, l.size, l.sum, l.content)
	for _, t := range l.tables {
		fmt.Fprintf(&b, "%d %q\n", t.rows, t.name)
	}
	return &change.Image{Data: []byte(b.String()), Mode: 0o600}
}

// noRows returns the image of rows that are only in the archive.
func noRows() *change.Image { return &change.Image{Data: []byte{}, Mode: 0o600} }

// name returns the name of the archive's folder.
func (l *rowList) name() string { return rowsPrefix + l.sum[:16] }

const rowsPrefix = "rows-"

func rowListOf(i *change.Image) (l rowList, err error) {
	text, ok := strings.CutPrefix(string(i.Data), archiveVersion)
	n := 0
	for line := range strings.Lines(text) {
		var t tableRows
		if n++; n == 1 {
			_, err = fmt.Sscanf(line, "archive %d %64s %d\n", &l.size, &l.sum, &l.content)
		} else if _, err = fmt.Sscanf(line, "%d %q\n", &t.rows, &t.name); err == nil {
			l.tables = append(l.tables, t)
		}
		if err != nil {
			break
		}
	}
	if !ok || err != nil || len(l.sum) != 64 || len(l.tables) == 0 {
		return l, errors.New("the list of its rows is damaged")
	}
	return l, nil
}

type archiveWriter struct {
	rowList
	hash   hash.Hash
	count  countingWriter
	zip    *zstd.Encoder
	b      *bufio.Writer
	number [binary.MaxVarintLen64]byte
}

type countingWriter int64

func (c *countingWriter) Write(p []byte) (int, error) {
	*c += countingWriter(len(p))
	return len(p), nil
}

func newArchiveWriter(w io.Writer) (*archiveWriter, error) {
	a := &archiveWriter{hash: sha256.New()}
	var err error
	a.zip, err = zstd.NewWriter(io.MultiWriter(w, a.hash, &a.count), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(archiveWindow), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	a.b = bufio.NewWriterSize(a.zip, 64<<10)
	_, err = a.b.WriteString(archiveVersion)
	return a, err
}

func (a *archiveWriter) uvarint(n int) {
	_, _ = a.b.Write(binary.AppendUvarint(a.number[:0], uint64(n)))
}

func (a *archiveWriter) text(s string) {
	a.uvarint(len(s))
	_, _ = a.b.WriteString(s) // the writer keeps its first error
}

func (a *archiveWriter) table(name string, cols []string) {
	a.tables = append(a.tables, tableRows{name: name})
	_ = a.b.WriteByte('T')
	a.text(name)
	a.uvarint(len(cols))
	for _, col := range cols {
		a.text(col)
	}
}

// begin starts a row. The caller then calls value for each column.
func (a *archiveWriter) begin() error {
	a.tables[len(a.tables)-1].rows++
	return a.b.WriteByte('R')
}

func (a *archiveWriter) value(v Value) error {
	a.content += int64(len(v.Bytes))
	_ = a.b.WriteByte(byte(v.Class))
	a.uvarint(len(v.Bytes))
	_, err := a.b.Write(v.Bytes)
	return err
}

// close ends the archive and completes its rowList.
func (a *archiveWriter) close() error {
	_ = a.b.WriteByte('E')
	err := errors.Join(a.b.Flush(), a.zip.Close())
	a.size, a.sum = int64(a.count), hex.EncodeToString(a.hash.Sum(nil))
	return err
}

// errArchive means that an archive differs from what was written.
var errArchive = errors.New("the archive of the rows is damaged")

// readArchive calls begin for every table of an archive, and then each for every row of that table. The values of a row
// are valid until each returns. The result lists the rows that were read.
func readArchive(r io.Reader, begin func(table string, cols []string) error, each func(row []Value) error) (l rowList, err error) {
	sum := sha256.New()
	count := countingWriter(0)
	raw := io.TeeReader(r, io.MultiWriter(sum, &count))
	zip, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(archiveWindow))
	if err != nil {
		return l, err
	}
	defer zip.Close()
	a := &archiveReader{b: bufio.NewReaderSize(zip, 64<<10)}
	if got := a.bytes(nil, len(archiveVersion)); string(got) != archiveVersion && a.err == nil {
		return l, errArchive
	}
	var row []Value
	for a.err == nil {
		switch a.byte() {
		case 'T':
			t := tableRows{name: a.text()}
			cols := make([]string, 0, 16)
			for n := a.uvarint(); n > 0 && a.err == nil; n-- {
				cols = append(cols, a.text())
			}
			l.tables, row = append(l.tables, t), slices.Grow(row[:0], len(cols))[:len(cols)]
			if a.err == nil {
				if err := begin(t.name, cols); err != nil {
					return l, err
				}
			}
		case 'R':
			if len(l.tables) == 0 {
				return l, errArchive
			}
			l.tables[len(l.tables)-1].rows++
			for i := range row {
				row[i].Class = change.Class(a.byte())
				row[i].Bytes = a.bytes(row[i].Bytes, a.uvarint())
				l.content += int64(len(row[i].Bytes))
			}
			if a.err == nil {
				if err := each(row); err != nil {
					return l, err
				}
			}
		case 'E':
			if _, err := io.Copy(io.Discard, zip); err != nil { // bytes past the stream
				return l, errors.Join(errArchive, err)
			}
			l.size, l.sum = int64(count), hex.EncodeToString(sum.Sum(nil))
			return l, nil
		default:
			a.err = cmp.Or(a.err, errArchive)
		}
	}
	return l, errors.Join(errArchive, a.err)
}

// An archiveReader reads values and keeps the first error.
type archiveReader struct {
	b   *bufio.Reader
	err error
}

func (a *archiveReader) byte() byte {
	c, err := a.b.ReadByte()
	a.err = cmp.Or(a.err, err)
	return c
}

func (a *archiveReader) uvarint() int {
	n, err := binary.ReadUvarint(a.b)
	if err == nil && n > maxValue {
		err = errArchive
	}
	if a.err = cmp.Or(a.err, err); a.err != nil {
		return 0
	}
	return int(n)
}

// bytes reads n bytes into buf, which grows only as bytes arrive.
func (a *archiveReader) bytes(buf []byte, n int) []byte {
	if buf == nil {
		buf = []byte{} // an empty blob differs from NULL
	}
	if a.err != nil {
		return buf[:0]
	}
	if n <= cap(buf) {
		buf = buf[:n]
		_, a.err = io.ReadFull(a.b, buf)
		return buf
	}
	b := bytes.NewBuffer(slices.Grow(buf[:0], min(n, 1<<20)))
	_, a.err = io.CopyN(b, a.b, int64(n))
	return b.Bytes()
}

func (a *archiveReader) text() string { return string(a.bytes(nil, a.uvarint())) }
