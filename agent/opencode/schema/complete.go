package schema

import (
	"bytes"
	"cmp"
	"errors"
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

// A Context has the values of the table's sources: values from the session for incomplete records; "" if unknown.
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
	// Cut means that the record was cut off: an object that cannot be completed is removed if the agent does not always
	// need it.
	Cut bool
}

// Complete returns data, an object, with every member that the schema requires: a member that is missing or null gets
// the value of its source, or else its default, and an optional null is removed. Everything else stays, except that
// the input of a call becomes an object. filled has the paths of the members that changed. It returns an error if a
// value is unknown or has a wrong type.
func Complete(data []byte, name string, x Context) (_ []byte, filled []string, err error) {
	c := &completion{Context: x, record: data}
	data, err = c.object(data, shapes()[name], "")
	return data, c.filled, err
}

// A completion completes a record.
type completion struct {
	Context
	filled []string
	record []byte
}

func (c *completion) object(obj []byte, s *shape, path string) (_ []byte, err error) {
	fields := s.fields
	if s.key != nil {
		if s.key.need != optional {
			if obj, err = c.member(obj, s.key, path); err != nil {
				return nil, err
			}
		}
		key, _ := jsonedit.Get(obj, s.key.name)
		name, _ := jsonedit.Text(key)
		added, known := s.cases[name]
		if !known {
			return nil, fmt.Errorf("%s%s is unknown", path, s.key.name)
		}
		fields = slices.Concat(fields, added)
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
	t, path, before := &f.checks[0].fieldType, above+f.name, c.filled
	raw, exists := jsonedit.Get(obj, f.name)
	if exists && raw[0] != 'n' {
		to, err := c.value(raw, t, path)
		if err != nil && c.Cut && f.need != always {
			return jsonedit.Remove(obj, f.name)
		}
		if err != nil || bytes.Equal(to, raw) {
			return obj, err
		}
		return jsonedit.Set(obj, to, f.name)
	}
	c.filled = append(c.filled, path)
	var err error
	to := c.fill(f)
	if to != nil {
		to, err = c.value(to, t, path)
	}
	switch {
	case err == nil && to != nil:
		return jsonedit.Set(obj, to, f.name)
	case f.need == always:
		return nil, cmp.Or(err, fmt.Errorf("%s: its value is not known", path))
	case !exists:
		c.filled = before
		return obj, nil
	}
	return jsonedit.Remove(obj, f.name)
}

// value returns a value with complete objects.
func (c *completion) value(raw []byte, t *fieldType, path string) ([]byte, error) {
	switch {
	case t.kind == "(" && raw[0] == '{':
		return c.object(raw, t.shape, path+".")
	case t.kind == "[" && raw[0] == '[' && t.elem.kind == "(":
		var err error
		i := -1
		all := jsonedit.EditElements(raw, func(in []byte) []byte {
			i++
			to, failed := c.value(in, t.elem, fmt.Sprintf("%s.%d", path, i))
			err = cmp.Or(err, failed)
			return to
		})
		return all, err
	case t.kind == "input":
		to := request.InputObject(raw)
		if !bytes.Equal(to, raw) {
			c.filled = append(c.filled, path)
		}
		return to, nil
	}
	if why := t.check(js.Parse(raw)); why != "" {
		return nil, errors.New(path + why)
	}
	return raw, nil
}

// fill returns a value for the missing field, or nil.
func (c *completion) fill(f *field) []byte {
	if f.need == optional {
		return nil
	}
	text := map[string]string{
		"role": c.Role, "agent": c.Agent, "provider": c.Provider, "model": c.Model, "parent": c.Parent, "folder": c.Folder,
		"project": c.Project, "call": c.CallID, "session": c.Ref.Session, "message": c.Ref.Message,
		"file": "prt_" + strings.TrimPrefix(c.Ref.Part, "prt_") + "_file", "no-output": noOutput, "lost": lostResult,
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
