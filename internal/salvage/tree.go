package salvage

import (
	"math"
	"slices"

	"mend/change"
)

// maxDepth is the depth of the deepest tree that SQLite reads.
const maxDepth = 20

// A walker walks trees. It enters no page twice.
type walker struct {
	*file
	seen     []uint64        // pages entered
	released map[uint32]bool // pages entered and given back: their content does not fit the tree
	bufs     [][]byte        // one for each level
	entry    payloadBuffer
	// step is called for every page, and ends the walk with an error.
	step func() error
	err  error
}

func newWalker(f *file, step func() error) *walker {
	return &walker{file: f, seen: make([]uint64, f.pages/64+1), released: map[uint32]bool{}, step: step}
}

func (w *walker) isSeen(n uint32) bool { return w.seen[n/64]&(1<<(n%64)) != 0 }

// release gives a page back: another tree may enter it.
func (w *walker) release(n uint32) {
	w.seen[n/64] &^= 1 << (n % 64)
	w.released[n] = true
}

// enter reads a page on a level of a tree; ok is false if it must not be entered.
func (w *walker) enter(n uint32, level int) (page, bool) {
	if w.err != nil || n < 1 || n > w.pages || level >= maxDepth || w.isSeen(n) {
		return page{}, false
	}
	if w.err = w.step(); w.err != nil {
		return page{}, false
	}
	w.seen[n/64] |= 1 << (n % 64)
	if level >= len(w.bufs) {
		w.bufs = append(w.bufs, make([]byte, w.pageSize))
	}
	return w.read(n, w.bufs[level]), true
}

// A span limits the rowids of a page: greater than lo, and at most hi. sure means that the pages above agree.
type span struct {
	lo, hi int64
	sure   bool
}

var anywhere = span{math.MinInt64, math.MaxInt64, true}

// table walks the tree of a table and calls leaf for each page that is not an interior page. It returns the number of
// structural problems.
func (w *walker) table(root uint32, leaf func(p *page, in span)) (faults int) {
	return w.tableAt(root, anywhere, 0, leaf)
}

func (w *walker) tableAt(n uint32, in span, level int, leaf func(p *page, in span)) (faults int) {
	p, ok := w.enter(n, level)
	if !ok {
		return 1
	}
	if p.kind() != tableInterior {
		leaf(&p, in)
		return p.countEmpty(level)
	}
	cells, right, whole := p.children(w.file)
	if !whole || len(cells) == 0 && level > 0 {
		faults++
	}
	if faults > 0 {
		leaf(&p, span{math.MinInt64, math.MaxInt64, false}) // possibly a leaf whose kind is damaged
	}
	lo := in.lo
	for _, c := range cells {
		at := span{lo, c.rowid, in.sure && whole}
		if c.rowid < lo || c.rowid > in.hi {
			at = span{math.MinInt64, math.MaxInt64, false}
			faults++
		} else {
			lo = c.rowid
		}
		faults += w.tableAt(c.child, at, level+1, leaf)
	}
	return faults + w.tableAt(right, span{lo, in.hi, in.sure && whole}, level+1, leaf)
}

// countEmpty returns 1 for a page without cells below a root: SQLite never leaves such a page, so it belongs to
// another tree.
func (p *page) countEmpty(level int) int {
	if level > 0 && p.u16(p.start+3) == 0 {
		return 1
	}
	return 0
}

// index walks the tree of an index and calls entry for each entry that is in its position, unless belong reports that
// the entries of the page belong to another index. belong may be nil. It returns the number of structural problems.
func (w *walker) index(root uint32, ordered bool, columns int, belong func(entries [][]Value) bool, entry func(vals []Value)) (faults int) {
	x := &indexWalk{walker: w, ordered: ordered, columns: columns, belong: belong, entry: entry}
	x.walk(root, nil, nil, 0)
	return x.faults
}

type indexWalk struct {
	*walker
	ordered bool
	columns int // columns of an entry, with the rowid; 0 for any number
	belong  func([][]Value) bool
	entry   func([]Value)
	faults  int
	rec     recordBuffer
}

func (x *indexWalk) walk(n uint32, lo, hi []Value, level int) {
	p, ok := x.enter(n, level)
	if !ok || p.kind() != indexLeaf && p.kind() != indexInterior {
		if ok {
			x.release(n) // possibly a page of a table
		}
		x.faults++
		return
	}
	if p.kind() == indexLeaf {
		x.faults += p.countEmpty(level)
		x.leaf(&p, lo, hi)
		return
	}
	cells, right, whole := p.children(x.file)
	if !whole || len(cells) == 0 {
		x.faults++
	}
	keys := make([][]Value, len(cells))
	for i, c := range cells {
		if vals, ok := x.read(&p, c); ok {
			keys[i] = cloneValues(vals)
		}
		if keys[i] == nil || x.ordered && (isKeyBefore(keys[i], lo) || isKeyBefore(hi, keys[i]) && hi != nil) {
			x.faults++
			keys[i] = nil
		}
	}
	if x.belong != nil && !x.belong(slices.DeleteFunc(slices.Clone(keys), func(k []Value) bool { return k == nil })) {
		x.faults++
		clear(keys)
	}
	for i, c := range cells {
		next := hi
		if keys[i] != nil {
			next = keys[i]
		}
		x.walk(c.child, lo, next, level+1)
		if keys[i] != nil {
			x.entry(keys[i])
			lo = keys[i]
		}
	}
	x.walk(right, lo, hi, level+1)
}

// leaf calls entry for the entries of a page, unless they do not belong there.
func (x *indexWalk) leaf(p *page, lo, hi []Value) {
	cells, whole := p.leafCells(x.file, indexLeaf)
	var all [][]Value
	for _, c := range cells {
		vals, ok := x.read(p, c)
		if !ok {
			whole = false
			continue
		}
		all = append(all, cloneValues(vals))
	}
	if !whole || x.belong != nil && !x.belong(all) {
		x.faults++
		return // an entry may have been deleted
	}
	last := lo
	for _, vals := range all {
		if x.ordered && (isKeyBefore(vals, last) || hi != nil && isKeyBefore(hi, vals)) {
			x.faults++
			continue
		}
		last = vals
		x.entry(vals)
	}
}

// read reads an entry, which is valid until the next call.
func (x *indexWalk) read(p *page, c cell) ([]Value, bool) {
	payload, ok := x.payload(p, c, &x.walker.entry)
	if !ok {
		return nil, false
	}
	vals, ok := x.rec.parse(payload)
	if !ok || x.columns > 0 && (len(vals) != x.columns || vals[len(vals)-1].Class != change.ClassInteger) {
		return nil, false
	}
	return vals, true
}

// isKeyBefore reports whether the key a sorts before b; nil sorts first.
func isKeyBefore(a, b []Value) bool {
	for i := range min(len(a), len(b)) {
		if d := compare(a[i], b[i]); d != 0 {
			return d < 0
		}
	}
	return len(a) < len(b)
}

func cloneValues(vals []Value) []Value {
	size := 0
	for _, v := range vals {
		size += len(v.Bytes)
	}
	bytes := make([]byte, 0, size)
	out := make([]Value, len(vals))
	for i, v := range vals {
		if v.Bytes != nil {
			at := len(bytes)
			bytes = append(bytes, v.Bytes...)
			v.Bytes = bytes[at:len(bytes):len(bytes)]
		}
		out[i] = v
	}
	return out
}

// freelist returns the free pages. whole is false if some are unknown.
func (f *file) freelist() (free []uint64, whole bool) {
	free = make([]uint64, f.pages/64+1)
	mark := func(n uint32) bool {
		if n < 2 || n > f.pages || free[n/64]&(1<<(n%64)) != 0 {
			return false
		}
		free[n/64] |= 1 << (n % 64)
		return true
	}
	whole = f.header.Intact
	found := uint32(0)
	buf := make([]byte, f.pageSize)
	for n := f.header.FreeHead; n != 0; found++ {
		if !mark(n) {
			return free, false
		}
		p := f.read(n, buf)
		leaves := int(p.u32(4))
		if leaves > f.usable/4-2 {
			return free, false
		}
		for i := range leaves {
			if !mark(p.u32(8 + 4*i)) {
				return free, false
			}
			found++
		}
		n = p.u32(0)
	}
	return free, whole && found == f.header.FreeCount
}

// guessFree marks pages as free if they are listed in a page that looks like a trunk page of the freelist and belongs
// to no tree.
func (f *file) guessFree(walk *walker, free []uint64) {
	buf := make([]byte, f.pageSize)
	isOpen := func(n uint32) bool { return n >= 2 && n <= f.pages && !walk.isSeen(n) }
	for n := uint32(2); n <= f.pages; n++ {
		if !isOpen(n) {
			continue
		}
		p := f.read(n, buf)
		leaves := int(p.u32(4))
		if next := p.u32(0); p.avail < f.usable || next != 0 && !isOpen(next) || leaves < 1 || leaves > f.usable/4-2 {
			continue
		}
		ok := true
		for i := range leaves {
			ok = ok && isOpen(p.u32(8+4*i))
		}
		if !ok {
			continue
		}
		free[n/64] |= 1 << (n % 64)
		for i := range leaves {
			leaf := p.u32(8 + 4*i)
			free[leaf/64] |= 1 << (leaf % 64)
		}
	}
}
