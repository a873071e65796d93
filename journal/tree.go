package journal

import (
	"bytes"
	"io"
)

const (
	// maxDepth is more levels than a tree of any size has; a deeper one is a
	// circle.
	maxDepth = 40
	// maxPages bounds the pages that a snapshot keeps.
	maxPages = 2048
)

// A snapshot is the journal as one transaction left it.
type snapshot struct {
	meta
	r     io.ReaderAt
	pages map[uint64]*page // those read lately
	trees map[string]tree
}

func newSnapshot(r io.ReaderAt, size int64) (*snapshot, error) {
	m, err := readMeta(r, size)
	if err != nil {
		return nil, err
	}
	return &snapshot{meta: m, r: r, pages: map[uint64]*page{}, trees: map[string]tree{}}, nil
}

// page reads and checks a page.
func (s *snapshot) page(id uint64) (*page, error) {
	if p, ok := s.pages[id]; ok {
		return p, nil
	}
	off := int64(id) * s.pageSize
	data := make([]byte, s.pageSize)
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
	p.r, p.off, p.size = s.r, off, int(p.overflow+1)*int(s.pageSize)
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

// below is the page that element i of branch page p leads to. Its keys begin
// with the element's and end before the next element's. Where they do not,
// bbolt's next write would go to the wrong page, or leave two elements that lead
// to one.
func (s *snapshot) below(p *page, i int) (*page, error) {
	child, err := s.page(p.child(i))
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

// A tree is a bucket: the page it starts from, or for a small one a page that
// lies in the bucket's own value.
type tree struct {
	s      *snapshot
	root   uint64
	inline *page
}

// tree finds a bucket of that name.
func (s *snapshot) tree(name string) (tree, error) {
	if t, ok := s.trees[name]; ok {
		return t, nil
	}
	p, i, found, err := tree{s: s, root: s.root}.find([]byte(name))
	if err != nil {
		return tree{}, err
	}
	if !found || p.flags(i) != elemBucket {
		return tree{}, damaged("it has no bucket %s", name)
	}
	v, err := p.value(i)
	if err != nil {
		return tree{}, err
	}
	t, err := s.parseBucket(name, v)
	if err == nil {
		s.trees[name] = t
	}
	return t, err
}

// parseBucket reads a bucket's value: root page u64, sequence u64, and where
// the root is 0 the page itself.
func (s *snapshot) parseBucket(name string, v []byte) (tree, error) {
	if len(v) < headerSize {
		return tree{}, damaged("bucket %s is cut short", name)
	}
	root, sequence, rest := order.Uint64(v), order.Uint64(v[8:]), v[16:]
	if sequence != 0 || root == 1 || root >= s.high || root == 0 && len(rest) < headerSize {
		return tree{}, damaged("bucket %s has root page %d, sequence %d", name, root, sequence)
	}
	if root != 0 {
		return tree{s: s, root: root}, nil
	}
	p, err := parsePage(bytes.Clone(rest), s.meta)
	if err != nil {
		return tree{}, err
	}
	if !p.leaf || p.overflow != 0 || p.id != 0 {
		return tree{}, damaged("bucket %s has no leaf page in it", name)
	}
	return tree{s: s, inline: p}, p.check(s.meta)
}

func (t tree) top() (*page, error) {
	if t.inline != nil {
		return t.inline, nil
	}
	return t.s.page(t.root)
}

// find is the leaf page and the place in it where key stands, or would stand,
// and whether it does. The path to it is the one that bbolt takes, and is safe
// for bbolt if no error comes back.
func (t tree) find(key []byte) (p *page, i int, found bool, err error) {
	p, err = t.top()
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
		p, err = t.s.below(p, i)
	}
	return nil, 0, false, damaged("page %d lies too deep", p.id)
}

// search is the first element that is not below key, and whether it equals it.
func (p *page) search(key []byte) (at int, found bool, err error) {
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
