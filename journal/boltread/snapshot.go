package boltread

import (
	"bytes"
	"errors"
	"io"
)

const (
	// maxDepth is more levels than any tree has that is not a circle.
	maxDepth = 40
	// maxPages is how many pages a snapshot keeps in memory.
	maxPages = 2048
)

// A Snapshot is the state of a file after one transaction.
type Snapshot struct {
	meta    meta
	r       io.ReaderAt
	pages   map[uint64]*page // cache
	buckets map[string]Bucket
}

// Open reads the state after the newest transaction of a file of that size. The
// Snapshot reads from r until it is no longer used.
func Open(r io.ReaderAt, size int64) (*Snapshot, error) {
	m, err := readMeta(r, size)
	if err != nil {
		return nil, err
	}
	return &Snapshot{meta: m, r: r, pages: map[uint64]*page{}, buckets: map[string]Bucket{}}, nil
}

// TxID returns the number of the transaction.
func (s *Snapshot) TxID() uint64 { return s.meta.txid }

// Size returns how many bytes of the file the snapshot covers, free pages included.
func (s *Snapshot) Size() int64 { return int64(s.meta.high) * s.meta.pageSize }

// DropCache makes the snapshot read its pages from the file again.
func (s *Snapshot) DropCache() {
	clear(s.pages)
	clear(s.buckets)
}

// page reads and checks a page, or returns it from the cache.
func (s *Snapshot) page(id uint64) (*page, error) {
	if p, ok := s.pages[id]; ok {
		return p, nil
	}
	off := int64(id) * s.meta.pageSize
	data := make([]byte, s.meta.pageSize)
	if err := readFull(s.r, data, off); err != nil {
		return nil, err
	}
	p, err := parsePage(data, s.meta)
	if err != nil {
		return nil, err
	}
	if p.id != id {
		return nil, damaged("page %d calls itself %d", id, p.id)
	}
	p.r, p.off, p.size = s.r, off, int(p.overflow+1)*int(s.meta.pageSize)
	if table := headerSize + elemSize*p.count; table > len(data) && table <= p.size {
		p.data = make([]byte, table)
		if err := readFull(s.r, p.data, off); err != nil {
			return nil, err
		}
	}
	if err := p.check(s.meta); err != nil {
		return nil, err
	}
	if len(s.pages) >= maxPages {
		clear(s.pages)
	}
	s.pages[id] = p
	return p, nil
}

// child reads the page that element i of branch page p leads to, and checks that its
// keys start with the element's key and end before the next element's. If they did
// not, bbolt's next write would go to the wrong page, or leave two elements that
// lead to one page.
func (s *Snapshot) child(p *page, i int) (*page, error) {
	child, err := s.page(p.childID(i))
	if err != nil {
		return nil, err
	}
	if child.count == 0 {
		return nil, damaged("page %d is empty", child.id)
	}
	want, err := p.key(i)
	if err != nil {
		return nil, err
	}
	first, err := child.key(0)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(first, want) {
		return nil, damaged("page %d does not start with the key that page %d has for it", child.id, p.id)
	}
	if i+1 == p.count {
		return child, nil
	}
	end, err := p.key(i + 1)
	if err != nil {
		return nil, err
	}
	last, err := child.key(child.count - 1)
	if err == nil && bytes.Compare(last, end) >= 0 {
		err = damaged("page %d has keys beyond those that page %d has for it", child.id, p.id)
	}
	return child, err
}

// A Bucket is a bucket of a Snapshot.
type Bucket struct {
	s      *Snapshot
	root   uint64
	inline *page // the only page of a small bucket, which is in the bucket's value
}

// Bucket finds the bucket with that name. It is an error if there is none.
func (s *Snapshot) Bucket(name string) (Bucket, error) {
	if b, ok := s.buckets[name]; ok {
		return b, nil
	}
	p, i, found, err := Bucket{s: s, root: s.meta.root}.find([]byte(name))
	if err != nil {
		return Bucket{}, err
	}
	if !found || p.flags(i) != elemBucket {
		return Bucket{}, damaged("it has no bucket %s", name)
	}
	v, err := p.value(i)
	if err != nil {
		return Bucket{}, err
	}
	b, err := s.parseBucket(name, v)
	if err == nil {
		s.buckets[name] = b
	}
	return b, err
}

// parseBucket parses a bucket's value: root page u64, sequence u64, and if the root
// is 0 the only page.
func (s *Snapshot) parseBucket(name string, v []byte) (Bucket, error) {
	if len(v) < headerSize {
		return Bucket{}, damaged("bucket %s is cut short", name)
	}
	root, sequence, rest := order.Uint64(v), order.Uint64(v[8:]), v[16:]
	if sequence != 0 || root == 1 || root >= s.meta.high || root == 0 && len(rest) < headerSize {
		return Bucket{}, damaged("bucket %s has root page %d, sequence %d", name, root, sequence)
	}
	if root != 0 {
		return Bucket{s: s, root: root}, nil
	}
	p, err := parsePage(bytes.Clone(rest), s.meta)
	if err != nil {
		return Bucket{}, err
	}
	if !p.leaf || p.overflow != 0 || p.id != 0 {
		return Bucket{}, damaged("bucket %s has no leaf page in it", name)
	}
	return Bucket{s: s, inline: p}, p.check(s.meta)
}

// rootPage reads the page that the bucket's tree starts from.
func (b Bucket) rootPage() (*page, error) {
	if b.inline != nil {
		return b.inline, nil
	}
	return b.s.page(b.root)
}

// Get returns the value of key, and whether the bucket has that key. Do not change
// the slice.
func (b Bucket) Get(key []byte) (value []byte, found bool, err error) {
	p, i, found, err := b.find(key)
	if err != nil || !found {
		return nil, false, err
	}
	value, err = p.value(i)
	return value, err == nil, err
}

// CheckPath checks the pages that bbolt goes through to change key.
func (b Bucket) CheckPath(key []byte) error {
	_, _, _, err := b.find(key)
	return err
}

// find returns the leaf page and the index of key in it, or the index where key
// would be inserted. It goes through the same pages as bbolt.
func (b Bucket) find(key []byte) (p *page, i int, found bool, err error) {
	p, err = b.rootPage()
	for range maxDepth {
		if err != nil {
			return nil, 0, false, err
		}
		if i, found, err = p.search(key); err != nil || p.leaf {
			return p, i, found, err
		}
		if !found && i > 0 {
			i--
		}
		p, err = b.s.child(p, i)
	}
	return nil, 0, false, damaged("page %d lies too deep", p.id)
}

// search returns the index of the first element whose key is not less than key, and
// whether it equals key.
func (p *page) search(key []byte) (index int, found bool, err error) {
	lo, hi := 0, p.count
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		k, err := p.key(mid)
		if err != nil {
			return 0, false, err
		}
		switch c := bytes.Compare(k, key); {
		case c == 0:
			return mid, true, nil
		case c < 0:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return lo, false, nil
}

// An Item is a key of a bucket with its value.
type Item struct {
	Key  []byte // do not change it
	page *page
	i    int
}

// Value reads the value. Do not change the slice.
func (it Item) Value() ([]byte, error) { return it.page.value(it.i) }

// ErrStop ends [Bucket.Ascend] without an error.
var ErrStop = errors.New("stop")

// Ascend calls fn for the keys that are not less than from, in order, until fn
// returns an error, and returns that error unless it is [ErrStop]. Keys that are not
// in order are damage: so it always ends.
func (b Bucket) Ascend(from []byte, fn func(Item) error) error {
	a := ascent{b: b, fn: fn}
	p, err := b.rootPage()
	if err == nil {
		err = a.walk(p, from, 0)
	}
	if errors.Is(err, ErrStop) {
		return nil
	}
	return err
}

// ascent is a call of Ascend in progress.
type ascent struct {
	b    Bucket
	fn   func(Item) error
	last []byte // the last key that fn got
}

func (a *ascent) walk(p *page, from []byte, depth int) error {
	i, found, err := p.search(from)
	if err != nil {
		return err
	}
	if depth > maxDepth {
		return damaged("page %d lies too deep", p.id)
	}
	if p.leaf {
		return a.leaf(p, i)
	}
	if !found && i > 0 {
		i--
	}
	for ; i < p.count; i++ {
		child, err := a.b.s.child(p, i)
		if err == nil {
			err = a.walk(child, from, depth+1)
		}
		if err != nil {
			return err
		}
		from = nil
	}
	return nil
}

func (a *ascent) leaf(p *page, i int) error {
	for ; i < p.count; i++ {
		k, err := p.key(i)
		if err != nil {
			return err
		}
		if a.last != nil && bytes.Compare(a.last, k) >= 0 {
			return damaged("the keys of page %d are out of order", p.id)
		}
		if p.flags(i) != 0 {
			return damaged("page %d holds a bucket", p.id)
		}
		a.last = k
		if err := a.fn(Item{Key: k, page: p, i: i}); err != nil {
			return err
		}
	}
	return nil
}

// Last returns the highest key, and whether there is one.
func (b Bucket) Last() (Item, bool, error) {
	p, err := b.rootPage()
	for range maxDepth {
		switch {
		case err != nil:
			return Item{}, false, err
		case p.leaf && p.count == 0:
			return Item{}, false, nil
		case p.leaf:
			k, err := p.key(p.count - 1)
			return Item{Key: k, page: p, i: p.count - 1}, true, err
		}
		p, err = b.s.child(p, p.count-1)
	}
	return Item{}, false, damaged("page %d lies too deep", p.id)
}
