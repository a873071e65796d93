package request

import (
	"encoding/json"
	"slices"
	"strings"
)

const (
	// Cleared is what an agent sends in place of a result that it, or a trim, has cleared.
	Cleared = "[Old tool result content cleared]"
	// MaxToolName is the greatest length of a tool's name, in bytes.
	MaxToolName = 128
)

// IsBlank reports whether a text has no visible character.
func IsBlank(text string) bool {
	return strings.TrimSpace(strings.ReplaceAll(text, "\ufeff", "")) == ""
}

// Short returns at most n characters of a text.
func Short(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

// InputObject turns the input of a call into an object. It parses an object in a text; any other value becomes the
// member "input" of a new object.
func InputObject(raw json.RawMessage) json.RawMessage {
	var inner string
	s := strings.TrimSpace(string(raw))
	inText := json.Unmarshal(raw, &inner) == nil
	inner = strings.TrimSpace(inner)
	switch {
	case strings.HasPrefix(s, "{"):
		return raw
	case s == "", s == "null", inText && inner == "":
		return []byte("{}")
	case strings.HasPrefix(inner, "{") && json.Valid([]byte(inner)):
		return []byte(inner)
	}
	return []byte(`{"input":` + s + "}")
}

// MoveFirst moves the elements that match accepts to the front. Both groups keep their order.
func MoveFirst[T any](all []T, match func(T) bool) {
	rank := map[bool]int{false: 1}
	slices.SortStableFunc(all, func(a, b T) int { return rank[match(a)] - rank[match(b)] })
}
