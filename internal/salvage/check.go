package salvage

import (
	"fmt"
	"slices"
)

// CheckPage checks one page of a tree, and returns its first problem, "" for none: its cells and free blocks must
// fill it without gap or overlap, as its header requires, and its rowids must ascend. Pages that belong to no tree
// are not checked. usable is the size of a page without the bytes that the file header reserves.
func CheckPage(n uint32, data []byte, usable int) string {
	p, f := page{n: n, data: data, avail: usable}, &file{usable: usable}
	if n == 1 {
		p.start = headerSize
	}
	kind := p.kind()
	if !p.isTree() {
		return ""
	}
	wrong := func(format string, args ...any) string {
		return fmt.Sprintf("page %d: ", n) + fmt.Sprintf(format, args...)
	}
	content, cells := p.content(), p.u16(p.start+3)
	if p.array()+2*cells > content || content > usable {
		return wrong("%d cells do not fit before byte %d", cells, content)
	}
	type span struct{ at, end int }
	var used []span
	last := int64(0)
	for i := range cells {
		c, ok := p.cellAt(f, kind, p.u16(p.array()+2*i))
		if !ok || c.at < content {
			return wrong("cell %d is out of bounds", i)
		}
		if (kind == tableLeaf || kind == tableInterior) && i > 0 && c.rowid <= last {
			return wrong("rowid %d follows %d", c.rowid, last)
		}
		last = c.rowid
		used = append(used, span{c.at, c.end})
	}
	if !p.eachFree(f, func(at, size int) { used = append(used, span{at, at + size}) }) {
		return wrong("its list of free blocks is damaged")
	}
	slices.SortFunc(used, func(a, b span) int { return a.at - b.at })
	at, gaps := content, 0
	for _, u := range append(used, span{usable, usable}) {
		if u.at < at {
			return wrong("byte %d is used twice", u.at)
		}
		gaps, at = gaps+u.at-at, u.end
	}
	if fragments := int(p.data[p.start+7]); gaps != fragments {
		return wrong("%d bytes are unused, and its header says %d", gaps, fragments)
	}
	return ""
}
