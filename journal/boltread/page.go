package boltread

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// The layout is bbolt's file format 2 (its internal/common), in the byte order
// of the machine.
const (
	boltMagic   = 0xED0CDAED
	boltVersion = 2

	headerSize = 16 // id u64, flags u16, count u16, overflow u32
	elemSize   = 16 // branch: pos u32, ksize u32, child u64; leaf: flags, pos, ksize, vsize u32
	metaSize   = 64

	flagBranch   = 0x01
	flagLeaf     = 0x02
	flagMeta     = 0x04
	flagFreelist = 0x10

	elemBucket = 0x01

	minPageSize, maxPageSize = 1 << 10, 1 << 24
)

var order = binary.NativeEndian

// meta holds the fields of a meta page.
type meta struct {
	pageSize             int64
	root, freelist, high uint64 // high: one more than the number of the last page
	txid                 uint64
}

// readMeta reads both meta pages and returns the newer one. A meta page that is not
// valid is damage, although bbolt would continue with the other one: a meta page
// is in one sector, so no power cut leaves half of it, and the other page is one
// transaction behind.
func readMeta(r io.ReaderAt, size int64) (meta, error) {
	if size == 0 {
		return meta{}, damaged("the file is empty")
	}
	a, err := metaAt(r, 0, 0)
	if err != nil {
		return meta{}, err
	}
	b, err := metaAt(r, a.pageSize, 1)
	if err != nil {
		return meta{}, err
	}
	if b.txid > a.txid {
		a, b = b, a
	}
	high := uint64(size / a.pageSize)
	switch {
	case a.pageSize != b.pageSize || a.txid != b.txid+1:
		return meta{}, damaged("the two meta pages do not fit each other")
	case a.high > high || a.high < 4:
		return meta{}, damaged("the file has %d pages, want %d: it was cut short", high, a.high)
	case a.root < 2 || a.root >= a.high || a.freelist < 2 || a.freelist >= a.high:
		return meta{}, damaged("root page %d, free list page %d of %d pages", a.root, a.freelist, a.high)
	}
	return a, nil
}

// metaAt reads meta page n, which starts at off.
func metaAt(r io.ReaderAt, off int64, n uint64) (meta, error) {
	b := make([]byte, headerSize+metaSize)
	if err := readFull(r, b, off); err != nil {
		return meta{}, err
	}
	body := b[headerSize:]
	sum := fnv.New64a()
	sum.Write(body[:metaSize-8])
	m := meta{
		pageSize: int64(order.Uint32(body[8:])),
		root:     order.Uint64(body[16:]), // then the root bucket's sequence, unused
		freelist: order.Uint64(body[32:]),
		high:     order.Uint64(body[40:]),
		txid:     order.Uint64(body[48:]),
	}
	switch {
	case order.Uint32(body) != boltMagic || order.Uint32(body[4:]) != boltVersion:
		return meta{}, damaged("meta page %d is not one of a journal", n)
	case order.Uint64(body[56:]) != sum.Sum64():
		return meta{}, damaged("meta page %d has a wrong checksum", n)
	case order.Uint64(b) != n || order.Uint16(b[8:]) != flagMeta || m.txid%2 != n:
		return meta{}, damaged("meta page %d calls itself something else", n)
	case m.pageSize < minPageSize || m.pageSize > maxPageSize || m.pageSize&(m.pageSize-1) != 0:
		return meta{}, damaged("page size %d", m.pageSize)
	}
	return m, nil
}

// readFull reads len(b) bytes at off. It returns an error that wraps ErrDamaged if
// the file ends before, and the disk's own error if reading fails.
func readFull(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return damaged("the file ends before byte %d", off+int64(len(b)))
	}
	if err != nil {
		return fmt.Errorf("reading at byte %d: %w", off, err)
	}
	return nil
}

// page is a branch or leaf page whose bounds were checked.
type page struct {
	id       uint64
	leaf     bool
	count    int    // of elements
	overflow uint64 // how many pages of the file follow that belong to it
	data     []byte // its start: header, elements, and the keys and values in the first page of the file
	size     int    // of the whole page in bytes
	r        io.ReaderAt
	off      int64 // of the page in r
}

// parsePage parses and checks the header of the page that starts with data.
func parsePage(data []byte, m meta) (*page, error) {
	p := &page{
		id:       order.Uint64(data),
		leaf:     order.Uint16(data[8:]) == flagLeaf,
		count:    int(order.Uint16(data[10:])),
		overflow: uint64(order.Uint32(data[12:])),
		data:     data,
		size:     len(data),
	}
	if f := order.Uint16(data[8:]); f != flagLeaf && f != flagBranch {
		return nil, damaged("page %d has flags %#x", p.id, f)
	}
	if p.id >= m.high || p.overflow >= m.high-p.id {
		return nil, damaged("page %d with %d more ends behind page %d", p.id, p.overflow, m.high)
	}
	if !p.leaf && p.count == 0 {
		return nil, damaged("branch page %d is empty", p.id)
	}
	return p, nil
}

// check checks that every element points into the page, and that the keys are in
// order.
func (p *page) check(m meta) error {
	if err := p.checkElems(m); err != nil {
		return err
	}
	var last []byte
	for i := range p.count {
		k, err := p.key(i)
		if err != nil {
			return err
		}
		if bytes.Compare(k, last) <= 0 { // no key is empty
			return damaged("the keys of page %d are out of order", p.id)
		}
		last = k
	}
	return nil
}

// checkElems checks that every element points into the page, and that together they
// are no larger than it: if they overlapped, reading them all would be more than
// linear work.
func (p *page) checkElems(m meta) error {
	table := uint64(headerSize + elemSize*p.count)
	if table > uint64(len(p.data)) {
		return damaged("page %d has %d elements, more than fit", p.id, p.count)
	}
	used := table
	for i := range p.count {
		pos, ksize, vsize := p.elem(i)
		used += ksize + vsize
		if pos < table || ksize == 0 || used > uint64(p.size) || pos+ksize+vsize > uint64(p.size) {
			return damaged("element %d of page %d lies outside of it", i, p.id)
		}
		if c := p.childID(i); !p.leaf && (c < 2 || c >= m.high) {
			return damaged("element %d of page %d leads to page %d of %d", i, p.id, c, m.high)
		}
		if p.leaf && p.flags(i) > elemBucket {
			return damaged("element %d of page %d has flags %#x", i, p.id, p.flags(i))
		}
	}
	return nil
}

// elem returns the offset of the key of element i from the start of the page, and
// the sizes of key and value. The value follows the key.
func (p *page) elem(i int) (pos, ksize, vsize uint64) {
	at := headerSize + elemSize*i
	e := p.data[at : at+elemSize]
	if p.leaf {
		return uint64(at) + uint64(order.Uint32(e[4:])), uint64(order.Uint32(e[8:])), uint64(order.Uint32(e[12:]))
	}
	return uint64(at) + uint64(order.Uint32(e)), uint64(order.Uint32(e[4:])), 0
}

// childID returns the number of the page that element i of a branch page leads to.
func (p *page) childID(i int) uint64 {
	return order.Uint64(p.data[headerSize+elemSize*i+8:])
}

// flags returns the flags of element i of a leaf page: elemBucket or 0.
func (p *page) flags(i int) uint32 {
	return order.Uint32(p.data[headerSize+elemSize*i:])
}

func (p *page) key(i int) ([]byte, error) {
	pos, ksize, _ := p.elem(i)
	return p.bytes(pos, ksize)
}

func (p *page) value(i int) ([]byte, error) {
	pos, ksize, vsize := p.elem(i)
	return p.bytes(pos+ksize, vsize)
}

// bytes returns n bytes at off, which checkElems found to lie in the page. The
// slice is part of the page: do not change it.
func (p *page) bytes(off, n uint64) ([]byte, error) {
	if off+n <= uint64(len(p.data)) {
		return p.data[off : off+n : off+n], nil
	}
	b := make([]byte, n)
	return b, readFull(p.r, b, p.off+int64(off))
}
