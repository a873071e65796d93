package journal

import (
	"bytes"
	"fmt"
)

// The structure check follows every pointer in the file once: each page is in
// use by one tree or free, not both and not neither, and all keys are in order.
// bbolt's own check is of no use here: it runs in a goroutine of its own, where
// nobody can keep a fault from ending the process.

// checkStructure checks the whole file.
func (s *snapshot) checkStructure() error {
	c := structure{s: s, seen: make([]bool, s.high)}
	c.seen[0], c.seen[1] = true, true
	free, pages, err := s.freelist()
	if err != nil {
		return err
	}
	for _, id := range append(free, pages...) {
		if err := c.mark(id); err != nil {
			return err
		}
	}
	if err := c.root(); err != nil {
		return err
	}
	for id, seen := range c.seen {
		if !seen {
			return damaged("page %d is neither used nor free", id)
		}
	}
	return nil
}

type structure struct {
	s    *snapshot
	seen []bool
}

func (c *structure) mark(id uint64) error {
	if id >= uint64(len(c.seen)) || c.seen[id] {
		return damaged("page %d is used twice, or free and used", id)
	}
	c.seen[id] = true
	return nil
}

// root checks the root tree: exactly our buckets, each with its own tree.
func (c *structure) root() error {
	found := 0
	err := c.walk(c.s.root, nil, nil, 0, func(p *page, i int, key []byte) error {
		if p.flags(i) != elemBucket {
			return damaged("%q stands beside the buckets", key)
		}
		found++
		t, err := c.s.tree(string(key))
		if err != nil || t.inline != nil {
			return err
		}
		if err := c.walk(t.root, nil, nil, 0, plain); err != nil {
			return fmt.Errorf("bucket %s: %w", key, err)
		}
		return nil
	})
	for _, name := range buckets {
		if err != nil {
			return err
		}
		var t tree
		if t, err = c.s.tree(name); err == nil && t.inline != nil {
			err = t.inline.inOrder(nil, nil, plain)
		}
	}
	if err == nil && found != len(buckets) {
		err = damaged("it has %d buckets, want %d", found, len(buckets))
	}
	return err
}

func plain(p *page, i int, _ []byte) error {
	if p.flags(i) != 0 {
		return damaged("page %d holds a bucket", p.id)
	}
	return nil
}

// walk checks the tree below a page, whose keys are at least low and below
// high, and calls leaf for what is in its leaves.
func (c *structure) walk(id uint64, low, high []byte, depth int, leaf func(*page, int, []byte) error) error {
	if depth > maxDepth {
		return damaged("page %d lies too deep", id)
	}
	p, err := c.s.page(id)
	if err != nil {
		return err
	}
	for n := range p.overflow + 1 {
		if err := c.mark(id + n); err != nil {
			return err
		}
	}
	if p.leaf {
		return p.inOrder(low, high, leaf)
	}
	return p.inOrder(low, high, func(p *page, i int, key []byte) error {
		if _, err := c.s.below(p, i); err != nil {
			return err
		}
		next := high
		if i+1 < p.count {
			if next, err = p.key(i + 1); err != nil {
				return err
			}
		}
		return c.walk(p.child(i), key, next, depth+1, leaf)
	})
}

// inOrder calls fn for each key of the page, which must rise from low and stay
// below high.
func (p *page) inOrder(low, high []byte, fn func(*page, int, []byte) error) error {
	for i := range p.count {
		key, err := p.key(i)
		if err != nil {
			return err
		}
		c := bytes.Compare(key, low)
		if c < 0 || c == 0 && i > 0 || high != nil && bytes.Compare(key, high) >= 0 {
			return damaged("the keys of page %d are out of order", p.id)
		}
		low = key
		if err := fn(p, i, key); err != nil {
			return err
		}
	}
	return nil
}

// freelist is the free pages, and the pages that the list itself takes.
func (s *snapshot) freelist() (free, pages []uint64, err error) {
	head := make([]byte, headerSize+8)
	off := int64(s.meta.freelist) * s.pageSize
	if err := readFull(s.r, head, off); err != nil {
		return nil, nil, err
	}
	id, count, overflow := order.Uint64(head), uint64(order.Uint16(head[10:])), uint64(order.Uint32(head[12:]))
	at := int64(headerSize)
	if count == 0xFFFF { // then the number stands in front of the list
		count = order.Uint64(head[headerSize:])
		at += 8
	}
	size := (overflow + 1) * uint64(s.pageSize)
	if id != s.meta.freelist || order.Uint16(head[8:]) != flagFreelist || id+overflow >= s.high ||
		count > s.high || uint64(at)+8*count > size {
		return nil, nil, damaged("the free list in page %d is none", s.meta.freelist)
	}
	list := make([]byte, 8*count)
	if err := readFull(s.r, list, off+at); err != nil {
		return nil, nil, err
	}
	free = make([]uint64, count)
	for i := range free {
		free[i] = order.Uint64(list[8*i:])
		if free[i] < 2 || free[i] >= s.high || i > 0 && free[i] <= free[i-1] {
			return nil, nil, damaged("the free list has page %d of %d", free[i], s.high)
		}
	}
	for n := range overflow + 1 {
		pages = append(pages, id+n)
	}
	return free, pages, nil
}

// checkFreelist checks the free list for itself, so that bbolt can load it.
func (s *snapshot) checkFreelist() error {
	_, _, err := s.freelist()
	return err
}

// freeBytes is how much of the file is free.
func (s *snapshot) freeBytes() (int64, error) {
	free, _, err := s.freelist()
	return int64(len(free)) * s.pageSize, err
}
