package diagnose

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"mend/agent/claude/transcript"
	"mend/repair"
)

// edits are what a draft changes.
type edits struct {
	set   map[string][]byte // the new line of a record, by its id
	after map[string]int    // the line behind which a new record belongs
	lines map[int][]byte    // lines to be written again in their places; this takes the whole transcript
	order []int             // of all lines, if they are to be written in another one; nil if not
	leaf  string            // where the conversation goes on; "" for where it does now
}

// clone returns edits that can be changed.
func (e edits) clone() edits {
	e.set, e.after, e.lines = maps.Clone(e.set), maps.Clone(e.after), maps.Clone(e.lines)
	return e
}

// with returns the edits with one more.
func (e edits) with(uuid string, raw []byte) edits {
	e.set = maps.Clone(e.set)
	if e.set == nil {
		e.set = map[string][]byte{}
	}
	e.set[uuid] = raw
	return e
}

// created returns the ids of the records that the transcript does not have, in the order in
// which they belong there.
func (e edits) created(b *base) (ids []string) {
	for uuid := range e.set {
		if _, ok := b.last[uuid]; !ok {
			ids = append(ids, uuid)
		}
	}
	slices.SortFunc(ids, func(x, y string) int {
		if d := e.after[x] - e.after[y]; d != 0 {
			return d
		}
		return bytes.Compare([]byte(x), []byte(y))
	})
	return ids
}

// leafOf returns where the conversation is to go on.
func (e edits) leafOf(b *base) string { return cmp.Or(e.leaf, b.leaf) }

// apply sets the lines of the case: those that are stored, and those to be appended; or if
// lines change in their places, the whole transcript.
func (c *Case) apply() {
	b, e := c.base, c.edits
	if len(e.lines) > 0 || e.order != nil {
		c.written = c.rewrite()
		c.lines = transcript.Parse(c.written, int64(len(c.written)))
		return
	}
	c.lines = slices.Clone(b.lines)
	for _, uuid := range e.created(b) {
		c.lines = append(c.lines, appended(e.set[uuid]))
	}
	var leaf []byte
	for i := range b.lines {
		r := b.lines[i].Record
		if r == nil || b.last[r.UUID] != i {
			continue
		}
		raw, ok := e.set[r.UUID]
		switch {
		case !ok:
		case r.UUID == e.leafOf(b):
			leaf = raw
		default:
			c.lines = append(c.lines, appended(raw))
		}
	}
	if leaf != nil {
		c.lines = append(c.lines, appended(leaf))
	}
}

// rewrite returns the transcript with all edits in their places.
func (c *Case) rewrite() []byte {
	b, e := c.base, c.edits
	behind := map[int][]string{}
	for _, uuid := range e.created(b) {
		behind[e.after[uuid]] = append(behind[e.after[uuid]], uuid)
	}
	out := make([]byte, 0, len(b.Data))
	for n := range b.lines {
		i := n
		if e.order != nil {
			i = e.order[n]
		}
		l := b.lines[i]
		raw := l.Raw
		if r := l.Record; r != nil && b.last[r.UUID] == i && e.set[r.UUID] != nil {
			raw = e.set[r.UUID]
		}
		at, edited := e.lines[i]
		if edited {
			raw = at
		}
		if !edited || raw != nil {
			out = append(out, raw...)
			if l.End < len(b.Data) || len(behind[i]) > 0 || n < len(b.lines)-1 {
				out = append(out, '\n')
			}
		}
		for _, uuid := range behind[i] {
			out = append(append(out, e.set[uuid]...), '\n')
		}
	}
	return out
}

// A draft is a copy of a transcript that fixes edit.
type draft struct {
	repair.NoEdits // of what Claude Code does by itself, or a transcript cannot hold

	c     *Case
	edits edits
	now   *undo // of the fix that is applied
}

// undo is what a fix has changed.
type undo struct {
	set   map[string][]byte
	lines map[int][]byte
	fresh map[string]bool
	lined map[int]bool
	leaf  string
	order []int
}

// setOrder writes the stored lines in another order. The conversation goes on at leaf then.
func (d *draft) setOrder(order []int, leaf string) {
	d.edits.order, d.edits.leaf = order[:len(d.c.base.lines)], leaf
}

// setLeaf moves the end of the conversation to another record.
func (d *draft) setLeaf(uuid string) { d.edits.leaf = uuid }

// set gives a record a new line.
func (d *draft) set(uuid string, raw []byte) {
	if d.edits.set == nil {
		d.edits.set = map[string][]byte{}
	}
	if _, seen := d.now.set[uuid]; !seen {
		old, ok := d.edits.set[uuid]
		d.now.set[uuid], d.now.fresh[uuid] = old, !ok
	}
	d.edits.set[uuid] = raw
}

// add adds a record behind a line.
func (d *draft) add(uuid string, raw []byte, line int) {
	if d.edits.after == nil {
		d.edits.after = map[string]int{}
	}
	d.edits.after[uuid] = line
	d.set(uuid, raw)
}

// setLine writes a line again in its place; nil removes it.
func (d *draft) setLine(i int, raw []byte) {
	if d.edits.lines == nil {
		d.edits.lines = map[int][]byte{}
	}
	if !d.now.lined[i] {
		old, ok := d.edits.lines[i]
		if ok {
			d.now.lines[i] = old
		}
		d.now.lined[i] = true
	}
	d.edits.lines[i] = raw
}

// raw returns the line of a record as the draft has it, nil if there is none.
func (d *draft) raw(uuid string) []byte {
	if raw, ok := d.edits.set[uuid]; ok {
		return bytes.TrimRight(raw, " ")
	}
	if r := d.c.conv.Record(uuid); r != nil {
		return r.Raw
	}
	return nil
}

// Apply implements [repair.Draft].
func (d *draft) Apply(_ repair.Finding, x repair.Fix) error {
	d.now = &undo{map[string][]byte{}, map[int][]byte{}, map[string]bool{}, map[int]bool{}, d.edits.leaf, d.edits.order}
	err := x.Edit(d)
	if err != nil {
		d.undo()
	}
	return err
}

// undo undoes what the fix has changed.
func (d *draft) undo() {
	u := d.now
	d.edits.leaf, d.edits.order = u.leaf, u.order
	for uuid, raw := range u.set {
		d.edits.set[uuid] = raw
		if u.fresh[uuid] {
			delete(d.edits.set, uuid)
		}
	}
	for i := range u.lined {
		if raw, ok := u.lines[i]; ok {
			d.edits.lines[i] = raw
		} else {
			delete(d.edits.lines, i)
		}
	}
}

// Case implements [repair.Draft].
func (d *draft) Case() repair.Case {
	n := newCase(d.c.base, d.edits.clone())
	if d.c.asked != nil {
		return n.Asking(*d.c.asked)
	}
	return n
}
