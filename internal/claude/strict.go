package claude

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// strict has the rules of the Messages API that package endpoint does not check: R5 inside
// results, and R23 to R25 (docs/claude-code.md). They are written again here, so that a test
// compares two checkers.
func strict(body []byte) (rule, message string) {
	var r struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if json.Unmarshal(body, &r) != nil {
		return "", ""
	}
	for n, m := range r.Messages {
		var blocks []map[string]json.RawMessage
		if json.Unmarshal(m.Content, &blocks) != nil {
			continue
		}
		for i, b := range blocks {
			if rule, message = strictBlock(b); rule != "" {
				return rule, fmt.Sprintf("messages.%d.content.%d%s", n, i, message)
			}
		}
	}
	return "", ""
}

var allowed = map[string]string{
	"text":              "type text citations cache_control",
	"thinking":          "type thinking signature",
	"redacted_thinking": "type data",
	"tool_use":          "type id name input cache_control caller",
	"tool_result":       "type tool_use_id content is_error cache_control",
	"image":             "type source cache_control",
	"document":          "type source title context citations cache_control",
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)

func strictBlock(b map[string]json.RawMessage) (rule, message string) {
	var kind, name string
	_ = json.Unmarshal(b["type"], &kind)
	fields, ok := allowed[kind]
	if !ok {
		return "R23", fmt.Sprintf(": Input tag '%s' found using 'type' does not match any of the expected tags", kind)
	}
	for f := range b {
		if !slices.Contains(strings.Fields(fields), f) {
			return "R25", "." + kind + "." + f + ": Extra inputs are not permitted"
		}
	}
	if kind == "tool_use" && (json.Unmarshal(b["name"], &name) != nil || !toolName.MatchString(name)) {
		return "R24", ".tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"
	}
	var inner []struct{ Type, Text string }
	if kind == "tool_result" && json.Unmarshal(b["content"], &inner) == nil {
		for _, in := range inner {
			if in.Type == "text" && strings.TrimSpace(in.Text) == "" {
				return "R5", ": text content blocks must be non-empty"
			}
		}
	}
	return "", ""
}
