package journal

import (
	"bytes"
	"errors"
)

// An item is a key in a bucket, and its value unless it is not wanted.
type item struct {
	key []byte
	p   *page
	i   int
}

func (it item) value() ([]byte, error) { return it.p.value(it.i) }

// errStop ends an ascent early.
var errStop = errors.New("stop")

// ascend calls fn for the keys from from on, in order, until it returns an
// error; [errStop] is none. Keys that do not rise are damage, so that it ends.
func (t tree) ascend(from []byte, fn func(item) error) error {
	a := ascent{t: t, fn: fn}
	p, err := t.top()
	if err == nil {
		err = a.walk(p, from, 0)
	}
	return notStop(err)
}

type ascent struct {
	t    tree
	fn   func(item) error
	last []byte
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
		child, err := a.t.s.below(p, i)
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
		if err := a.fn(item{key: k, p: p, i: i}); err != nil {
			return err
		}
	}
	return nil
}

// last is the highest key, and whether there is one.
func (t tree) last() (item, bool, error) {
	p, err := t.top()
	for range maxDepth {
		switch {
		case err != nil:
			return item{}, false, err
		case p.leaf && p.count == 0:
			return item{}, false, nil
		case p.leaf:
			k, err := p.key(p.count - 1)
			return item{key: k, p: p, i: p.count - 1}, true, err
		}
		p, err = t.s.below(p, p.count-1)
	}
	return item{}, false, damaged("page %d lies too deep", p.id)
}
