package diagnose

import (
	"errors"

	"mend/jsonedit"
	"mend/repair"
)

var errNoBlock = errors.New("no such block")

// editBlock returns a fix that edits the JSON of a block.
func editBlock(b sentBlock, text, loses string, edit func(raw []byte) ([]byte, error)) repair.Fix {
	return repair.Fix{Text: text, Loses: loses, Alike: true, Edit: func(d repair.Draft) error {
		return d.(*draft).editContent(b.record.UUID, b.Index, edit)
	}}
}

// replaceText returns a fix that puts a text in place of a block.
func replaceText(b sentBlock, text, does string) repair.Fix {
	loses := ""
	if b.Type != "text" {
		loses = "the block"
	}
	return editBlock(b, does, loses, func(raw []byte) ([]byte, error) {
		if len(raw) > 0 && raw[0] == '"' {
			return jsonedit.Quote(text), nil
		}
		return textBlock(text), nil
	})
}

func textBlock(text string) []byte {
	return append(append([]byte(`{"type":"text","text":`), jsonedit.Quote(text)...), '}')
}

// removeBlock returns a fix that removes a block, and with it a record that has no other.
func removeBlock(b sentBlock) repair.Fix {
	return repair.Fix{Text: "The block is not sent any more.", Loses: "the block, for the model", Alike: true, Edit: func(d repair.Draft) error {
		if len(b.record.Blocks()) == 1 {
			return d.(*draft).retire(b.record.UUID)
		}
		i := -1
		raw, err := jsonedit.RemoveElements(d.(*draft).raw(b.record.UUID), func([]byte) bool { i++; return i == b.Index }, "message", "content")
		if err == nil {
			d.(*draft).set(b.record.UUID, raw)
		}
		return err
	}}
}

// editContent edits one block of a record, or its content if that is a string.
func (d *draft) editContent(uuid string, index int, edit func(raw []byte) ([]byte, error)) error {
	raw := d.raw(uuid)
	content, ok := jsonedit.Get(raw, "message", "content")
	if !ok {
		return errNoBlock
	}
	var to []byte
	var err error
	if content[0] == '"' {
		to, err = edit(content)
	} else {
		to, err = editElement(content, index, edit)
	}
	if err != nil {
		return err
	}
	if raw, err = jsonedit.Set(raw, to, "message", "content"); err == nil {
		d.set(uuid, raw)
	}
	return err
}

// editElement edits one element of a list.
func editElement(list []byte, index int, edit func(raw []byte) ([]byte, error)) ([]byte, error) {
	i, err := -1, error(nil)
	out := jsonedit.EditElements(list, func(raw []byte) []byte {
		if i++; i != index {
			return raw
		}
		to, e := edit(raw)
		if err = e; e != nil {
			return raw
		}
		return to
	})
	if i < index {
		return nil, errNoBlock
	}
	return out, err
}

// editInner edits one element of a result's content.
func editInner(raw []byte, index int, edit func([]byte) []byte) ([]byte, error) {
	content, ok := jsonedit.Get(raw, "content")
	if !ok {
		return nil, errNoBlock
	}
	to, err := editElement(content, index, func(in []byte) ([]byte, error) { return edit(in), nil })
	if err != nil {
		return nil, err
	}
	return jsonedit.Set(raw, to, "content")
}

// setMember gives a record another value of a member.
func (d *draft) setMember(uuid, name string, value []byte) error {
	raw, err := jsonedit.Set(d.raw(uuid), value, name)
	if err == nil {
		d.set(uuid, raw)
	}
	return err
}

// retire makes a record a note that is not sent.
func (d *draft) retire(uuid string) error {
	raw := d.raw(uuid)
	for _, f := range []struct{ name, value string }{{"type", `"system"`}, {"subtype", `"informational"`}, {"isMeta", "true"}} {
		var err error
		if raw, err = jsonedit.Set(raw, []byte(f.value), f.name); err != nil {
			return err
		}
	}
	d.set(uuid, raw)
	return nil
}
