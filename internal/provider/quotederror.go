package provider

import (
	"encoding/json"
	"strings"
)

// messagePaths are the paths of an error's message, in upstream's search order (docs/providers.md, "How an error is
// recognised"), and the path of the error in a stored message.
var messagePaths = [...][]string{
	{"data", "message"},
	{"error", "message"},
	{"message"},
	{"data", "error", "message"},
	{"error", "data", "message"},
}

// bodyPaths are the paths at which OpenCode, and gateways such as OpenRouter, store the provider's response.
var bodyPaths = [...][]string{
	{"data", "responseBody"},
	{"error", "data", "responseBody"},
	{"responseBody"},
	{"data", "error", "metadata", "raw"},
	{"error", "metadata", "raw"},
}

// codePaths are the paths of an error's code, type, name or place: they may be more specific than its message.
var codePaths = [...][]string{
	{"data", "code"},
	{"error", "code"},
	{"code"},
	{"data", "error", "code"},
	{"error", "data", "code"},
	{"error", "type"},
	{"error", "status"},
	{"name"},
	{"error", "param"},
}

// maxQuotes is the number of levels of quoted errors that are read. Each level is parsed separately.
const maxQuotes = 10

// messagesIn lists the message of an error, the message with its code, and the messages of the quoted response of the
// provider, down to the given number of levels. A text that is not JSON, or that has no message, is its own message.
func messagesIn(text string, levels int) []string {
	var v any
	if levels == 0 || json.Unmarshal([]byte(text), &v) != nil {
		return []string{text}
	}
	switch v := v.(type) {
	case string:
		if inner := strings.TrimSpace(v); strings.HasPrefix(inner, "{") || strings.HasPrefix(inner, `"`) {
			return messagesIn(inner, levels-1) // JSON in a JSON string
		}
		return []string{v}
	case map[string]any:
		found := textsAt(v, messagePaths[:]...)
		if len(found) == 0 {
			found = []string{text}
		}
		found = found[:1]
		for _, code := range textsAt(v, codePaths[:]...) {
			if !strings.Contains(found[0], code) {
				found = append(found, found[0]+" ("+code+")")
			}
		}
		for _, body := range bodiesAt(v) {
			found = append(found, messagesIn(strings.TrimSpace(body), levels-1)...)
		}
		return found
	case nil:
		return []string{""}
	}
	return []string{text}
}

// textsAt lists the nonempty strings at the paths.
func textsAt(v map[string]any, paths ...[]string) []string {
	var found []string
	for _, path := range paths {
		if s, _ := valueAt(v, path).(string); s != "" {
			found = append(found, s)
		}
	}
	return found
}

// bodiesAt lists the provider's responses that an error quotes, as JSON text or as an object.
func bodiesAt(v map[string]any) []string {
	found := textsAt(v, bodyPaths[:]...)
	for _, path := range bodyPaths {
		if body, ok := valueAt(v, path).(map[string]any); ok {
			if text, err := json.Marshal(body); err == nil {
				found = append(found, string(text))
			}
		}
	}
	return found
}

func valueAt(v map[string]any, path []string) any {
	for _, name := range path[:len(path)-1] {
		v, _ = v[name].(map[string]any)
	}
	return v[path[len(path)-1]]
}
