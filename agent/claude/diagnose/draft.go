package diagnose

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"mend/agent/claude/transcript"
	"mend/internal/jsonedit"
	"mend/repair"
)

// edits are the changes of a draft.
type edits struct {
	set     map[string]transcript.Line // the new line of a record, by its id
	created []string                   // the ids of the records in set that the transcript lacks; they follow it
	leaf    string                     // where the conversation continues; "" for its present end

	aside   map[string]bool // records whose lines are all removed; this rewrites the whole transcript
	inPlace bool            // new lines replace the old ones in place; this rewrites the whole transcript
}

// clone returns edits that can be changed.
func (e edits) clone() edits {
	e.set, e.created, e.aside = maps.Clone(e.set), slices.Clip(e.created), maps.Clone(e.aside)
	return e
}

// leafOf returns where the conversation should continue.
func (e edits) leafOf(b *base) string { return cmp.Or(e.leaf, b.leaf) }

// apply sets the lines of the state: the stored lines and the lines to append, or the whole rewritten transcript.
func (c *State) apply() {
	b, e := c.base, c.edits
	if e.inPlace || len(e.aside) > 0 {
		c.written = c.rewrite()
		c.lines = transcript.Parse(c.written)
		return
	}
	c.lines = slices.Clip(b.lines)
	for _, uuid := range e.created {
		c.lines = append(c.lines, e.set[uuid])
	}
	for i := range b.lines {
		r := b.lines[i].Record
		if r == nil || b.last[r.UUID] != i || r.UUID == e.leafOf(b) {
			continue
		}
		if l, ok := e.set[r.UUID]; ok {
			c.lines = append(c.lines, l)
		}
	}
	leaf := e.leafOf(b)
	if l, ok := e.set[leaf]; ok && !slices.Contains(e.created, leaf) {
		c.lines = append(c.lines, l)
	}
}

// rewrite returns the transcript with all edits in place.
func (c *State) rewrite() []byte {
	b, e := c.base, c.edits
	out := make([]byte, 0, len(b.Data))
	parents := c.keptParents()
	add := func(l transcript.Line) {
		raw := l.Raw
		if l.Record != nil && e.aside[l.Record.Parent] {
			value := []byte("null")
			if parent := parents[l.Record.Parent]; parent != "" {
				value = jsonedit.Quote(parent)
			}
			linked, _ := jsonedit.Set(l.Record.Raw, value, "parentUuid") // it is an object
			raw = bytes.Replace(raw, l.Record.Raw, linked, 1)
		}
		out = append(out, raw...)
	}
	for _, l := range b.lines {
		end := l.End
		if r := l.Record; r != nil && e.aside[r.UUID] {
			continue
		} else if r != nil && e.set[r.UUID].Raw != nil {
			l = e.set[r.UUID]
		}
		if add(l); end < len(b.Data) || len(e.created) > 0 {
			out = append(out, '\n')
		}
	}
	for _, uuid := range e.created {
		add(e.set[uuid])
		out = append(out, '\n')
	}
	return out
}

// keptParents returns, for each record that is set aside, its nearest ancestor that is not; "" for none.
func (c *State) keptParents() map[string]string {
	kept := map[string]string{}
	for at := range c.edits.aside {
		var passed []string
		for c.edits.aside[at] {
			parent, known := kept[at]
			if !known {
				kept[at] = "" // ends a cycle
				passed = append(passed, at)
				l, edited := c.edits.set[at]
				if !edited {
					l = c.base.lines[c.base.last[at]]
				}
				parent = l.Record.Parent
			}
			at = parent
		}
		for _, uuid := range passed {
			kept[uuid] = at
		}
	}
	return kept
}

// A draft is a copy of a transcript that fixes edit.
type draft struct {
	repair.NoEdits // for operations that Claude Code does itself, or that a transcript cannot store

	c     *State
	edits edits
	undo  []func() // reverts the edits of the current fix

	// removed has, by record, the indexes of the blocks that were removed since the draft was made, or [reordered].
	removed map[string][]int
}

// reordered stands for all indexes of a record with reordered blocks.
const reordered = -1

// draftIndex returns the index that a block of the case has in the draft.
func (d *draft) draftIndex(uuid string, index int) (int, error) {
	at := index
	for _, i := range d.removed[uuid] {
		switch {
		case i == reordered || i == index:
			return 0, repair.ErrNoBlock
		case i < index:
			at--
		}
	}
	return at, nil
}

// reorder gives a record its blocks in another order, or fewer of them. It returns an error if
// another fix has changed the record's content.
func (d *draft) reorder(r *transcript.Record, content []byte) error {
	if now, _ := jsonedit.Get(d.raw(r.UUID), "message", "content"); !bytes.Equal(now, r.Content()) {
		return repair.ErrNoBlock
	}
	d.remove(r.UUID, reordered)
	return d.setMember(r.UUID, content, "message", "content")
}

// remove notes that a block was removed, or with [reordered] that all indexes have changed.
func (d *draft) remove(uuid string, index int) {
	old := d.removed[uuid]
	d.undo = append(d.undo, func() { d.removed[uuid] = old })
	d.removed[uuid] = append(slices.Clip(old), index)
}

// WriteInPlace implements [repair.Editor]. It also removes lines that earlier edits replaced.
func (d *draft) WriteInPlace() error {
	old := d.edits.inPlace
	d.undo = append(d.undo, func() { d.edits.inPlace = old })
	d.edits.inPlace = true
	return nil
}

// setLeaf moves the end of the conversation to another record.
func (d *draft) setLeaf(uuid string) {
	old := d.edits.leaf
	d.undo = append(d.undo, func() { d.edits.leaf = old })
	d.edits.leaf = uuid
}

// set gives a record a new line.
func (d *draft) set(uuid string, raw []byte) {
	old, edited := d.edits.set[uuid]
	d.undo = append(d.undo, func() {
		if d.edits.set[uuid] = old; !edited {
			delete(d.edits.set, uuid)
		}
	})
	d.edits.set[uuid] = newLine(raw)
}

// add adds a record at the end of the transcript.
func (d *draft) add(uuid string, raw []byte) {
	n := len(d.edits.created)
	d.undo = append(d.undo, func() { d.edits.created = d.edits.created[:n] })
	d.edits.created = append(d.edits.created, uuid)
	d.set(uuid, raw)
}

// raw returns the line of a record in the draft, nil if the record does not exist.
func (d *draft) raw(uuid string) []byte {
	if l, ok := d.edits.set[uuid]; ok {
		return bytes.TrimRight(l.Raw, " ")
	}
	if r := d.c.conv.Record(uuid); r != nil {
		return r.Raw
	}
	return nil
}

func (d *draft) Begin(repair.Fix) { d.undo = nil }

func (d *draft) Undo() {
	for _, undo := range slices.Backward(d.undo) {
		undo()
	}
	d.undo = nil
}

func (d *draft) State() repair.State { return newState(d.c.base, d.edits.clone()) }
