package boltfile

import (
	"io"
	"os"
)

// Leftovers calls fn for each item on each leaf page of a file that may be damaged anywhere, in no particular order,
// until fn returns an error. It follows no pointer except to the continuation of a page. If the list of free pages
// cannot be read, the items of free pages are included: items that a transaction has replaced or removed. Unreadable
// items are left out. [Item.Open] shows which bucket an item belongs to.
func Leftovers(r io.ReaderAt, size int64, damage error, fn func(Item) error) error {
	m := anyMeta(&source{r, damage}, size)
	free := map[uint64]bool{}
	if s, err := NewSnapshot(r, size, damage); err == nil {
		ids, _, _ := s.freePages()
		for _, id := range ids {
			free[id] = true
		}
	}
	for id := uint64(2); id < m.high; id++ {
		if free[id] {
			continue
		}
		off := int64(id) * m.pageSize
		start, err := readBytes(m.source, off, min(m.pageSize, size-off))
		if err != nil || int64(len(start)) < m.pageSize {
			continue
		}
		p, err := m.parsePage(id, &pageBytes{start: start, r: m.source, off: off})
		if err != nil || !p.leaf {
			continue
		}
		id += p.more
		for _, it := range p.items {
			if err := m.leftover(it, fn); err != nil {
				return err
			}
		}
	}
	return nil
}

// leftover calls fn for an item, or for each item of a small bucket in its value.
func (m meta) leftover(it Item, fn func(Item) error) error {
	if !it.isBucket {
		return fn(it)
	}
	v, err := it.Value()
	if err != nil || len(v) < bucketHeaderSize+pageHeaderSize || order.Uint64(v) != 0 {
		return nil
	}
	p, err := m.parsePage(0, &pageBytes{start: v[bucketHeaderSize:], r: m.source, whole: true})
	if err != nil || !p.leaf {
		return nil
	}
	for _, it := range p.items {
		if err := fn(it); err != nil {
			return err
		}
	}
	return nil
}

// anyMeta returns the fields needed to read the pages of a file, even if both meta pages are damaged.
func anyMeta(r *source, size int64) meta {
	m, err := metaAt(r, 0, 0)
	for page := int64(minPageSize); err != nil && page <= maxPageSize; page *= 2 { // another machine may have written it
		m, err = metaAt(r, page, 1)
	}
	if err != nil {
		m = meta{source: r, pageSize: int64(os.Getpagesize())} // as bbolt chooses it
	}
	m.high = uint64(size / m.pageSize)
	return m
}
