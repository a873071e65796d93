package diagnose

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"mend/agent/claude/transcript"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/request"
	"mend/repair"
)

var (
	_ repair.Editor = (*draft)(nil)
	_ repair.State  = (*State)(nil)
)

// Messages implements [repair.State].
func (c *State) Messages() (refs []change.Ref) {
	for _, r := range c.linked.Chain {
		if r.IsMessage() {
			refs = append(refs, c.ref(r))
		}
	}
	return refs
}

// Prompts implements [repair.State].
func (c *State) Prompts() (refs []change.Ref) {
	for _, r := range c.linked.Chain {
		if r.IsPrompt() {
			refs = append(refs, c.ref(r))
		}
	}
	return refs
}

// Stored implements [repair.State]. It returns the record, or the whole answer that the record is part of.
func (c *State) Stored(ref change.Ref) repair.Stored {
	r := c.linked.Record(ref.Message)
	if r == nil {
		return repair.Stored{}
	}
	if images := r.AttachedImages(); len(images) > 0 {
		for _, image := range images {
			image.Source = &ref
		}
		return repair.Stored{Ref: ref, Role: change.RoleUser, Steps: [][]*request.Block{images}}
	}
	if !r.IsMessage() {
		return repair.Stored{}
	}
	m, id := c.newest, ""
	if r.Type == transcript.Assistant {
		id = r.MessageID
	}
	if id == "" || id != c.newestID {
		var step []*request.Block
		for _, x := range c.answer(r) {
			step = append(step, c.blocksOf(x)...)
		}
		m = repair.Stored{Steps: [][]*request.Block{step}}.WithIndex()
		c.newest, c.newestID = m, id
	}
	m.Ref, m.Role, m.Summary = ref, r.Role(), r.Summary
	return m
}

// blocksOf returns copies of a record's stored blocks, which name the record.
func (c *State) blocksOf(r *transcript.Record) (all []*request.Block) {
	source := c.ref(r)
	for _, b := range r.Blocks() {
		block := b.Block
		block.Source = &source
		all = append(all, &block)
	}
	return all
}

// answer returns the records of the answer that a record is part of; a prompt is a single record.
func (c *State) answer(r *transcript.Record) []*transcript.Record {
	if r.Type != transcript.Assistant || r.MessageID == "" {
		return []*transcript.Record{r}
	}
	if c.answers == nil {
		c.answers = map[string][]*transcript.Record{}
		for _, x := range c.linked.Chain {
			if x.Type == transcript.Assistant && x.MessageID != "" && x.Sendable() > 0 {
				c.answers[x.MessageID] = append(c.answers[x.MessageID], x)
			}
		}
	}
	return c.answers[r.MessageID]
}

// Remove implements [repair.Editor]. A record without other blocks becomes a note.
func (d *draft) Remove(b *request.Block) error {
	uuid := b.Ref().Message
	if !d.c.canEdit(uuid) {
		return repair.ErrNoEdit
	}
	if n, _ := jsonedit.Elements(d.raw(uuid), "message", "content"); len(n) <= 1 {
		return d.retire(uuid)
	}
	at, err := d.draftIndex(uuid, b.Index)
	if err != nil {
		return err
	}
	raw, err := jsonedit.Remove(d.raw(uuid), "message", "content", strconv.Itoa(at))
	if err == nil {
		d.set(uuid, raw)
		d.remove(uuid, b.Index)
	}
	return err
}

// SetAside implements [repair.Editor]. It removes the lines of the record; its children get its parent.
func (d *draft) SetAside(record change.Ref) error {
	uuid := record.Message
	at, stored := d.c.base.last[uuid]
	if !stored || change.ValidateID(uuid) != nil || len(d.c.base.lines[at].Rest) > 0 ||
		d.c.base.lines[at].Record.IsBoundary() {
		return repair.ErrNoEdit
	}
	d.undo = append(d.undo, func() { delete(d.edits.aside, uuid) })
	d.edits.aside[uuid] = true
	return nil
}

func (d *draft) ReplaceText(b *request.Block, text string) error {
	if r := d.c.linked.Record(b.Ref().Message); r != nil && r.Type == transcript.Attachment {
		return d.replaceAttached(r.UUID, b.Index, text)
	}
	return d.editContent(b.Ref().Message, b.Index, func(raw []byte) ([]byte, error) {
		if len(raw) > 0 && raw[0] == '"' {
			return jsonedit.Quote(text), nil
		}
		return textBlock(text), nil
	})
}

func (d *draft) SetText(b *request.Block, text string) error { return d.ReplaceText(b, text) }

func (d *draft) ReplaceFiles(b *request.Block, files []*request.Block, happened string) error {
	if b.Type != request.ToolResult {
		return d.ReplaceText(b, lostFile(b, happened))
	}
	shown, _ := jsonedit.Get(d.raw(b.Ref().Message), shownResult)
	for i, inner := range b.Content {
		isFile := inner.Type == request.Image || inner.Type == request.Document
		if !slices.Contains(files, inner) && (files != nil || !isFile) {
			continue
		}
		err := d.editBlock(b, func(file []byte) ([]byte, error) {
			if data, ok := jsonedit.Get(file, "source", "data"); ok && len(data) > len(`""`) {
				shown = bytes.ReplaceAll(shown, data, []byte(`""`))
			}
			return textBlock(lostFile(inner, happened)), nil
		}, "content", strconv.Itoa(i))
		if err != nil {
			return err
		}
	}
	if old, ok := jsonedit.Get(d.raw(b.Ref().Message), shownResult); ok && !bytes.Equal(old, shown) {
		return d.setMember(b.Ref().Message, shown, shownResult)
	}
	return nil
}

// replaceAttached puts a text in place of an image of a prompt that waited for the end of an answer, or turns the record
// of a mentioned file into a message with that text.
func (d *draft) replaceAttached(uuid string, index int, text string) error {
	if !d.c.canEdit(uuid) {
		return repair.ErrNoEdit
	}
	if _, ok := jsonedit.Get(d.raw(uuid), "attachment", "prompt"); ok {
		return d.setMember(uuid, textBlock(text), "attachment", "prompt", strconv.Itoa(index))
	}
	raw, err := jsonedit.Remove(d.raw(uuid), "attachment")
	if err != nil {
		return err
	}
	d.set(uuid, raw)
	const message = `{"role":"user","content":%s}`
	return errors.Join(d.setMember(uuid, []byte(`"user"`), "type"), d.setMember(uuid, []byte("true"), "isMeta"),
		d.setMember(uuid, fmt.Appendf(nil, message, jsonedit.Quote(text)), "message"))
}

// shownResult is the member of a record with the result as the screen shows it. Its copy of the files is never sent.
const shownResult = "toolUseResult"

func (d *draft) MoveFirst(b *request.Block) error {
	r := d.c.linked.Record(b.Ref().Message)
	if r == nil {
		return repair.ErrNoBlock
	}
	rs := d.c.answer(r)
	if slices.ContainsFunc(rs, func(x *transcript.Record) bool { return len(x.Blocks()) != 1 || !d.c.canEdit(x.UUID) }) {
		return repair.ErrNoEdit
	}
	return d.thinkFirst(rs)
}

// thinkFirst orders the contents of an answer's records: thinking, text, calls.
func (d *draft) thinkFirst(rs []*transcript.Record) error {
	order := slices.Clone(rs)
	request.MoveFirst(order, func(r *transcript.Record) bool {
		return slices.ContainsFunc(r.Blocks(), func(b *transcript.Block) bool { return b.IsThinking() })
	})
	for i, r := range rs {
		if bytes.Equal(order[i].Content(), r.Content()) {
			continue
		}
		if err := d.reorder(r, order[i].Content()); err != nil {
			return err
		}
	}
	return nil
}

func (d *draft) InsertPrompt(before change.Ref, text string) error {
	first := d.c.linked.Record(before.Message)
	if first == nil {
		return repair.ErrNoBlock
	}
	uuid := newID("prompt before " + first.UUID)
	const prompt = `{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":%s},` +
		`"isMeta":false,"uuid":%s`
	raw := newRecord(first, prompt, jsonedit.Quote(text), jsonedit.Quote(uuid))
	d.add(uuid, raw)
	return d.setParent(first.UUID, uuid)
}

// newID returns an id derived from a text.
func newID(text string) string {
	sum := sha256.Sum256([]byte(text))
	h := hex.EncodeToString(sum[:16])
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-8" + h[17:20] + "-" + h[20:32]
}

// newRecord returns a record that begins with the formatted text. It copies the fields that every record has from r.
func newRecord(r *transcript.Record, format string, args ...any) []byte {
	out := fmt.Appendf(nil, format, args...)
	for _, name := range []string{"timestamp", "userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch"} {
		if raw, ok := jsonedit.Get(r.Raw, name); ok {
			out = fmt.Appendf(out, ",%q:%s", name, raw)
		}
	}
	return append(out, '}')
}

func (d *draft) SetCallID(call *request.Block, results []*request.Block, id string) error {
	for _, b := range append([]*request.Block{call}, results...) {
		name := "id"
		if b.Type == request.ToolResult {
			name = "tool_use_id"
		}
		if err := d.setInBlock(b, name, jsonedit.Quote(id)); err != nil {
			return err
		}
	}
	return nil
}

func (d *draft) SetToolName(call *request.Block, name string) error {
	return d.setInBlock(call, "name", jsonedit.Quote(name))
}

func (d *draft) SetInput(call *request.Block, input []byte) error {
	return d.setInBlock(call, "input", input)
}

func (d *draft) SetResult(b *request.Block, text string) error {
	r := d.c.linked.Record(b.Ref().Message)
	// Claude Code adds some results itself.
	if r == nil || b.Index >= len(r.Blocks()) || r.Blocks()[b.Index].Type != request.ToolResult {
		return repair.ErrNoEdit
	}
	return d.setInBlock(b, "content", jsonedit.Quote(text))
}

func (d *draft) ClearResult(b *request.Block) error { return d.SetResult(b, request.Cleared) }

// editBlock edits the JSON of a block, or of the value at a path in it.
func (d *draft) editBlock(b *request.Block, edit func(raw []byte) ([]byte, error), path ...string) error {
	return d.editContent(b.Ref().Message, b.Index, edit, path...)
}

func (d *draft) setInBlock(b *request.Block, name string, value []byte) error {
	return d.editBlock(b, func(raw []byte) ([]byte, error) { return jsonedit.Set(raw, value, name) })
}

func textBlock(text string) []byte {
	return append(append([]byte(`{"type":"text","text":`), jsonedit.Quote(text)...), '}')
}

// editContent edits one block of a record, or the value at a path in it, or the record's content if it is a string.
func (d *draft) editContent(uuid string, index int, edit func(raw []byte) ([]byte, error), path ...string) error {
	if !d.c.canEdit(uuid) {
		return repair.ErrNoEdit
	}
	content, ok := jsonedit.Get(d.raw(uuid), "message", "content")
	if !ok {
		return repair.ErrNoBlock
	}
	if content[0] != '"' {
		at, err := d.draftIndex(uuid, index)
		if err != nil {
			return err
		}
		path = append([]string{strconv.Itoa(at)}, path...)
	}
	raw, err := jsonedit.Edit(d.raw(uuid), edit, append([]string{"message", "content"}, path...)...)
	if err == nil {
		d.set(uuid, raw)
	}
	return err
}

func (d *draft) setMember(uuid string, value []byte, path ...string) error {
	raw, err := jsonedit.Set(d.raw(uuid), value, path...)
	if err == nil {
		d.set(uuid, raw)
	}
	return err
}

// retire turns a record into a note that is not sent.
func (d *draft) retire(uuid string) error {
	return errors.Join(d.setMember(uuid, []byte(`"system"`), "type"),
		d.setMember(uuid, []byte(`"informational"`), "subtype"), d.setMember(uuid, []byte("true"), "isMeta"))
}

// editBlock returns a fix that edits the JSON of a block, or of the value at a path in it.
func editBlock(b *transcript.Block, text, loses string, edit func(raw []byte) ([]byte, error),
	path ...string,
) repair.Fix {
	return repair.Fix{
		Text: text, Loses: loses, Alike: true,
		Edit: func(d repair.Editor) error { return d.(*draft).editBlock(&b.Block, edit, path...) },
	}
}
