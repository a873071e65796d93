package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mend/agent/opencode/js"
	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/request"
)

// Changes has the paths of the values that a completion changed.
type Changes struct {
	Filled  []string // the value was missing
	Altered []string // the value was converted and means the same
	Lost    []string // the value, or a part of it, was replaced or removed
}

// None reports whether the record was complete.
func (c Changes) None() bool { return len(c.Filled)+len(c.Altered)+len(c.Lost) == 0 }

// A Context has the values of the table's sources: values from the session for a record that lacks them. "" means
// unknown.
type Context struct {
	Ref             change.Ref // of the record
	Role            string
	Time            int64 // when the record was created, in milliseconds since 1970
	Agent           string
	Provider, Model string
	Parent          string // the id of the answered prompt
	Folder          string // where the agent worked
	CallID          string
	Updated         int64  // when the session changed last
	Project         string // the id of the session's project
}

// Complete returns data, an object, with every member made valid for the shape; all valid bytes stay. A member that is
// missing or cannot be converted gets the value of its source, or else its default. If it has neither, Complete returns
// an error.
func Complete(data []byte, name string, x Context) ([]byte, Changes, error) {
	c := &completion{Context: x, record: data}
	data, err := c.object(data, shapes()[name], "")
	return data, c.Changes, err
}

// A completion completes a record.
type completion struct {
	Context
	Changes
	record []byte
}

// object returns an object with the fields of a shape.
func (c *completion) object(obj []byte, s *shape, path string) (_ []byte, err error) {
	fields := s.fields
	if s.key != nil {
		if s.key.need != optional {
			if obj, err = c.member(obj, s.key, path); err != nil {
				return nil, err
			}
		}
		by, _ := jsonedit.Get(obj, s.key.name)
		name, _ := jsonedit.Text(by)
		fields = slices.Concat(fields, s.cases[name])
	}
	for i := range fields {
		if obj, err = c.member(obj, &fields[i], path); err != nil {
			return nil, err
		}
	}
	return obj, nil
}

// member completes a field of an object.
func (c *completion) member(obj []byte, f *field, above string) ([]byte, error) {
	t, path, before := &f.checks[0].fieldType, above+f.name, c.Changes
	raw, there := jsonedit.Get(obj, f.name)
	to, ok := raw, false
	if there {
		to, ok = c.value(raw, t, path)
	}
	if !ok {
		c.Changes = before
		switch empty := !there || raw[0] == 'n'; {
		case empty && f.need == optional:
			c.Altered = append(c.Altered, path)
		case empty:
			c.Filled = append(c.Filled, path)
		default:
			c.Lost = append(c.Lost, path)
		}
		if to = c.fill(f); to != nil && to[0] == '{' {
			if to, ok = c.value(to, t, path); !ok {
				to = nil
			}
		}
		switch {
		case to == nil && f.need == always:
			return nil, fmt.Errorf("%s: its value is not known", path)
		case to == nil && !there:
			c.Changes = before
			return obj, nil
		case to == nil:
			return jsonedit.Remove(obj, f.name)
		}
	}
	if bytes.Equal(to, raw) {
		return obj, nil
	}
	return jsonedit.Set(obj, to, f.name)
}

// value returns raw if it is a valid value of the type, or else a valid value that means the same. ok is false if
// no such value exists.
func (c *completion) value(raw []byte, t *fieldType, path string) (to []byte, ok bool) {
	switch {
	case t.exact:
	case t.kind == "str" && t.words == nil:
		to, ok = keepText(raw)
	case t.kind == "input":
		to, ok = request.InputObject(raw), raw[0] != 'n'
	case t.kind == "error" || t.kind == "retried":
		return c.failure(raw, t, path)
	case t.kind == "(":
		if raw[0] != '{' {
			return nil, false
		}
		to, err := c.object(raw, t.shape, path+".")
		return to, err == nil
	case t.kind == "[" || t.kind == "{":
		return c.elements(raw, t, path)
	}
	switch {
	case !ok: // no conversion exists
		v := js.Parse(raw)
		return raw, v.Exists() && t.check(v) == "" && (t.kind != "name" || !js.Blank(textOf(v)))
	case !bytes.Equal(to, raw):
		c.Altered = append(c.Altered, path)
	}
	return to, true
}

// elements keeps the valid elements of a list or a map, and completes the others. Removing null is
// no loss.
func (c *completion) elements(raw []byte, t *fieldType, path string) ([]byte, bool) {
	if string(raw[:1]) != t.kind {
		return nil, false
	}
	keep := func(name string, in []byte) ([]byte, bool) {
		if t.elem.kind == "provider" && name == ProviderExecuted {
			return in, true
		}
		before := c.Changes
		to, ok := c.value(in, t.elem, path+"."+name)
		if !ok {
			if c.Changes = before; in[0] != 'n' {
				c.Lost = append(c.Lost, path+"."+name)
			} else {
				c.Altered = append(c.Altered, path)
			}
		}
		return to, ok
	}
	if t.kind == "{" {
		to, err := jsonedit.EditMembers(raw, keep)
		return to, err == nil
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return nil, false
	}
	same, kept := true, []string{}
	for i, item := range items {
		to, ok := keep(strconv.Itoa(i), item)
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

// failure completes an error with a known name. Any other error becomes an UnknownError with its text, except in a
// retry, whose error must be an APIError.
func (c *completion) failure(raw []byte, t *fieldType, path string) ([]byte, bool) {
	if slices.Contains([]string{"null", "false", "0", `""`}, string(raw)) {
		return nil, false // not an error at all
	}
	by, _ := jsonedit.Get(raw, "name")
	name, _ := jsonedit.Text(by)
	_, known := t.shape.cases[name]
	if !known && t.kind == "retried" {
		return nil, false
	}
	if before := c.Changes; known {
		if to, err := c.object(raw, t.shape, path+"."); err == nil {
			return to, true
		}
		c.Changes = before
	}
	text, ok := keepText(raw)
	c.Altered = append(c.Altered, path)
	return fmt.Appendf(nil, `{"name":"UnknownError","data":{"message":%s}}`, text), ok
}

// fill returns a value for the missing field, or nil.
func (c *completion) fill(f *field) []byte {
	if f.need == optional {
		return nil
	}
	text := map[string]string{
		"role": c.Role, "agent": c.Agent, "provider": c.Provider, "model": c.Model, "parent": c.Parent, "folder": c.Folder,
		"project": c.Project, "call": c.CallID, "session": c.Ref.Session, "message": c.Ref.Message,
		"file": "prt_" + strings.TrimPrefix(c.Ref.Part, "prt_") + "_file", "no-output": noOutput, "lost": LostResult,
	}[f.source]
	switch f.source {
	case "created":
		return strconv.AppendInt(nil, c.Time, 10)
	case "updated":
		return strconv.AppendInt(nil, c.Updated, 10)
	case "mime":
		text = mimeOf(c.record)
	case "status": // of a call
		text = record.StatusError
		if out, ok := jsonedit.Get(c.record, "state", "output"); ok && out[0] != 'n' {
			text = record.StatusCompleted
		}
	}
	switch {
	case text != "":
		return jsonedit.Quote(text)
	case f.value != "":
		return []byte(f.value)
	}
	return nil
}

// mimeOf returns the type in the data: URL of a file, or "".
func mimeOf(file []byte) string {
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
