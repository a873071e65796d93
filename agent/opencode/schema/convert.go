package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mend/jsonedit"
)

// ConvertInput returns the input of a call as an object. It parses an object in a string,
// and makes another value the member "input" of an object.
func ConvertInput(_ *Completion, raw []byte) ([]byte, bool) {
	text, _ := jsonedit.Text(raw)
	text = strings.TrimSpace(text)
	switch {
	case raw[0] == '{':
		return raw, true
	case raw[0] == 'n':
		return nil, false
	case strings.HasPrefix(text, "{") && json.Valid([]byte(text)):
		return []byte(text), true
	}
	return fmt.Appendf(nil, `{"input":%s}`, raw), true
}

// convertError completes an error with a known name. Another error becomes an
// UnknownError with the same text.
func convertError(c *Completion, raw []byte) ([]byte, bool) {
	if slices.Contains([]string{"null", "false", "0", `""`}, string(raw)) {
		return nil, false // no error at all
	}
	by, _ := jsonedit.Get(raw, "name")
	name, _ := jsonedit.Text(by)
	fields, known := failures[name]
	if known {
		if to, ok := c.Value(raw, &Type{Kind: Object, Fields: fields}); ok {
			return to, true
		}
	}
	return unknownError(c, raw), true
}

// convertRetried completes an APIError, the only error after which the agent retries.
func convertRetried(c *Completion, raw []byte) ([]byte, bool) {
	if by, _ := jsonedit.Get(raw, "name"); string(by) != `"APIError"` {
		return nil, false
	}
	return convertError(c, raw)
}

// unknownError returns an UnknownError with the message or the name of raw, or else with all
// of raw as its text.
func unknownError(c *Completion, raw []byte) []byte {
	var text []byte
	for _, path := range [][]string{{"data", "message"}, {"message"}, {"name"}} {
		if v, ok := jsonedit.Get(raw, path...); ok && v[0] == '"' && text == nil {
			text = v
			for _, name := range beside(raw, path) {
				c.Drop(name)
			}
		}
	}
	if text == nil {
		text, _ = keepText(raw)
	}
	return []byte(`{"name":"UnknownError","data":{"message":` + string(text) + `}}`)
}

// beside returns the paths of all members of the object that are not on the way to path.
func beside(raw []byte, path []string) (all []string) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if name != path[0] {
			all = append(all, name)
		}
	}
	if len(path) > 1 {
		for _, name := range beside(members[path[0]], path[1:]) {
			all = append(all, path[0]+"."+name)
		}
	}
	return all
}
