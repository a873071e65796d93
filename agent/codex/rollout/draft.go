package rollout

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/request"
	"mend/repair"
)

// A draft is a copy of a session that fixes edit.
type draft struct {
	repair.NoEdits
	content

	c        *State
	renumber bool // lines have moved, so messages are renamed after their new numbers

	// items has the items of each message, and under the key of a turn the turn's items that the model wrote. It is nil
	// before its first use, and after lines moved.
	items   map[string][]item
	turns   map[string]string // for each message the key of its turn in items
	cleared bool              // the current fix has removed a turn from items

	before *draft // the draft before the current fix
}

// Begin implements [repair.Editor]. It copies the lines only for a fix of the whole session: of the edits of another
// fix, only the first may fail.
func (d *draft) Begin(x repair.Fix) {
	d.makeItems() // so that Undo does not forget them
	d.cleared = false
	before := *d
	if d.before = &before; x.Whole {
		before.lines = slices.Clone(d.lines)
	}
}

func (d *draft) Undo() {
	cleared := d.cleared
	if *d = *d.before; cleared {
		d.items = nil
	}
}

func (d *draft) State() repair.State {
	n := d.content
	n.lines = slices.DeleteFunc(slices.Clone(d.lines), func(l line) bool { return l.gone })
	if d.renumber {
		n.lines, n.torn = parseLines(n.data())
	}
	return newState(d.c.src, n)
}

func (d *draft) set(i int, value []byte, path ...string) error {
	raw, err := jsonedit.Set(d.lines[i].raw, value, path...)
	return d.put(i, raw, err)
}

// put replaces the bytes of a line if err is nil, and returns err.
func (d *draft) put(i int, raw []byte, err error) error {
	if err == nil {
		old := d.lines[i]
		d.lines[i] = newLine(old.n, raw)
		d.lines[i].role = old.role
	}
	return err
}

// path returns the path of an item in its line, or of a value in the item.
func (it item) path(more ...string) []string {
	if it.sub < 0 {
		return append([]string{"payload"}, more...)
	}
	return append([]string{"payload", "replacement_history", strconv.Itoa(it.sub)}, more...)
}

func (d *draft) drop(it item) error {
	if it.sub < 0 {
		d.lines[it.at] = line{gone: true}
		return nil
	}
	d.items = nil
	raw, err := jsonedit.Remove(d.lines[it.at].raw, it.path()...)
	metadata := []string{"payload", "replacement_history_metadata", strconv.Itoa(it.sub)}
	if shorter, merr := jsonedit.Remove(raw, metadata...); merr == nil {
		raw = shorter
	}
	return d.put(it.at, raw, err)
}

// makeItems makes the items, unless they are up to date.
func (d *draft) makeItems() {
	if d.items != nil {
		return
	}
	d.items, d.turns = map[string][]item{}, map[string]string{}
	turn := "turn"
	for _, it := range history(d.lines) {
		if it.typed {
			turn = "turn of " + it.group
		}
		if !it.added {
			d.items[it.group], d.turns[it.group] = append(d.items[it.group], it), turn
			if isFromModel(it.value) {
				d.items[turn] = append(d.items[turn], it)
			}
		}
	}
}

// itemsOf returns the items of a message, or the items of a turn that the model wrote.
func (d *draft) itemsOf(group string) []item {
	d.makeItems()
	return slices.DeleteFunc(slices.Clone(d.items[group]), func(it item) bool { return d.lines[it.at].gone })
}

// find returns the item that contains a block, which may be nil.
func (d *draft) find(b *request.Block) (item, error) {
	if b != nil {
		d.makeItems()
		for _, it := range d.items[b.Ref().Message] {
			if it.index/parts == b.Index/parts && !d.lines[it.at].gone {
				return it, nil
			}
		}
	}
	return item{}, repair.ErrNoBlock
}

// part returns the index of a block in the content of its item.
func part(b *request.Block) string { return strconv.Itoa(b.Index % parts) }

// edit edits the value at a path in the item of a block. If edit returns nil, the value is removed.
func (d *draft) edit(b *request.Block, edit func(raw []byte) []byte, path ...string) error {
	it, err := d.find(b)
	if err != nil {
		return err
	}
	raw, err := jsonedit.Edit(d.lines[it.at].raw, func(raw []byte) ([]byte, error) { return edit(raw), nil },
		it.path(path...)...)
	return d.put(it.at, raw, err)
}

func (d *draft) setMember(b *request.Block, value []byte, path ...string) error {
	return d.edit(b, func([]byte) []byte { return value }, path...)
}

func (d *draft) Remove(b *request.Block) error {
	it, err := d.find(b)
	if err != nil {
		return err
	}
	if list, _ := jsonedit.Elements(d.lines[it.at].raw, it.path("content")...); b.IsThinking() || len(list) < 2 {
		return d.drop(it)
	}
	return d.setMember(b, nil, "content", part(b))
}

// SetAside implements [repair.Editor]. It removes all items of a message, or a line that Codex does not read; if
// that line is a call, it also removes the call's outputs.
func (d *draft) SetAside(record change.Ref) error {
	all := d.itemsOf(record.Message)
	for _, it := range slices.Backward(all) {
		if err := d.drop(it); err != nil {
			return err
		}
	}
	if len(all) > 0 {
		return nil
	}
	at := slices.IndexFunc(d.lines, func(l line) bool {
		return !l.gone && l.kind == "" && lineGroup(l.n) == record.Message
	})
	if at < 0 {
		return repair.ErrNoBlock
	}
	output, id := calls[d.lines[at].subtype].output, d.lines[at].payload.TextAt("call_id")
	for i := range d.lines {
		if o := &d.lines[i]; i == at || id != "" && output == o.subtype && o.payload.TextAt("call_id") == id {
			*o = line{gone: true}
		}
	}
	return nil
}

func (d *draft) ReplaceText(b *request.Block, text string) error { return d.SetText(b, text) }

func (d *draft) SetText(b *request.Block, text string) error {
	if b.Type != request.Text {
		return repair.ErrNoEdit
	}
	return d.setMember(b, jsonedit.Quote(text), "content", part(b), "text")
}

func (d *draft) ReplaceFiles(b *request.Block, _ []*request.Block, happened string) error {
	path := []string{"content", part(b)}
	if b.Type == request.ToolResult {
		path = []string{"output"}
	}
	note := func(raw []byte) []byte {
		if kind, _ := jsonedit.Get(raw, "type"); string(kind) != `"input_image"` {
			return raw
		}
		return fmt.Appendf(nil, `{"type":"input_text","text":%s}`, jsonedit.Quote("[An image was here: "+happened+"]"))
	}
	return d.edit(b, func(raw []byte) []byte {
		if raw[0] == '[' {
			return jsonedit.EditElements(raw, note)
		}
		return note(raw)
	}, path...)
}

func (d *draft) SetCallID(call *request.Block, results []*request.Block, id string) error {
	for _, b := range append([]*request.Block{call}, results...) {
		if err := d.setMember(b, jsonedit.Quote(id), "call_id"); err != nil {
			return err
		}
	}
	return nil
}

func (d *draft) SetToolName(call *request.Block, name string) error {
	return d.setMember(call, jsonedit.Quote(name), "name")
}

func (d *draft) SetInput(call *request.Block, input []byte) error {
	return d.setMember(call, jsonedit.Quote(string(input)), "arguments")
}

func (d *draft) SetResult(b *request.Block, text string) error {
	return d.setMember(b, jsonedit.Quote(text), "output") // only an output has this member
}

func (d *draft) DropItemIDs(message change.Ref) error { return d.dropIDs(message, false) }

// dropReasoning removes all reasoning from the message of a block. It also removes the ids of the other items, because
// the provider accepts these only together with the reasoning.
func (d *draft) dropReasoning(b *request.Block) error {
	if b == nil {
		return repair.ErrNoBlock
	}
	return d.dropIDs(b.Ref(), true)
}

// dropIDs removes the ids of all items of the model in the turn of a message. If reasoning is set, it also removes
// all reasoning of the message. Only the provider knows which items were one response: after lost or reordered lines,
// an item may appear in the wrong message. But a response is always in one turn.
func (d *draft) dropIDs(message change.Ref, reasoning bool) error {
	all := d.itemsOf(message.Message)
	if len(all) == 0 {
		return repair.ErrNoBlock
	}
	turn := d.turns[message.Message]
	for _, it := range slices.Backward(all) {
		if reasoning && it.kind == "reasoning" {
			if err := d.drop(it); err != nil {
				return err
			}
		}
	}
	for _, it := range append(d.itemsOf(message.Message), d.itemsOf(turn)...) { // a prompt may have an id, too
		raw, err := jsonedit.Remove(d.lines[it.at].raw, it.path("id")...)
		if err := d.put(it.at, raw, err); err != nil {
			return err
		}
	}
	delete(d.items, turn) // the next call for this turn has nothing to do
	d.cleared = true
	return nil
}

// moveAfterCall moves an output to the end of the response that has its call. It removes the ids of both turns, because
// the call, too, may be separated from its reasoning.
func (d *draft) moveAfterCall(b *request.Block) error {
	it, err := d.find(b)
	if err != nil || it.sub >= 0 {
		return repair.ErrNoEdit
	}
	call := lastLine(d.lines, func(l *line) bool {
		return l.kind == "response_item" && calls[l.subtype].output == it.kind && l.payload.TextAt("call_id") == b.ToolID
	})
	if call < 0 {
		return repair.ErrNoBlock
	}
	for _, group := range []string{it.group, d.lines[call].group()} {
		if err := d.dropIDs(d.c.ref(group), false); err != nil {
			return err
		}
	}
	moved, first := d.lines[it.at], d.lines[call].first
	d.lines[it.at] = line{gone: true}
	end := lastLine(d.lines, func(l *line) bool { return l.first == first })
	d.lines, d.items, d.renumber = slices.Insert(d.lines, end+1, moved), nil, true
	return nil
}

// RemoveCompaction implements [repair.Editor]. The lines before the newest compaction are still in the rollout, so the
// program sends them again.
func (d *draft) RemoveCompaction() (earlier int, err error) {
	earlier = -1
	for i := range d.lines {
		if d.lines[i].kind == "compacted" {
			earlier++
		}
	}
	if earlier < 0 {
		return 0, repair.ErrNotCompacted
	}
	d.lines[d.compaction()], d.items = line{gone: true}, nil
	return earlier, nil
}

// dropCopy removes the item of a block if an earlier item is identical.
func (d *draft) dropCopy(b *request.Block) error {
	it, err := d.find(b)
	if err != nil || !it.copied {
		return repair.ErrNoEdit
	}
	return d.drop(it)
}

// WithFolder returns the session in another folder. Records of earlier turns keep the old folder. Codex takes the folder
// from the newest settings when it rebuilds the index, and from there also the folders that its sandbox lets commands
// write to.
func (c *State) WithFolder(folder string) (*State, error) {
	at, id := metaOf(c.lines)
	if c.src.Partial || id != c.src.Ref.Session {
		return nil, fmt.Errorf("the rollout is cut short, or its first record cannot be read: "+
			"repair the session first, with mend fix %s", c.src.Ref.Session)
	}
	d := c.Edit().(*draft)
	for _, i := range []int{at, max(at, lastLine(c.lines, func(l *line) bool { return l.kind == "turn_context" }))} {
		d.setFolder(i, folder, "payload")
	}
	hasSettings := func(l *line) bool { return l.payload.TextAt("thread_settings", "cwd") != "" }
	if i := lastLine(c.lines, hasSettings); i >= 0 {
		d.setFolder(i, folder, "payload", "thread_settings")
	}
	d.setCol(change.TextCol("cwd", folder))
	return d.State().(*State), nil
}

// setFolder sets the folder in an object of a line, and in its list of folders the same folder and those below it.
func (d *draft) setFolder(i int, folder string, path ...string) {
	const roots = "runtime_workspace_roots"
	object := jsonedit.Parse(d.lines[i].raw)
	for _, name := range path {
		object = object.Get(name)
	}
	old, n := object.TextAt("cwd"), 0
	for v := range object.Get(roots).Elements() {
		root, _ := v.Text()
		if rest, ok := strings.CutPrefix(root, old); ok && old != "" && (rest == "" || rest[0] == '/') {
			_ = d.set(i, jsonedit.Quote(folder+rest), append(slices.Clone(path), roots, strconv.Itoa(n))...) // it exists
		}
		n++
	}
	_ = d.set(i, jsonedit.Quote(folder), append(slices.Clone(path), "cwd")...) // the path leads to an object
}
