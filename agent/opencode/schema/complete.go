package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"mend/agent/opencode/js"
	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/jsonedit"
)

// Changes has the paths of the values that a completion changed.
type Changes struct {
	Filled  []string // there was no value
	Altered []string // the value has another form and means the same
	Lost    []string // the value, or a part of it, was replaced or removed
}

// None reports whether the record was complete.
func (c Changes) None() bool { return len(c.Filled)+len(c.Altered)+len(c.Lost) == 0 }

// A Context has what a record gets from its session if it lacks it. An empty text is not
// known.
type Context struct {
	Ref             change.Ref // of the record
	Role            string
	Time            int64 // when it was made, in milliseconds since 1970
	Agent           string
	Provider, Model string
	Parent          string // the id of the prompt that is answered
	Folder          string // in which the agent worked
	CallID          string
	Updated         int64  // when the session changed last
	Project         string // the id of the session's project
}

// Complete returns data, an object, with every member valid for its type; all valid bytes
// stay. A member that is missing or cannot be converted gets the value of its source, else
// its default. The error says that there is neither.
func Complete(data []byte, t *Type, x Context) ([]byte, Changes, error) {
	c := &Completion{context: x, record: data}
	err := c.object(t, nil)
	return c.record, c.changes, err
}

// A Completion completes one record, or one value in it.
type Completion struct {
	context Context
	record  []byte // the record, or the value
	changes Changes

	dropped *[]string // the paths in the current value that were removed
}

// Drop records that the value at a path in the current value is removed.
func (c *Completion) Drop(path string) {
	if c.dropped != nil {
		*c.dropped = append(*c.dropped, path)
	}
}

// object completes the object at path, whose type is an Object or a Union.
func (c *Completion) object(t *Type, path []string) error {
	fields := t.Fields
	if t.Kind == Union {
		if t.By.Need != Optional {
			if err := c.field(t.By, path); err != nil {
				return err
			}
		}
		by, _ := jsonedit.Get(c.record, join(path, t.By.Name)...)
		name, _ := jsonedit.Text(by)
		fields = append(fields[:len(fields):len(fields)], t.Cases[name]...)
	}
	for i := range fields {
		if err := c.field(&fields[i], path); err != nil {
			return err
		}
	}
	return nil
}

// field completes a member of the object at path.
func (c *Completion) field(f *Field, above []string) error {
	path := join(above, f.Name)
	name := strings.Join(path, ".")
	raw, there := jsonedit.Get(c.record, path...)
	var to []byte
	fits := false
	var dropped []string
	if there {
		c.dropped = &dropped
		to, fits = f.keep(c, raw)
		c.dropped = nil
	}
	var err error
	switch {
	case fits && bytes.Equal(to, raw):
	case fits:
		for _, path := range dropped {
			c.changes.Lost = append(c.changes.Lost, name+"."+path)
		}
		if len(dropped) == 0 {
			c.changes.Altered = append(c.changes.Altered, name)
		}
		c.record, err = jsonedit.Set(c.record, to, path...)
	case f.Need == Optional:
		if there {
			c.note(name, f, raw)
			c.record, err = jsonedit.Remove(c.record, path...)
		}
		return wrap(name, err)
	default:
		to = c.fill(f)
		switch {
		case to == nil && f.Need == Always:
			return wrap(name, errors.New("its value is not known"))
		case to == nil && !there:
			return nil
		}
		c.note(name, f, raw)
		if to == nil {
			c.record, err = jsonedit.Remove(c.record, path...)
			return wrap(name, err)
		}
		c.record, err = jsonedit.Set(c.record, to, path...)
	}
	if err == nil && f.open() {
		return c.object(&f.Type, path)
	}
	return wrap(name, err)
}

func wrap(name string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// open reports whether the members of the value are completed one by one.
func (f *Field) open() bool {
	return f.Convert == nil && !f.Type.Exact && (f.Type.Kind == Object || f.Type.Kind == Union)
}

// keep returns raw as a valid value of the field, and whether that is possible.
func (f *Field) keep(c *Completion, raw []byte) ([]byte, bool) {
	switch {
	case f.Convert != nil:
		return f.Convert(c, raw)
	case f.open():
		return raw, raw[0] == '{'
	}
	return f.Type.keep(c, raw)
}

// fill returns a value for the missing field, nil if there is none.
func (c *Completion) fill(f *Field) []byte {
	if v := c.known(f.From); v != nil {
		return v
	}
	if f.Default == "" {
		return nil
	}
	return []byte(f.Default)
}

// known returns the value of a source, nil if it is not known.
func (c *Completion) known(from Source) []byte {
	x := &c.context
	text := map[Source]string{
		Role: x.Role, Agent: x.Agent, Provider: x.Provider, Model: x.Model, Parent: x.Parent,
		Folder: x.Folder, Project: x.Project, CallID: x.CallID,
		SessionID: x.Ref.Session, MessageID: x.Ref.Message,
		FileID: "prt_" + strings.TrimPrefix(x.Ref.Part, "prt_") + "_file",
		Status: statusOf(c.record), MIME: MIMEOf(c.record),
	}
	switch {
	case from == Created:
		return strconv.AppendInt(nil, x.Time, 10)
	case from == Updated:
		return strconv.AppendInt(nil, x.Updated, 10)
	case text[from] == "":
		return nil
	}
	return jsonedit.Quote(text[from])
}

// statusOf returns the status of a call without one.
func statusOf(call []byte) string {
	if out, ok := jsonedit.Get(call, "state", "output"); ok && out[0] != 'n' {
		return record.StatusCompleted
	}
	return record.StatusError
}

// MIMEOf returns the type in the data: URL of a file, "" if there is none.
func MIMEOf(file []byte) string {
	url, _ := jsonedit.Get(file, "url")
	text, _ := jsonedit.Text(url)
	head, isData := strings.CutPrefix(text, "data:")
	head, _, hasData := strings.Cut(head, ",")
	if !isData || !hasData {
		return ""
	}
	mime, _, _ := strings.Cut(head, ";")
	return mime
}

// note records that the value was, nil for none, is replaced or removed.
func (c *Completion) note(name string, f *Field, was []byte) {
	switch nothing := len(was) == 0 || was[0] == 'n'; {
	case nothing && f.Need == Optional:
		c.changes.Altered = append(c.changes.Altered, name)
	case nothing:
		c.changes.Filled = append(c.changes.Filled, name)
	default:
		c.changes.Lost = append(c.changes.Lost, name)
	}
}

// Value returns the object raw completed as a value of the type, and records what it
// removes. It returns false if that is not possible.
func (c *Completion) Value(raw []byte, t *Type) ([]byte, bool) {
	if raw[0] != '{' {
		return nil, false
	}
	inner := Completion{context: c.context, record: raw}
	if inner.object(t, nil) != nil {
		return nil, false
	}
	for _, path := range inner.changes.Lost {
		c.Drop(path)
	}
	return inner.record, true
}

// keep returns raw as a valid value of the type, and whether that is possible: raw itself
// if it is valid, or else a value that means the same.
func (t *Type) keep(c *Completion, raw []byte) ([]byte, bool) {
	switch {
	case t.Exact || t.Words != nil:
	case t.Kind == String:
		return keepText(raw)
	case t.Kind == List:
		return t.keepList(c, raw)
	case t.Kind == Map:
		return t.keepMap(c, raw)
	case t.Fields != nil || t.By != nil:
		return c.Value(raw, t)
	}
	return raw, t.valid(raw)
}

// valid reports whether raw, which is JSON, is a valid value of the type.
func (t *Type) valid(raw []byte) bool {
	v := js.Parse(raw)
	if v.Kind() == 0 || t.Check(v) != "" {
		return false
	}
	return t.Kind != Name || !js.Blank(textOf(v))
}

// keepText returns a number, a boolean, an object or a list as a string with its text.
func keepText(raw []byte) ([]byte, bool) {
	switch raw[0] {
	case '"':
		return raw, true
	case 'n':
		return nil, false
	}
	var b bytes.Buffer
	err := json.Compact(&b, raw)
	return jsonedit.Quote(b.String()), err == nil
}

// keepList keeps the valid items, and completes items.
func (t *Type) keepList(c *Completion, raw []byte) ([]byte, bool) {
	var items []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &items) != nil {
		return nil, false
	}
	same, kept := true, []string{}
	for i, item := range items {
		to, ok := t.keepElem(c, strconv.Itoa(i), item)
		same = same && ok && bytes.Equal(to, item)
		if ok {
			kept = append(kept, string(to))
		}
	}
	if same {
		return raw, true
	}
	return []byte("[" + strings.Join(kept, ",") + "]"), true
}

// keepMap keeps the valid members, and completes members.
func (t *Type) keepMap(c *Completion, raw []byte) ([]byte, bool) {
	to, err := jsonedit.EditMembers(raw, func(name string, v []byte) ([]byte, bool) {
		if name == t.Except {
			return v, true
		}
		return t.keepElem(c, name, v)
	})
	return to, err == nil
}

// keepElem is keep for an element. It records what it removes with the element's name in
// the path. Removing null is no loss.
func (t *Type) keepElem(c *Completion, name string, raw []byte) ([]byte, bool) {
	outer := c.dropped
	var below []string
	c.dropped = &below
	to, ok := t.Elem.keep(c, raw)
	c.dropped = outer
	if !ok && raw[0] != 'n' {
		c.Drop(name)
	}
	for _, path := range below {
		if ok {
			c.Drop(name + "." + path)
		}
	}
	return to, ok
}

func join(path []string, name string) []string { return append(path[:len(path):len(path)], name) }
