package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mend/change"
	"mend/internal/term"
)

// freeFields are the fields whose values can have names chosen by a user, a tool or a provider.
var freeFields = []string{"input", "metadata", "raw", "structured", "responseHeaders", "env", "variables", "options"}

// wordFields are the fields whose values are words of a fixed list.
var wordFields = []string{"type", "role", "status", "finish", "reason", "name", "mime", "mode", "agent", "variant", "tool"}

// idFields are the fields that contain ids, with the kind of id.
var idFields = map[string]string{
	"id": "prt", "sessionID": "ses", "messageID": "msg", "parentID": "msg", "projectID": "project", "callID": "call", "partID": "prt",
}

// A description describes content that cannot be decoded.
type description string

// decode returns the value of a JSON text, or a [description] if the text is not valid.
func decode(text []byte) (v any) {
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	if json.Valid(text) && in.Decode(&v) == nil {
		return v
	}
	what := "not valid JSON"
	if len(bytes.Trim(text, "\x00")) == 0 {
		what = "all NUL"
	}
	return description(fmt.Sprintf("‹%s, %s›", term.Count(len(text), "byte"), what))
}

// contentOf returns the value of a record: of its JSON text, or of the columns of its row.
func contentOf(ref change.Ref, i *change.Image) any {
	row, err := change.RowOf(ref, i)
	if i.Mode != 0 || err != nil {
		return decode(i.Data)
	}
	members := map[string]any{}
	for c := range row.Cols.All {
		switch n, isInt := c.Int(); {
		case isInt:
			members[c.Name] = json.Number(fmt.Sprint(n))
		case c.Class != change.ClassText:
			members[c.Name] = description(fmt.Sprintf("‹%s of %s›", c.Class, term.Count(len(c.Bytes), "byte")))
		case bytes.HasPrefix(c.Bytes, []byte("{")):
			members[c.Name] = decode(c.Bytes)
		default:
			members[c.Name] = string(c.Bytes)
		}
	}
	if row.Data != nil {
		members["data"] = decode(row.Data)
	}
	return members
}

// maxMembers is how many members or elements of one value are shown.
const maxMembers = 200

// leaves yields the redacted leaves of a value with their paths. field is the name of the value's field; free means
// that it is in a free field. Times are relative to zero.
func (r *redactor) leaves(path, field string, v any, free bool, zero int64, yield func(path, value string)) {
	switch v := v.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		for _, name := range names[:min(len(names), maxMembers)] {
			shown, known := name, isKnownValue(name)
			if free || !known {
				shown = r.name("field", name)
			}
			r.leaves(strings.TrimPrefix(path+"."+shown, "."), name, v[name], free || !known || slices.Contains(freeFields, name), zero, yield)
		}
	case []any:
		for i, e := range v[:min(len(v), maxMembers)] {
			r.leaves(fmt.Sprintf("%s[%d]", path, i), field, e, free, zero, yield)
		}
	case string:
		yield(path, fmt.Sprintf("%q", r.stringValue(field, v, free)))
	case json.Number:
		yield(path, number(v, free, zero))
	case nil:
		yield(path, "null")
	default:
		yield(path, fmt.Sprint(v))
	}
}

func (r *redactor) stringValue(field, s string, free bool) string {
	if !free && idFields[field] != "" {
		r.addID(idFields[field], s)
	}
	if id, ok := r.ids[s]; ok {
		return id
	}
	if !free && (slices.Contains(wordFields, field) && isKnownValue(s) || field == "version" && versionForm().MatchString(s)) {
		return s
	}
	return r.text(s)
}

// earliest is the smallest number that counts as a time: milliseconds since 1970, in 2001.
const earliest = 1e12

// number returns a redacted number: a time as the distance to zero, the session's start; any other small number
// unchanged.
func number(n json.Number, free bool, zero int64) string {
	switch f, err := n.Float64(); {
	case free || err != nil:
		return "‹number›"
	case f >= earliest && f < 1e14 && zero > 0:
		return fmt.Sprintf("‹start %+d ms›", int64(f)-zero)
	case f >= earliest || f <= -earliest:
		return "‹large number›"
	}
	return n.String()
}
