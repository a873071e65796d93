package diagnose

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mend/agent/opencode/record"
	"mend/agent/opencode/schema"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/request"
	"mend/repair"
)

var (
	_ repair.Editor = (*draft)(nil)
	_ repair.State  = (*simulation)(nil)
)

func (c *simulation) Messages() []change.Ref {
	refs := make([]change.Ref, len(c.s.Messages))
	for i := range c.s.Messages {
		refs[i] = c.s.Messages[i].Ref
	}
	return refs
}

func (c *simulation) Prompts() (refs []change.Ref) {
	for i := range c.s.Messages {
		if c.s.Messages[i].Role == change.RoleUser {
			refs = append(refs, c.s.Messages[i].Ref)
		}
	}
	return refs
}

func (c *simulation) Stored(ref change.Ref) repair.Stored {
	m := c.message(ref)
	if m == nil {
		return repair.Stored{}
	}
	if c.stored.Ref == m.Ref {
		return c.stored
	}
	c.stored = repair.Stored{Ref: m.Ref, Role: m.Role, Summary: c.replaces(m)}
	for step := range m.Steps() {
		var blocks []*request.Block
		for i := range step {
			if b := blockOf(m, &step[i]); b != nil {
				blocks = append(blocks, b)
			}
		}
		c.stored.Steps = append(c.stored.Steps, blocks)
	}
	c.stored = c.stored.WithIndex()
	return c.stored
}

// blockOf returns the block of a part, nil if it is never sent.
func blockOf(m *record.Message, p *record.Part) *request.Block {
	b := &request.Block{Source: &p.Ref, Text: p.Text, Signature: p.Signature, ToolID: p.CallID, ToolName: p.Tool}
	for _, path := range itemPaths(p) {
		b.ItemID = textAt(p.Data, path...)
	}
	switch {
	case p.IsMalformed() || p.Ignored && m.Role == change.RoleUser:
		return nil
	case p.IsThinking():
		b.Type = request.Thinking
		b.Reference = b.ItemID != "" && len(hiddenPaths(p)) == 0
	case p.Type == record.TypeText:
		b.Type = request.Text
	case p.IsTool():
		b.Type = request.ToolUse
		b.Input, _ = jsonedit.Get(p.Data, "state", "input")
		if b.Error = p.Status == record.StatusError; b.Error {
			b.Output, _ = jsonedit.Get(p.Data, "state", "error")
		} else if p.Status == record.StatusCompleted {
			b.Output, _ = jsonedit.Get(p.Data, "state", "output")
		}
	case p.Type == record.TypeToolResult:
		b.Type = request.ToolResult
	case m.Role != change.RoleUser:
		return nil
	case p.Type == record.TypeFile:
		b.Type = request.Document
		b.Mime, b.Name = textAt(p.Data, "mime"), textAt(p.Data, "filename")
	case p.Type == "subtask" || p.Type == "compaction":
		b.Type = request.BlockType(p.Type)
	default:
		return nil
	}
	return b
}

func (d *draft) Remove(b *request.Block) error { return d.remove(b.Ref()) }

func (d *draft) SetAside(record change.Ref) error {
	if record.Kind == change.KindPart {
		return d.remove(record)
	}
	i := d.index.indexOf(record)
	if i < 0 {
		return repair.ErrNoBlock
	}
	d.removeMessage(i)
	return nil
}

func (d *draft) ReplaceText(b *request.Block, text string) error {
	_, p, err := d.part(b.Ref())
	switch {
	case err != nil:
		return err
	case p.Type == record.TypeText:
		return p.ReplaceText(text)
	}
	p.BecomeText(text)
	return nil
}

func (d *draft) SetText(b *request.Block, text string) error {
	return d.set(b.Ref(), jsonedit.Quote(text), "text")
}

func (d *draft) MoveFirst(b *request.Block) error {
	m, err := d.message(b.Ref())
	if err != nil {
		return err
	}
	return m.MoveThinkingFirst(b.Ref())
}

// SplitBefore implements [repair.Editor]: it adds a step-start before each of the parts.
func (d *draft) SplitBefore(blocks ...*request.Block) error {
	m, err := d.message(blocks[0].Ref())
	if err != nil {
		return err
	}
	for _, b := range blocks {
		id, err := idBefore(m, b)
		if err != nil {
			return err
		}
		m.Insert(d.s.NewStepStart(m, id))
	}
	return nil
}

// idBefore returns a free id for a part before the block.
func idBefore(m *record.Message, b *request.Block) (string, error) {
	i := searchPart(m.Parts, b.Ref())
	if i < 1 {
		return "", errors.New("it is the first part")
	}
	return idAfter(m, m.Parts[i-1].ID)
}

func (d *draft) InsertText(after *request.Block, text string) error {
	m, p, err := d.part(after.Ref())
	if err != nil {
		return err
	}
	id := p.ID
	if m, err = d.message(m.Ref); err != nil {
		return err
	}
	return d.injectAfter(m, id, text)
}

// FillMessage implements [repair.Editor]. It adds the text after the thinking, or else after the start of the last
// step, or else after any other part.
func (d *draft) FillMessage(ref change.Ref, text string) error {
	m, err := d.message(ref)
	if err != nil {
		return err
	}
	if len(m.Parts) == 0 || m.Role == change.RoleUser {
		return d.inject(m, m.FirstPartID(), text)
	}
	last := &m.Parts[len(m.Parts)-1]
	for _, matches := range [...]func(*record.Part) bool{
		(*record.Part).IsThinking,
		func(p *record.Part) bool { return p.Type == record.TypeStepStart },
	} {
		if p := lastOf(m.Parts, matches); p != nil {
			last = p
			break
		}
	}
	return d.injectAfter(m, last.ID, text)
}

func (d *draft) AddStep(ref change.Ref, text string) error {
	m, err := d.message(ref)
	if err != nil {
		return err
	}
	if len(m.Parts) == 0 {
		return fmt.Errorf("%s: no parts", m.ID)
	}
	id, err := idAfter(m, m.Parts[len(m.Parts)-1].ID)
	if err != nil {
		return err
	}
	m.Insert(d.s.NewStepStart(m, id))
	return d.inject(m, id+"_1", text)
}

func (d *draft) InsertThinking(call *request.Block, text string) error {
	m, err := d.message(call.Ref())
	if err != nil {
		return err
	}
	id, err := idBefore(m, call)
	if err == nil {
		m.Insert(d.s.NewReasoning(m, id, text))
	}
	return err
}

func (d *draft) InsertPrompt(before change.Ref, text string) error {
	answer, err := d.message(before)
	if err != nil {
		return err
	}
	id, ok := answer.IDBefore()
	if !ok || d.s.Message(id) != nil {
		return fmt.Errorf("%s: no id for a prompt sorts before it", before)
	}
	m, ok := d.s.NewPrompt(answer, id)
	if !ok {
		return errors.New("no message names a model")
	}
	d.s.InjectText(&m, m.FirstPartID(), text)
	d.s.InsertMessage(m)
	return nil
}

// SetCallID implements [repair.Editor]. A call and its result are one record.
func (d *draft) SetCallID(call *request.Block, _ []*request.Block, id string) error {
	return d.set(call.Ref(), jsonedit.Quote(id), "callID")
}

func (d *draft) SetToolName(call *request.Block, name string) error {
	return d.set(call.Ref(), jsonedit.Quote(name), "tool")
}

func (d *draft) SetInput(call *request.Block, input []byte) error {
	return d.set(call.Ref(), input, "state", "input")
}

func (d *draft) SetResult(call *request.Block, text string) error {
	_, p, err := d.part(call.Ref())
	if err != nil {
		return err
	}
	path := []string{"state", "output"}
	if p.Status == record.StatusError {
		path = []string{"state", "error"}
		if raw, _ := jsonedit.Get(p.Data, "state", "metadata", "interrupted"); string(raw) == "true" {
			path = []string{"state", "metadata", "output"} // the output until the interruption
		}
	}
	return p.Set(jsonedit.Quote(text), path...)
}

// ClearResult implements [repair.Editor] in the same way as OpenCode clears outputs: they stay in the store. A plan
// must not depend on a clock, so the recorded time is the end of the call.
func (d *draft) ClearResult(call *request.Block) error {
	_, p, err := d.part(call.Ref())
	switch {
	case err != nil:
		return err
	case !p.IsTool() || p.Status != record.StatusCompleted:
		return fmt.Errorf("%s: no result that OpenCode clears", call.Ref())
	}
	return p.Set(strconv.AppendInt(nil, max(p.End, p.Start, 1), 10), "state", "time", "compacted")
}

// FailCall implements [repair.Editor]. It sets every field that a failed call must have; other fields stay. A call and
// its result are one record, so no part is added.
func (d *draft) FailCall(call *request.Block, text string) error {
	m, p, err := d.part(call.Ref())
	switch {
	case err != nil:
		return err
	case p.Call() == "":
		return errors.New("the call has no id of its own")
	}
	data, err := jsonedit.Set(p.Data, jsonedit.Quote(record.StatusError), "state", "status")
	if err == nil {
		data, err = jsonedit.Set(data, jsonedit.Quote(text), "state", "error")
	}
	if err == nil {
		data, _, err = schema.Complete(data, schema.Part, recordContext{m: m, p: p}.partContext())
	}
	if err != nil {
		return fmt.Errorf("part %s: %w", p.ID, err)
	}
	*p = record.NewPart(withData(p.Record, data))
	return nil
}

func (d *draft) DropItemIDs(ref change.Ref) error {
	m, err := d.message(ref)
	if err != nil {
		return err
	}
	for i := range m.Parts {
		if err := unsetAll(&m.Parts[i], itemPaths(&m.Parts[i])); err != nil {
			return err
		}
	}
	return nil
}

func (d *draft) DropHidden(b *request.Block) error {
	_, p, err := d.part(b.Ref())
	if err != nil {
		return err
	}
	paths := hiddenPaths(p)
	if len(paths) == 0 {
		return fmt.Errorf("%s: nothing hidden", b.Ref())
	}
	return unsetAll(p, paths)
}

func (d *draft) CorrectType(b *request.Block) error {
	_, p, err := d.part(b.Ref())
	if err != nil {
		return err
	}
	if p.Type == record.TypeFile {
		data, ok := withType(p.Data)
		if !ok {
			return fmt.Errorf("%s: no image with another type", b.Ref())
		}
		*p = record.NewPart(withData(p.Record, data))
		return nil
	}
	files, _ := jsonedit.Get(p.Data, "state", "attachments")
	changed := false
	files = jsonedit.EditElements(files, func(raw []byte) []byte {
		to, ok := withType(raw)
		changed = changed || ok
		return to
	})
	if !changed {
		return fmt.Errorf("%s: no image with another type", b.Ref())
	}
	return p.Set(files, "state", "attachments")
}

// WriteInPlace implements [repair.Editor]. It does nothing, because all edits are made in place.
func (d *draft) WriteInPlace() error { return nil }

func (d *draft) ReplaceFiles(b *request.Block, files []*request.Block, happened string) error {
	_, p, err := d.part(b.Ref())
	switch {
	case err != nil:
		return err
	case p.Type == record.TypeFile:
		p.BecomeText(lineFor(p.Data, happened))
		return nil
	case p.Type != record.TypeTool:
		return fmt.Errorf("%s: no file", b.Ref())
	}
	return detach(p, func(raw []byte) bool {
		return files == nil || slices.ContainsFunc(files, func(f *request.Block) bool { return isFile(f, raw) })
	}, happened)
}

// isFile reports whether a file of a request comes from the stored file.
func isFile(f *request.Block, raw []byte) bool {
	url := textAt(raw, "url")
	_, data, ok := strings.Cut(url, ",")
	return f.URL != "" && f.URL == url || ok && string(f.Data) == data
}

// detach removes files from the result of a call, and adds a line for each to its output.
func detach(p *record.Part, drop func(raw []byte) bool, happened string) error {
	var lines []string
	if raw, ok := jsonedit.Get(p.Data, "state", "output"); ok && raw[0] == '"' && len(raw) > 2 {
		lines = append(lines, jsonedit.Unquote(raw))
	}
	kept := len(lines)
	files, _ := jsonedit.Elements(p.Data, "state", "attachments")
	removed := make([]bool, len(files))
	for i, raw := range files {
		if removed[i] = drop(raw); removed[i] {
			lines = append(lines, lineFor(raw, happened))
		}
	}
	var err error
	switch len(lines) - kept {
	case 0:
		return fmt.Errorf("%s: no such attachment", p.Ref)
	case len(files):
		err = p.Unset("state", "attachments")
	default:
		at := -1
		err = p.DropElements(func([]byte) bool { at++; return removed[at] }, "state", "attachments")
	}
	if err != nil {
		return err
	}
	return p.Set(jsonedit.Quote(strings.Join(lines, "\n")), "state", "output")
}
