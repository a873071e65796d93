package salvage

import (
	"encoding/binary"
	"slices"
)

// The kinds of pages of a tree.
const (
	indexInterior = 2
	tableInterior = 5
	indexLeaf     = 10
	tableLeaf     = 13
)

type page struct {
	n     uint32
	data  []byte
	avail int // number of bytes that were read and may be used
	start int // offset of the page's header
}

func (p *page) kind() byte { return p.data[p.start] }

func (p *page) interior() bool { return p.kind() == tableInterior || p.kind() == indexInterior }

// isTree reports whether the page belongs to a tree.
func (p *page) isTree() bool { return p.interior() || p.kind() == indexLeaf || p.kind() == tableLeaf }

func (p *page) u16(at int) int    { return int(binary.BigEndian.Uint16(p.data[at:])) }
func (p *page) u32(at int) uint32 { return binary.BigEndian.Uint32(p.data[at:]) }

// array returns the offset of the pointers to cells.
func (p *page) array() int {
	if p.interior() {
		return p.start + 12
	}
	return p.start + 8
}

// content returns the offset of the first cell.
func (p *page) content() int {
	if c := p.u16(p.start + 5); c != 0 {
		return c
	}
	return maxPage
}

// A cell is a cell of a page: its position and its first fields.
type cell struct {
	at, end int
	child   uint32 // for an interior page
	rowid   int64  // for a table
	size    int    // size of the payload; 0 in an interior page of a table
	local   int    // payload bytes on this page
	body    int    // offset of the payload
}

// maxPayload is SQLite's limit for a row.
const maxPayload = 1<<31 - 1

// cellAt parses the cell at an offset; ok is false if it is invalid.
func (p *page) cellAt(f *file, kind byte, at int) (c cell, ok bool) {
	if at < p.start+8 || at+4 > p.avail {
		return c, false
	}
	c.at = at
	b := p.data[:p.avail]
	if kind == tableInterior || kind == indexInterior {
		c.child = p.u32(at)
		at += 4
	}
	if kind != tableInterior {
		n, w := varint(b[at:])
		if w == 0 || n < 1 || n > maxPayload {
			return c, false
		}
		c.size, at = int(n), at+w
	}
	if kind == tableInterior || kind == tableLeaf {
		n, w := varint(b[at:])
		if w == 0 {
			return c, false
		}
		c.rowid, at = n, at+w
	}
	c.body, c.local = at, f.local(kind, c.size)
	c.end = at + c.local
	if c.size > c.local {
		c.end += 4
	}
	c.end = max(c.end, c.at+4) // the smallest size of a cell
	return c, c.end <= p.avail
}

// local returns how many bytes of a payload are on the page of its cell.
func (f *file) local(kind byte, size int) int {
	u := f.usable
	most, least := u-35, (u-12)*32/255-23
	if kind != tableLeaf {
		most = (u-12)*64/255 - 23
	}
	if size <= most {
		return size
	}
	if k := least + (size-least)%(u-4); k <= most {
		return k
	}
	return least
}

// lastCell returns the cell at the highest offset, if the page looks like a page of a tree.
func (p *page) lastCell(f *file) (c cell, ok bool) {
	n := p.u16(p.start + 3)
	if !p.isTree() || n == 0 || p.array()+2*n > min(p.content(), p.avail) {
		return c, false
	}
	at := 0
	for i := range n {
		at = max(at, p.u16(p.array()+2*i))
	}
	return p.cellAt(f, p.kind(), at)
}

// children returns the cells of an interior page in the order of the page, and the last child. whole is false if some
// of them cannot be read.
func (p *page) children(f *file) (cells []cell, right uint32, whole bool) {
	n := p.u16(p.start + 3)
	whole = p.array()+2*n <= min(p.content(), p.avail)
	for i := range n {
		at := p.array() + 2*i
		if at+2 > p.avail {
			return cells, p.u32(p.start + 8), false
		}
		c, ok := p.cellAt(f, p.kind(), p.u16(at))
		if !ok {
			whole = false
			continue
		}
		cells = append(cells, c)
	}
	return cells, p.u32(p.start + 8), whole
}

// leafCells returns the cells that the pointers of a leaf lead to, in order. whole is false if the page differs from
// what SQLite writes: then lost cells may lie between them.
func (p *page) leafCells(f *file, kind byte) (cells []cell, whole bool) {
	n := p.u16(p.start + 3)
	array := p.start + 8
	whole = p.kind() == kind
	end := min(p.content(), p.avail)
	if !whole || array+2*n > end || p.content() > f.usable {
		// The header cannot be trusted: the pointers continue as long as they lead to cells.
		whole, n, end = false, (p.avail-array)/2, p.avail
	}
	used := 0
	for i := range n {
		at := array + 2*i
		if at+2 > end {
			whole = false
			break
		}
		c, ok := p.cellAt(f, kind, p.u16(at))
		if ok && c.at < at+2 {
			ok = false
		}
		if ok {
			cells, used = append(cells, c), used+c.end-c.at
			end = min(end, max(c.at, at+2))
			if whole {
				end = min(p.content(), p.avail)
			}
			continue
		}
		if !whole && p.kind() != kind {
			break
		}
		whole = false
	}
	if whole {
		free := int(p.data[p.start+7]) // smaller gaps between cells; the list has the others
		ok := p.eachFree(f, func(_, size int) { free += size })
		whole = ok && used+free == f.usable-p.content()
	}
	return cells, whole
}

// eachFree calls do for each free block; false if their list is damaged.
func (p *page) eachFree(f *file, do func(at, size int)) bool {
	last := 0
	for at := p.u16(p.start + 1); at != 0; at = p.u16(at) {
		if at <= last || at+4 > min(p.avail, f.usable) {
			return false
		}
		size := p.u16(at + 2)
		if size < 4 || at+size > f.usable {
			return false
		}
		do(at, size)
		last = at + size - 1
	}
	return true
}

// carve returns the cells between the known cells of a leaf that have no pointer but look like a row. Cells with the
// highest offset come first: older versions may lie at lower offsets.
func (p *page) carve(f *file, known []cell, isRow func(*page, cell) bool) (found []cell) {
	type span struct{ at, end int }
	var used []span
	start := p.avail
	for _, c := range known {
		used, start = append(used, span{c.at, c.end}), min(start, c.at)
	}
	switch c := p.content(); {
	case p.interior() || p.kind() == indexLeaf: // it may have been a leaf, and still have old cells
	case p.kind() == tableLeaf && c >= p.start+8 && c <= p.avail:
		start = min(start, c)
		p.eachFree(f, func(at, size int) { used = append(used, span{at, at + size}) })
	default:
		start = p.start + 8
	}
	slices.SortFunc(used, func(a, b span) int { return a.at - b.at })
	used = append(used, span{p.avail, p.avail})
	at := start
	for _, u := range used {
		for at+4 <= u.at {
			if c, ok := p.cellAt(f, tableLeaf, at); ok && c.end <= u.at && isRow(p, c) {
				found = append(found, c)
				at = c.end
			} else {
				at++ // the beginning of a cell may be damaged
			}
		}
		at = max(at, u.end)
	}
	slices.Reverse(found)
	return found
}

// varint decodes a variable-length integer, and returns its width; 0 if b is too short.
func varint(b []byte) (n int64, width int) {
	var v uint64
	for i := range min(len(b), 9) {
		if i == 8 {
			return int64(v<<8 | uint64(b[i])), 9 //nolint:gosec // all 64 bits
		}
		v = v<<7 | uint64(b[i]&0x7f)
		if b[i] < 0x80 {
			return int64(v), i + 1 //nolint:gosec // less than 64 bits
		}
	}
	return 0, 0
}
