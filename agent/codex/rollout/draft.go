package rollout

import (
	"errors"
	"slices"

	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/request"
	"mend/repair"
)

var (
	errNoBlock = errors.New("no such block")
	errNoEdit  = errors.New("the rollout cannot hold that")
)

// A draft is a copy of a session that fixes edit.
type draft struct {
	repair.NoEdits

	c        *Case
	lines    []line
	torn     bool
	path     string
	row      *change.Record
	renumber bool // the lines move, so they get new numbers: messages are named by them

	items map[string][]item // of each message; nil until they are asked for, and when lines have moved
	undo  []former          // of the edit that is made
}

// A former is a line that an edit has changed.
type former struct {
	at   int
	line line
}

var _ repair.Draft = (*draft)(nil)

// Apply implements [repair.Draft].
func (d *draft) Apply(_ repair.Finding, x repair.Fix) error {
	before := *d
	d.undo = nil
	if !x.Alike {
		before.lines = slices.Clone(d.lines) // it may move lines
	}
	err := x.Edit(d)
	if err == nil {
		return nil
	}
	if x.Alike { // it has changed lines in their places
		for _, f := range slices.Backward(d.undo) {
			before.lines[f.at] = f.line
		}
	}
	*d = before
	return err
}

// Case implements [repair.Draft].
func (d *draft) Case() repair.Case {
	n := &Case{src: d.c.src, torn: d.torn, path: d.path, row: d.row, asked: d.c.asked}
	n.lines = slices.DeleteFunc(slices.Clone(d.lines), func(l line) bool { return l.gone })
	if d.renumber {
		n.lines, n.torn = parseLines(n.data())
	}
	n.examine()
	return n
}

// setRaw gives a line other bytes.
func (d *draft) setRaw(i int, raw []byte) {
	was := d.lines[i]
	d.undo = append(d.undo, former{i, was})
	d.lines[i] = newLine(was.n, raw)
	d.lines[i].group, d.lines[i].first = was.group, was.first
}

// A place is that of an item: its line, and where it is in the replacement history of that, or -1.
type place struct{ at, sub int }

// places returns where the items of a message are.
func (d *draft) places(group string) (all []place) {
	for _, it := range d.itemsOf(group) {
		all = append(all, place{it.at, it.sub})
	}
	return all
}

// itemsOf returns the items of a message.
func (d *draft) itemsOf(group string) []item {
	if d.items == nil {
		d.items = map[string][]item{}
		for _, it := range history(d.lines) {
			if !it.added {
				d.items[it.group] = append(d.items[it.group], it)
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(d.items[group]), func(it item) bool { return d.lines[it.at].gone })
}

// find returns the place of the item that a block is part of, and the number of the block in its content.
func (d *draft) find(b *request.Block) (place, int, error) {
	for _, it := range d.itemsOf(b.Ref().Message) {
		if it.index/parts == b.Index/parts {
			return place{it.at, it.sub}, b.Index % parts, nil
		}
	}
	return place{}, 0, errNoBlock
}

// raw returns the JSON of an item.
func (d *draft) raw(p place) []byte {
	if p.sub < 0 {
		return d.lines[p.at].payload.Raw()
	}
	n := 0
	for v := range d.lines[p.at].payload.Get("replacement_history").Elements() {
		if n == p.sub {
			return v.Raw()
		}
		n++
	}
	return nil
}

// edit changes the JSON of an item; nil removes it.
func (d *draft) edit(p place, change func(raw []byte) ([]byte, error)) error {
	to, err := change(d.raw(p))
	if err != nil {
		return err
	}
	whole := d.lines[p.at].raw
	switch {
	case p.sub < 0 && to == nil:
		d.undo = append(d.undo, former{p.at, d.lines[p.at]})
		d.lines[p.at] = line{n: d.lines[p.at].n, gone: true}
		return nil
	case p.sub < 0:
		whole, err = jsonedit.Set(whole, to, "payload")
	case to == nil:
		d.items = nil
		for _, list := range []string{"replacement_history", "replacement_history_metadata"} {
			n := -1
			if _, ok := jsonedit.Get(whole, "payload", list); ok && err == nil {
				whole, err = jsonedit.RemoveElements(whole, func([]byte) bool { n++; return n == p.sub }, "payload", list)
			}
		}
	default:
		n := -1
		list := jsonedit.EditElements(d.lines[p.at].payload.Get("replacement_history").Raw(), func(raw []byte) []byte {
			if n++; n == p.sub {
				return to
			}
			return raw
		})
		whole, err = jsonedit.Set(whole, list, "payload", "replacement_history")
	}
	if err == nil {
		d.setRaw(p.at, whole)
	}
	return err
}

// setIn sets a member of the item of a block.
func (d *draft) setIn(b *request.Block, name string, value []byte) error {
	p, _, err := d.find(b)
	if err != nil {
		return err
	}
	return d.edit(p, func(raw []byte) ([]byte, error) { return jsonedit.Set(raw, value, name) })
}

// part changes the JSON of a part of a content.
func (d *draft) part(b *request.Block, change func(raw []byte) []byte) error {
	p, n, err := d.find(b)
	if err != nil {
		return err
	}
	return d.edit(p, func(raw []byte) ([]byte, error) {
		list, ok := jsonedit.Get(raw, "content")
		if !ok {
			return nil, errNoBlock
		}
		i := -1
		return jsonedit.Set(raw, jsonedit.EditElements(list, func(part []byte) []byte {
			if i++; i == n {
				return change(part)
			}
			return part
		}), "content")
	})
}

// Remove implements [repair.Editor].
func (d *draft) Remove(b *request.Block) error {
	p, n, err := d.find(b)
	if err != nil {
		return err
	}
	return d.edit(p, func(raw []byte) ([]byte, error) {
		if list, _ := jsonedit.Elements(raw, "content"); b.IsThinking() || len(list) < 2 {
			return nil, nil
		}
		i := -1
		return jsonedit.RemoveElements(raw, func([]byte) bool { i++; return i == n }, "content")
	})
}

// ReplaceText implements [repair.Editor].
func (d *draft) ReplaceText(b *request.Block, text string) error { return d.SetText(b, text) }

// SetText implements [repair.Editor].
func (d *draft) SetText(b *request.Block, text string) error {
	if b.Type != request.Text {
		return errNoEdit
	}
	return d.part(b, func(raw []byte) []byte {
		to, err := jsonedit.Set(raw, jsonedit.Quote(text), "text")
		if err != nil {
			return raw
		}
		return to
	})
}

// ReplaceFiles implements [repair.Editor].
func (d *draft) ReplaceFiles(b *request.Block, _ []*request.Block, happened string) error {
	note := func(raw []byte) []byte {
		if kind, _ := jsonedit.Get(raw, "type"); string(kind) != `"input_image"` {
			return raw
		}
		return append(append([]byte(`{"type":"input_text","text":`), jsonedit.Quote("[An image was here: "+happened+"]")...), '}')
	}
	if b.Type != request.ToolResult {
		return d.part(b, note)
	}
	p, _, err := d.find(b)
	if err != nil {
		return err
	}
	return d.edit(p, func(raw []byte) ([]byte, error) {
		list, ok := jsonedit.Get(raw, "output")
		if !ok || list[0] != '[' {
			return nil, errNoEdit
		}
		return jsonedit.Set(raw, jsonedit.EditElements(list, note), "output")
	})
}

// SetCallID implements [repair.Editor]: of the call, and of its outputs.
func (d *draft) SetCallID(call *request.Block, id string) error {
	behind := false
	for _, it := range history(d.lines) {
		here := !it.added && it.group == call.Ref().Message && it.index == call.Index
		if behind = behind || here; it.added || !behind || text(it.value, "call_id") != call.ToolID || !here && !isOutput(it.kind) {
			continue
		}
		err := d.edit(place{it.at, it.sub}, func(raw []byte) ([]byte, error) { return jsonedit.Set(raw, jsonedit.Quote(id), "call_id") })
		if err != nil {
			return err
		}
	}
	return nil
}

// SetToolName implements [repair.Editor].
func (d *draft) SetToolName(call *request.Block, name string) error {
	return d.setIn(call, "name", jsonedit.Quote(name))
}

// SetInput implements [repair.Editor].
func (d *draft) SetInput(call *request.Block, input []byte) error {
	return d.setIn(call, "arguments", jsonedit.Quote(string(input)))
}

// SetResult implements [repair.Editor].
func (d *draft) SetResult(b *request.Block, text string) error {
	if b.Type != request.ToolResult {
		return errNoEdit
	}
	return d.setIn(b, "output", jsonedit.Quote(text))
}

// DropItemIDs implements [repair.Editor].
func (d *draft) DropItemIDs(message change.Ref) error {
	all := d.places(message.Message)
	if len(all) == 0 {
		return errNoBlock
	}
	for _, p := range all {
		if err := d.edit(p, func(raw []byte) ([]byte, error) { return jsonedit.Remove(raw, "id") }); err != nil {
			return err
		}
	}
	return nil
}

// dropReasoning removes all reasoning of a message, and the ids of its other items, which the provider takes only with it.
func (d *draft) dropReasoning(message change.Ref) error {
	if err := d.DropItemIDs(message); err != nil {
		return err
	}
	for _, p := range slices.Backward(d.places(message.Message)) {
		if kind, _ := jsonedit.Get(d.raw(p), "type"); string(kind) == `"reasoning"` {
			if err := d.edit(p, func([]byte) ([]byte, error) { return nil, nil }); err != nil {
				return err
			}
		}
	}
	return nil
}

// moveBehindCall puts an output behind the response with its call.
func (d *draft) moveBehindCall(b *request.Block) error {
	p, _, err := d.find(b)
	if err != nil || p.sub >= 0 {
		return errNoEdit
	}
	moved, to := d.lines[p.at], -1
	group := ""
	for i := range d.lines {
		l := &d.lines[i]
		if answers(text(l.payload, "type")) == moved.kindOfItem() && text(l.payload, "call_id") == b.ToolID && l.kind == "response_item" {
			group = l.group
		}
		if group != "" && l.group == group {
			to = i
		}
	}
	if to < 0 {
		return errNoBlock
	}
	d.lines = slices.Insert(d.lines, to+1, moved)
	if p.at > to {
		p.at++
	}
	d.lines, d.items = slices.Delete(d.lines, p.at, p.at+1), nil
	d.renumber = true
	return nil
}

func (l *line) kindOfItem() string { return text(l.payload, "type") }

// RemoveCompaction implements [repair.Editor]: what was before the newest compaction is in the rollout, and is sent again.
func (d *draft) RemoveCompaction() (earlier int, err error) {
	at := -1
	for i := range d.lines {
		if d.lines[i].kind == "compacted" {
			if at >= 0 {
				earlier++
			}
			at = i
		}
	}
	if at < 0 {
		return 0, repair.ErrNotCompacted
	}
	d.lines, d.items = slices.Delete(d.lines, at, at+1), nil
	return earlier, nil
}
