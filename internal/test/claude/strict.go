package claude

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mend/internal/test/endpoint"
)

// NewEndpoint starts a strict endpoint with a script, see [endpoint.New].
func NewEndpoint(script endpoint.Script) *endpoint.Server { return endpoint.NewStrict(script, strict) }

// strict has the rules of the Messages API that package endpoint does not check: R5 inside results, and R22
// to R25 (docs/claude-code.md). This is a second implementation, so that tests compare two.
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

// allowed has the fields of each kind of block.
var allowed = map[string]string{
	"text":              "type text citations cache_control",
	"thinking":          "type thinking signature",
	"redacted_thinking": "type data",
	"tool_use":          "type id name input cache_control caller",
	"tool_result":       "type tool_use_id content is_error cache_control",
	"image":             "type source cache_control",
	"document":          "type source title context citations cache_control",
	"tool_reference":    "type tool_name cache_control",
}

// required has the required field of a kind of block, unless another rule checks it.
var required = map[string]string{"thinking": "thinking", "redacted_thinking": "data"}

// valid has the type of each field that has the same type in all blocks.
var valid = map[string]string{
	"text": "string", "thinking": "string", "signature": "string", "data": "string", "is_error": "boolean", "source": "dictionary", "cache_control": "dictionary",
	"title": "string", "context": "string", "citations": "list", "caller": "dictionary", "content": "list", "tool_use_id": "string",
}

// wrongType reports whether the value of a field has a type that the API does not accept. R13, R14 and R24
// cover the fields of calls.
func wrongType(kind, name string, value json.RawMessage) bool {
	var v any
	_ = json.Unmarshal(value, &v)
	ok := true
	switch valid[name] {
	case "string":
		_, ok = v.(string)
	case "boolean":
		_, ok = v.(bool)
	case "dictionary":
		_, ok = v.(map[string]any)
	case "list":
		_, ok = v.([]any)
		if _, text := v.(string); text && kind == "tool_result" {
			ok = true
		}
	}
	required := name == "text" || name == "thinking" || name == "data" || name == "source" || name == "tool_use_id"
	return !ok && (v != nil || required)
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)

// notPDF reports whether a source claims to be a PDF and is not.
func notPDF(source json.RawMessage) bool {
	var s struct {
		Type string
		Mime string `json:"media_type"`
		Data []byte // decoded
	}
	err := json.Unmarshal(source, &s)
	return s.Type == "base64" && s.Mime == "application/pdf" && err == nil && !strings.HasPrefix(string(s.Data), "%PDF-")
}

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
	if _, ok := b["source"]; !ok && (kind == "image" || kind == "document") {
		return "R23", "." + kind + ".source: Field required"
	}
	for name := range strings.FieldsSeq(required[kind]) {
		if _, ok := b[name]; !ok {
			return "R23", "." + kind + "." + name + ": Field required"
		}
	}
	for name, value := range b {
		if wrongType(kind, name, value) {
			return "R23", "." + kind + "." + name + ": Input should be a valid " + valid[name]
		}
	}
	if kind == "document" && notPDF(b["source"]) {
		return "R22", ".pdf.source.base64.data: The PDF specified was not valid."
	}
	if kind == "tool_use" && (json.Unmarshal(b["name"], &name) != nil || !toolName.MatchString(name)) {
		return "R24", ".tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"
	}
	if kind == "tool_result" {
		return strictResult(b["content"])
	}
	return "", ""
}

func strictResult(content json.RawMessage) (rule, message string) {
	var elements []any
	if json.Unmarshal(content, &elements) != nil {
		return "", ""
	}
	blank := false
	for _, v := range elements {
		in, _ := v.(map[string]any)
		kind, _ := in["type"].(string)
		text, isText := in["text"].(string)
		switch {
		case in["type"] == nil:
			return "R23", ".tool_result.content: Input should be a valid dictionary"
		case kind == "text" && !isText:
			return "R23", ".tool_result.content.text.text: Input should be a valid string"
		case allowed[kind] == "":
			return "R23", ".tool_result.content: Input tag found using 'type' does not match any of the expected tags"
		}
		blank = blank || kind == "text" && strings.TrimSpace(text) == ""
	}
	if blank {
		return "R5", ": text content blocks must be non-empty"
	}
	return "", ""
}
