package boltfile

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
)

// A source has the bytes of an untrusted file.
type source struct {
	io.ReaderAt
	damage error // from [Spec]
}

func (r *source) damageError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", r.damage, fmt.Sprintf(format, args...))
}

// The file is read without bbolt, with plain reads and with every bound checked. bbolt trusts its file:
// a branch page that leads back to itself ends the process with a stack overflow, a wrong length makes
// it allocate gigabytes, and no caller can recover from either. It also locks out every reader while
// there is a writer.
//
// The layout is bbolt's file format 2 (its internal/common), in the byte order of the machine.
const (
	boltMagic   = 0xED0CDAED
	boltVersion = 2

	pageHeaderSize   = 16 // id u64, flags u16, count u16, overflow u32
	elemSize         = 16 // branch: pos u32, ksize u32, child u64; leaf: flags, pos, ksize, vsize u32
	metaSize         = 64
	bucketHeaderSize = 16 // root page u64, sequence u64

	flagBranch   = 0x01
	flagLeaf     = 0x02
	flagMeta     = 0x04
	flagFreelist = 0x10

	minPageSize, maxPageSize = 1 << 10, 1 << 24

	maxDepth = 40  // exceeds the depth of any tree without a cycle
	maxPages = 256 // number of pages that a snapshot keeps in memory
)

var order = binary.NativeEndian

// A meta holds the fields of a meta page.
type meta struct {
	*source
	pageSize             int64
	root, freelist, high uint64 // high: one more than the number of the last page
	txid                 uint64
}

// readMeta reads both meta pages and returns the newer one. An invalid meta page is damage, although
// bbolt would continue with the other one: a meta page fits into one sector, so no power cut leaves half
// of it, and the other page is one transaction older.
func readMeta(r *source, size int64) (meta, error) {
	if size == 0 {
		return meta{}, r.damageError("the file is empty")
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
		return meta{}, r.damageError("the two meta pages do not match")
	case a.high > high || a.high < 4:
		return meta{}, r.damageError("the file has %d pages, want %d: it was cut short", high, a.high)
	case a.root < 2 || a.root >= a.high || a.freelist < 2 || a.freelist >= a.high:
		return meta{}, r.damageError("root page %d, free list page %d of %d pages", a.root, a.freelist, a.high)
	}
	return a, nil
}

// metaAt reads meta page n, which starts at off.
func metaAt(r *source, off int64, n uint64) (meta, error) {
	b, err := readBytes(r, off, pageHeaderSize+metaSize)
	if err != nil {
		return meta{}, err
	}
	body := b[pageHeaderSize:]
	sum := fnv.New64a()
	sum.Write(body[:metaSize-8])
	m := meta{
		source:   r,
		pageSize: int64(order.Uint32(body[8:])),
		root:     order.Uint64(body[16:]), // the root bucket's sequence follows, unused
		freelist: order.Uint64(body[32:]),
		high:     order.Uint64(body[40:]),
		txid:     order.Uint64(body[48:]),
	}
	switch {
	case order.Uint32(body) != boltMagic || order.Uint32(body[4:]) != boltVersion:
		return meta{}, r.damageError("meta page %d was not written by mend", n)
	case order.Uint64(body[56:]) != sum.Sum64():
		return meta{}, r.damageError("meta page %d has a wrong checksum", n)
	case order.Uint64(b) != n || order.Uint16(b[8:]) != flagMeta || m.txid%2 != n:
		return meta{}, r.damageError("meta page %d has the header of another page", n)
	case m.pageSize < minPageSize || m.pageSize > maxPageSize || m.pageSize&(m.pageSize-1) != 0:
		return meta{}, r.damageError("page size %d", m.pageSize)
	}
	return m, nil
}

// readBytes reads n bytes at off. The error wraps r.damage if the file is too short, and the disk's error if reading
// fails.
func readBytes(r *source, off, n int64) ([]byte, error) {
	b := make([]byte, n)
	got, err := r.ReadAt(b, off)
	switch {
	case got == len(b):
		return b, nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, r.damageError("the file ends before byte %d", off+n)
	}
	return nil, fmt.Errorf("reading at byte %d: %w", off, err)
}

// A page is a branch or leaf page with checked bounds.
type page struct {
	id    uint64 // 0: the page is in the value of a small bucket
	more  uint64 // number of pages that follow in the file and belong to it
	leaf  bool
	items []Item
}

// An Item is an element of a page: a key, with its value in a leaf page, and with its child page in a
// branch page.
type Item struct {
	Key       []byte // do not change it
	child     uint64
	isBucket  bool // the value is a bucket
	src       *pageBytes
	off, size int64 // of the value in src
}

// Value reads the value. Do not change the slice.
func (it Item) Value() ([]byte, error) { return it.src.bytes(it.off, it.size) }

// pageBytes are the bytes of a page: its start, and the offset of the rest.
type pageBytes struct {
	start []byte
	size  int64 // size of the page
	r     *source
	off   int64 // offset of the page in r
	whole bool  // start has all bytes: the page is in the value of a small bucket
}

// bytes returns n bytes at off, which must be in the page.
func (b *pageBytes) bytes(off, n int64) ([]byte, error) {
	if off+n <= int64(len(b.start)) {
		return b.start[off : off+n : off+n], nil
	}
	return readBytes(b.r, b.off+off, n)
}

// parsePage checks page id: every element points into the page, together they fit into it, and the keys
// are in order.
func (m meta) parsePage(id uint64, b *pageBytes) (*page, error) {
	flags, count := order.Uint16(b.start[8:]), int64(order.Uint16(b.start[10:]))
	p := &page{id: order.Uint64(b.start), more: uint64(order.Uint32(b.start[12:])), leaf: flags == flagLeaf}
	switch {
	case p.id != id:
		return nil, m.damageError("page %d has the number %d", id, p.id)
	case flags != flagLeaf && flags != flagBranch:
		return nil, m.damageError("page %d has flags %#x", id, flags)
	case p.more >= m.high-id || b.whole && p.more > 0:
		return nil, m.damageError("page %d with %d more ends after page %d", id, p.more, m.high)
	case !p.leaf && count == 0:
		return nil, m.damageError("branch page %d is empty", id)
	}
	b.size = int64(len(b.start)) + int64(p.more)*m.pageSize
	used := pageHeaderSize + elemSize*count
	if used > b.size {
		return nil, m.damageError("page %d has %d elements, more than fit", id, count)
	}
	table, err := b.bytes(0, used)
	if err != nil {
		return nil, err
	}
	p.items = make([]Item, count)
	var last []byte
	for i := range p.items {
		at := int64(pageHeaderSize + elemSize*i)
		it, keySize, ok := m.parseElem(table[at:], p.leaf)
		it.src, it.off = b, it.off+at
		used += keySize + it.size
		if !ok || it.off < int64(len(table)) || keySize == 0 || used > b.size || it.off+keySize+it.size > b.size {
			return nil, m.damageError("element %d of page %d is wrong or lies outside of it", i, id)
		}
		if it.Key, err = b.bytes(it.off, keySize); err != nil {
			return nil, err
		}
		if bytes.Compare(it.Key, last) <= 0 { // no key is empty
			return nil, m.damageError("the keys of page %d are out of order", id)
		}
		it.off += keySize
		last, p.items[i] = it.Key, it
	}
	return p, nil
}

// parseElem reads an element of a page's table. The item's off is the offset of the key, relative to the element.
func (m meta) parseElem(e []byte, leaf bool) (it Item, keySize int64, ok bool) {
	if !leaf {
		it.off, it.child = int64(order.Uint32(e)), order.Uint64(e[8:])
		return it, int64(order.Uint32(e[4:])), it.child >= 2 && it.child < m.high
	}
	flags := order.Uint32(e)
	it.isBucket, it.off, it.size = flags == 1, int64(order.Uint32(e[4:])), int64(order.Uint32(e[12:]))
	return it, int64(order.Uint32(e[8:])), flags <= 1
}

// search returns the index of the first item with a key not less than key, and whether that item has the key.
func (p *page) search(key []byte) (index int, found bool) {
	return slices.BinarySearchFunc(p.items, key, func(it Item, key []byte) int { return bytes.Compare(it.Key, key) })
}

// lead returns the index of the item of a branch page that leads to key.
func (p *page) lead(key []byte) int {
	i, found := p.search(key)
	if !found && i > 0 {
		i--
	}
	return i
}

// A Snapshot is the state of the file after one transaction. It becomes invalid with the next transaction. It verifies
// the checksum of each value that it reads.
type Snapshot struct {
	meta
	pages map[uint64]*page // cache
}

// NewSnapshot reads the state after the newest transaction of a file of the given size. Its errors about damage wrap
// the error damage.
func NewSnapshot(r io.ReaderAt, size int64, damage error) (*Snapshot, error) {
	m, err := readMeta(&source{r, damage}, size)
	if err != nil {
		return nil, err
	}
	return &Snapshot{meta: m, pages: map[uint64]*page{}}, nil
}

// Size returns the size in bytes of the part of the file that the snapshot covers, free pages included.
func (s *Snapshot) Size() int64 { return int64(s.high) * s.pageSize }

// Free returns the size in bytes of the free pages.
func (s *Snapshot) Free() (int64, error) {
	pages, _, err := s.freePages()
	return int64(len(pages)) * s.pageSize, err
}

// DropCache makes the Snapshot read its pages from the file again.
func (s *Snapshot) DropCache() { clear(s.pages) }

// page reads a page, or returns it from the cache.
func (s *Snapshot) page(id uint64) (*page, error) {
	if p, ok := s.pages[id]; ok {
		return p, nil
	}
	off := int64(id) * s.pageSize
	start, err := readBytes(s.source, off, s.pageSize)
	if err != nil {
		return nil, err
	}
	p, err := s.parsePage(id, &pageBytes{start: start, r: s.source, off: off})
	if err != nil {
		return nil, err
	}
	if len(s.pages) >= maxPages {
		clear(s.pages)
	}
	s.pages[id] = p
	return p, nil
}

// child reads the page that item i of a branch page leads to. Its keys start with the item's key and end before the
// next item's, else before high; a nil high is no bound. So readers follow no cycle, and bbolt's next write reaches
// the checked page.
func (s *Snapshot) child(p *page, i int, high []byte) (child *page, end []byte, err error) {
	if end = high; i+1 < len(p.items) {
		end = p.items[i+1].Key
	}
	if child, err = s.page(p.items[i].child); err != nil {
		return nil, nil, err
	}
	n := len(child.items)
	switch {
	case n == 0:
		err = s.damageError("page %d is empty", child.id)
	case !bytes.Equal(child.items[0].Key, p.items[i].Key):
		err = s.damageError("page %d does not start with its key in page %d", child.id, p.id)
	case end != nil && bytes.Compare(child.items[n-1].Key, end) >= 0:
		err = s.damageError("page %d has keys beyond its range in page %d", child.id, p.id)
	}
	return child, end, err
}

// bucket returns the root page of a bucket's tree. A missing bucket is an error.
func (s *Snapshot) bucket(name string) (*page, error) {
	p, err := s.page(s.root)
	if err != nil {
		return nil, err
	}
	p, i, found, err := s.leaf(p, []byte(name))
	if err != nil {
		return nil, err
	}
	if !found || !p.items[i].isBucket {
		return nil, s.damageError("it has no bucket %s", name)
	}
	v, err := p.items[i].Value()
	if err != nil {
		return nil, err
	}
	return s.parseBucket(name, v)
}

// parseBucket parses a bucket's value: its header, and its only page if the root is 0.
func (s *Snapshot) parseBucket(name string, v []byte) (*page, error) {
	if len(v) < bucketHeaderSize {
		return nil, s.damageError("bucket %s is cut short", name)
	}
	root, sequence, rest := order.Uint64(v), order.Uint64(v[8:]), v[bucketHeaderSize:]
	switch {
	case sequence != 0 || root == 1 || root >= s.high || root == 0 && len(rest) < pageHeaderSize:
		return nil, s.damageError("bucket %s has root page %d, sequence %d", name, root, sequence)
	case root != 0:
		return s.page(root)
	}
	p, err := s.parsePage(0, &pageBytes{start: rest, r: s.source, whole: true})
	if err == nil && !p.leaf {
		err = s.damageError("bucket %s has no leaf page in it", name)
	}
	return p, err
}

// leaf returns the leaf page below p that has key, or where it would be, and the index of the first item
// that is not less. It reads the same pages as bbolt.
func (s *Snapshot) leaf(p *page, key []byte) (leaf *page, i int, found bool, err error) {
	for range maxDepth {
		if p.leaf {
			i, found = p.search(key)
			return p, i, found, nil
		}
		if p, _, err = s.child(p, p.lead(key), nil); err != nil {
			return nil, 0, false, err
		}
	}
	return nil, 0, false, s.damageError("page %d is too deep", p.id)
}

// find returns the item of a bucket that has the key, and whether it exists. It checks all pages that
// bbolt reads to change the key.
func (s *Snapshot) find(bucket string, key []byte) (Item, bool, error) {
	p, err := s.bucket(bucket)
	if err != nil {
		return Item{}, false, err
	}
	p, i, found, err := s.leaf(p, key)
	if err != nil || !found {
		return Item{}, false, err
	}
	return p.items[i], true, nil
}

// Last returns the last item of a bucket, and whether it exists.
func (s *Snapshot) Last(bucket string) (Item, bool, error) {
	p, err := s.bucket(bucket)
	for range maxDepth {
		if err != nil || len(p.items) == 0 {
			return Item{}, false, err
		}
		end := len(p.items) - 1
		if p.leaf {
			return p.items[end], true, nil
		}
		p, _, err = s.child(p, end, nil)
	}
	return Item{}, false, cmp.Or(err, s.damageError("bucket %s is too deep", bucket))
}

// A walker walks a tree in order: it calls page, unless it is nil, for each page, and item for each leaf item with a
// key not less than from.
type walker struct {
	s    *Snapshot
	from []byte
	page func(*page) error
	item func(Item) error
}

// walk walks p and the pages below it. All keys are less than high; nil is no bound.
func (w walker) walk(p *page, high []byte, depth int) error {
	if depth > maxDepth {
		return w.s.damageError("page %d is too deep", p.id)
	}
	if w.page != nil {
		if err := w.page(p); err != nil {
			return err
		}
	}
	if p.leaf {
		i, _ := p.search(w.from)
		for _, it := range p.items[i:] {
			if err := w.item(it); err != nil {
				return err
			}
		}
		return nil
	}
	for i := p.lead(w.from); i < len(p.items); i++ {
		child, end, err := w.s.child(p, i, high)
		if err == nil {
			err = w.walk(child, end, depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// CheckStructure follows every pointer of the file once: each page is either used by one tree or free,
// the keys are in order, and the file has exactly these buckets.
func (s *Snapshot) CheckStructure(names []string) error {
	used := make([]bool, s.high)
	mark := func(first, more uint64) error {
		for id := range more + 1 {
			id += first
			if used[id] {
				return s.damageError("page %d is used twice, or free and used", id)
			}
			used[id] = true
		}
		return nil
	}
	free, more, err := s.freePages()
	if err == nil {
		err = errors.Join(mark(0, 1), mark(s.freelist, more))
	}
	for _, id := range free {
		if err == nil {
			err = mark(id, 0)
		}
	}
	if err == nil {
		err = s.checkBuckets(names, func(p *page) error {
			if p.id == 0 { // its bytes belong to another page
				return nil
			}
			return mark(p.id, p.more)
		})
	}
	if err != nil {
		return err
	}
	if i := slices.Index(used, false); i >= 0 {
		return s.damageError("page %d is neither used nor free", i)
	}
	return nil
}

// checkBuckets checks the tree of buckets and the tree of each bucket. It calls fn for each page.
func (s *Snapshot) checkBuckets(names []string, fn func(*page) error) error {
	root, err := s.page(s.root)
	if err != nil {
		return err
	}
	var found []string
	err = walker{s: s, page: fn, item: func(it Item) error {
		found = append(found, string(it.Key))
		p, err := s.bucket(string(it.Key))
		if err == nil {
			err = walker{s: s, page: fn, item: Item.checkNoBucket}.walk(p, nil, 0)
		}
		if err != nil {
			return fmt.Errorf("bucket %s: %w", it.Key, err)
		}
		return nil
	}}.walk(root, nil, 0)
	if err == nil && !slices.Equal(found, slices.Sorted(slices.Values(names))) {
		err = s.damageError("it has the buckets %q, want %q", found, names)
	}
	return err
}

func (it Item) checkNoBucket() error {
	if it.isBucket {
		return it.src.r.damageError("it has a bucket %q", it.Key)
	}
	return nil
}

// freePages reads the free list: the free pages, and the number of pages that the list occupies after
// its first.
func (s *Snapshot) freePages() (free []uint64, more uint64, err error) {
	off := int64(s.freelist) * s.pageSize
	head, err := readBytes(s.source, off, pageHeaderSize+8)
	if err != nil {
		return nil, 0, err
	}
	id, count, at := order.Uint64(head), uint64(order.Uint16(head[10:])), uint64(pageHeaderSize)
	more = uint64(order.Uint32(head[12:]))
	if count == 0xFFFF { // too large for the field: the number precedes the list
		count, at = order.Uint64(head[pageHeaderSize:]), at+8
	}
	if id != s.freelist || order.Uint16(head[8:]) != flagFreelist || more >= s.high-id || count > s.high || at+8*count > (more+1)*uint64(s.pageSize) {
		return nil, 0, s.damageError("page %d is not a free list", s.freelist)
	}
	list, err := readBytes(s.source, off+int64(at), int64(8*count))
	if err != nil {
		return nil, 0, err
	}
	free = make([]uint64, count)
	for i := range free {
		free[i] = order.Uint64(list[8*i:])
		if free[i] < 2 || free[i] >= s.high || i > 0 && free[i] <= free[i-1] {
			return nil, 0, s.damageError("the free list has page %d of %d", free[i], s.high)
		}
	}
	return free, more, nil
}
