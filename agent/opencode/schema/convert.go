package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mend/internal/jsonedit"
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
// UnknownError with its text.
func convertError(c *Completion, raw []byte) ([]byte, bool) {
	if slices.Contains([]string{"null", "false", "0", `""`}, string(raw)) {
		return nil, false // no error at all
	}
	by, _ := jsonedit.Get(raw, "name")
	name, _ := jsonedit.Text(by)
	if fields, known := failures[name]; known {
		if to, ok := c.Value(raw, &Type{Kind: Object, Fields: fields}); ok {
			return to, true
		}
	}
	text, ok := keepText(raw)
	return fmt.Appendf(nil, `{"name":"UnknownError","data":{"message":%s}}`, text), ok
}

// convertRetried completes an APIError, the only error after which the agent retries.
func convertRetried(c *Completion, raw []byte) ([]byte, bool) {
	if by, _ := jsonedit.Get(raw, "name"); string(by) != `"APIError"` {
		return nil, false
	}
	return convertError(c, raw)
}
