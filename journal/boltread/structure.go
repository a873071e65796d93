package boltread

import (
	"bytes"
	"fmt"
)

// CheckStructure follows every pointer of the file once: each page is used by one
// tree or is free, not both and not neither, the keys are in order, and the file has
// exactly these buckets.
//
// bbolt's own check is of no use here: it runs in a goroutine of its own, where a
// fault ends the process.
func (s *Snapshot) CheckStructure(buckets []string) error {
	c := pageCheck{s: s, used: make([]bool, s.meta.high)}
	c.used[0], c.used[1] = true, true
	free, pages, err := s.freelist()
	if err != nil {
		return err
	}
	for _, id := range append(free, pages...) {
		if err := c.markUsed(id); err != nil {
			return err
		}
	}
	if err := c.checkBuckets(buckets); err != nil {
		return err
	}
	for id, used := range c.used {
		if !used {
			return damaged("page %d is neither used nor free", id)
		}
	}
	return nil
}

// pageCheck is a call of CheckStructure in progress.
type pageCheck struct {
	s    *Snapshot
	used []bool // by page: a tree or the free list has it
}

func (c *pageCheck) markUsed(id uint64) error {
	if id >= uint64(len(c.used)) || c.used[id] {
		return damaged("page %d is used twice, or free and used", id)
	}
	c.used[id] = true
	return nil
}

// checkBuckets checks the tree of buckets and the tree of each bucket.
func (c *pageCheck) checkBuckets(names []string) error {
	found := 0
	err := c.walk(c.s.meta.root, nil, nil, 0, func(p *page, i int, key []byte) error {
		if p.flags(i) != elemBucket {
			return damaged("%q stands beside the buckets", key)
		}
		found++
		b, err := c.s.Bucket(string(key))
		if err != nil || b.inline != nil {
			return err
		}
		if err := c.walk(b.root, nil, nil, 0, checkNotBucket); err != nil {
			return fmt.Errorf("bucket %s: %w", key, err)
		}
		return nil
	})
	for _, name := range names {
		if err != nil {
			return err
		}
		var b Bucket
		if b, err = c.s.Bucket(name); err == nil && b.inline != nil {
			err = b.inline.checkOrder(nil, nil, checkNotBucket)
		}
	}
	if err == nil && found != len(names) {
		err = damaged("it has %d buckets, want %d", found, len(names))
	}
	return err
}

func checkNotBucket(p *page, i int, _ []byte) error {
	if p.flags(i) != 0 {
		return damaged("page %d holds a bucket", p.id)
	}
	return nil
}

// walk checks the tree that starts from a page, and calls leaf for each key in its
// leaves. All keys must be at least low and less than high; a nil high is no bound.
func (c *pageCheck) walk(id uint64, low, high []byte, depth int, leaf func(*page, int, []byte) error) error {
	if depth > maxDepth {
		return damaged("page %d lies too deep", id)
	}
	p, err := c.s.page(id)
	if err != nil {
		return err
	}
	for n := range p.overflow + 1 {
		if err := c.markUsed(id + n); err != nil {
			return err
		}
	}
	if p.leaf {
		return p.checkOrder(low, high, leaf)
	}
	return p.checkOrder(low, high, func(p *page, i int, key []byte) error {
		if _, err := c.s.child(p, i); err != nil {
			return err
		}
		next := high
		if i+1 < p.count {
			if next, err = p.key(i + 1); err != nil {
				return err
			}
		}
		return c.walk(p.childID(i), key, next, depth+1, leaf)
	})
}

// checkOrder calls fn for each key of the page, and checks that they are in order, at
// least low and less than high; a nil high is no bound.
func (p *page) checkOrder(low, high []byte, fn func(*page, int, []byte) error) error {
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

// freelist reads the free list. It returns the free pages and the pages that the list
// itself takes.
func (s *Snapshot) freelist() (free, pages []uint64, err error) {
	head := make([]byte, headerSize+8)
	off := int64(s.meta.freelist) * s.meta.pageSize
	if err := readFull(s.r, head, off); err != nil {
		return nil, nil, err
	}
	id, count, overflow := order.Uint64(head), uint64(order.Uint16(head[10:])), uint64(order.Uint32(head[12:]))
	at := int64(headerSize)
	if count == 0xFFFF { // the number does not fit, and precedes the list
		count = order.Uint64(head[headerSize:])
		at += 8
	}
	size := (overflow + 1) * uint64(s.meta.pageSize)
	if id != s.meta.freelist || order.Uint16(head[8:]) != flagFreelist || id+overflow >= s.meta.high ||
		count > s.meta.high || uint64(at)+8*count > size {
		return nil, nil, damaged("the free list in page %d is none", s.meta.freelist)
	}
	list := make([]byte, 8*count)
	if err := readFull(s.r, list, off+at); err != nil {
		return nil, nil, err
	}
	free = make([]uint64, count)
	for i := range free {
		free[i] = order.Uint64(list[8*i:])
		if free[i] < 2 || free[i] >= s.meta.high || i > 0 && free[i] <= free[i-1] {
			return nil, nil, damaged("the free list has page %d of %d", free[i], s.meta.high)
		}
	}
	for n := range overflow + 1 {
		pages = append(pages, id+n)
	}
	return free, pages, nil
}

// CheckFreelist checks the free list alone, so that bbolt can load it.
func (s *Snapshot) CheckFreelist() error {
	_, _, err := s.freelist()
	return err
}

// FreeBytes returns how many bytes of the file are in free pages.
func (s *Snapshot) FreeBytes() (int64, error) {
	free, _, err := s.freelist()
	return int64(len(free)) * s.meta.pageSize, err
}
