package repair

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// An APIError is what a model API said when it refused a request, recognised.
type APIError struct {
	Text  string   // the message, as it was given
	Class Class    // "" for an error that no repair of the store answers
	Rule  string   // the code of the [Rule] that the text tells of; "" where it fits none or several
	Index int      // N of messages.N, the message in the request; -1 if it names none
	Block int      // M of messages.N.content.M; -1 if it names none
	Calls []string // the ids of tool calls that the text names, in its order
	Tool  string   // of an unavailable tool: its name in lower case, where the error tells it

	// Recognised says that the error is a known one, though it may have no class.
	Recognised bool

	// Explanation says for a person what the error means and what to do.
	Explanation string
}

// ParseAPIError recognises an error, given as JSON in any of the forms in which
// agents and providers store it, or as plain text. Whatever is given, it returns.
func ParseAPIError(input []byte) APIError {
	texts := messagesIn(strings.TrimSpace(string(input)), maxQuotes)
	e := APIError{Text: texts[0], Index: -1, Block: -1}
	kind := recognise(strings.ToLower(e.Text))
	for _, t := range texts[1:] { // a body is more exact where the message in front of it says nothing
		if k := recognise(strings.ToLower(t)); !kind.known() && k.known() {
			e.Text, kind = t, k
		}
	}
	e.Class, e.Recognised, e.Explanation = kind.class, kind.known(), kind.explanation
	e.Rule = ruleIn(strings.ToLower(e.Text))
	e.Calls = callIDs(e.Text)
	e.locate()
	if e.Class == UnavailableTool {
		e.Tool = toolName(strings.ToLower(e.Text))
	}
	return e
}

// messagePaths are where the message of an error stands, in the order in which
// upstream looks (docs/providers.md, "How an error is recognised"), and one more: that of a
// stored message that holds its error.
var messagePaths = [...][]string{
	{"data", "message"},
	{"error", "message"},
	{"message"},
	{"data", "error", "message"},
	{"error", "data", "message"},
}

// bodyPaths are where OpenCode, and gateways such as OpenRouter, keep what the
// provider answered.
var bodyPaths = [...][]string{
	{"data", "responseBody"},
	{"error", "data", "responseBody"},
	{"responseBody"},
	{"data", "error", "metadata", "raw"},
	{"error", "metadata", "raw"},
}

// codePaths are where the code of an error is, which may say more than its message.
var codePaths = [...][]string{
	{"data", "code"},
	{"error", "code"},
	{"code"},
	{"data", "error", "code"},
	{"error", "data", "code"},
}

// maxQuotes is how many levels of errors that quote others are read. Each level is
// parsed again.
const maxQuotes = 10

// messagesIn lists the message of an error, the same with its code, and those of
// the provider's own answer if the error quotes one, down to that many levels. What is
// not JSON, or has no message, is its own message.
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

// textsAt lists the strings at the paths that are not empty.
func textsAt(v map[string]any, paths ...[]string) []string {
	var found []string
	for _, path := range paths {
		if s, _ := valueAt(v, path).(string); s != "" {
			found = append(found, s)
		}
	}
	return found
}

// bodiesAt lists the provider's own answers that an error quotes, as JSON text or
// as an object.
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

// Compiled when an error is read: most runs of the program read none.
var (
	placePattern = pattern(`(?i)messages\.(\d+)(?:\.content\.(\d+))?|message at position (\d+)`)
	callPattern  = pattern(`\b(?:toolu|tooluse|call)_[a-zA-Z0-9_-]+`)
	toolPattern  = pattern(`(?:unavailable tool|no such tool)[:\s'"]+([^'".\s]+)`)
)

func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// locate reads the first place that the error names.
func (e *APIError) locate() {
	m := placePattern().FindStringSubmatch(e.Text)
	if m == nil {
		return
	}
	if n, err := strconv.Atoi(m[1] + m[3]); err == nil {
		e.Index = n
	}
	if n, err := strconv.Atoi(m[2]); err == nil && e.Index >= 0 {
		e.Block = n
	}
}

// callIDs returns the ids of calls in a text, each once. The names of the fields that
// hold them look alike.
func callIDs(text string) []string {
	var ids []string
	seen := map[string]bool{"call_id": true, "call_ids": true}
	for _, id := range callPattern().FindAllString(text, -1) {
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

func toolName(lower string) string {
	if m := toolPattern().FindStringSubmatch(lower); m != nil {
		return m[1]
	}
	return ""
}
