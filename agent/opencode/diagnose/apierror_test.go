package diagnose

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"mend/internal/jsonedit"
	"mend/internal/provider"
	"mend/repair"
)

// TestParseAPIErrorClass: each error text has its class. The texts are the cases DET and EXT of oh-my-opencode's tests,
// and texts from docs/providers.md and docs/opencode.md. DET-08 (JSON has no cycles) and DET-16 (JSON has no getters)
// do not apply.
func TestParseAPIErrorClass(t *testing.T) {
	for _, c := range []struct {
		name, input string
		want        repair.Class
	}{
		{"DET-01", `{"message":"tool_use block must be followed by tool_result"}`, repair.ToolResultMissing},
		{"DET-02", `{"message":"thinking must be the first block in the response"}`, repair.ThinkingBlockOrder},
		{"DET-04", "{\"message\":\"undefined: The model returned the following errors: messages.17.content.28: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. ...\"}", repair.ThinkingBlockModified},
		{"DET-05", `{"message":"thinking blocks cannot be modified"}`, repair.ThinkingBlockModified},
		{"DET-07", `{"message":"some random error"}`, ""},
		{"DET-10", `null`, ""},
		{"DET-11", `{"data":{"error":{"message":"tool_use block requires tool_result"}}}`, repair.ToolResultMissing},
		{"DET-13", `{"message":"No such tool: grepppp"}`, repair.UnavailableTool},
		{"DET-14", `{"message":"NoSuchToolError: no such tool invalid"}`, repair.UnavailableTool},
		{"DET-17", `messages.0: thinking block must not be the first block`, repair.ThinkingBlockOrder},
		{"DET-19", `messages.10: thinking requires preceeding text block`, repair.ThinkingBlockOrder},
		{"DET-20", `messages.3: thinking block expected text but found tool_use`, repair.ThinkingBlockOrder},
		{"DET-22", `messages.17: thinking in the final block is not allowed in assistant messages`, repair.ThinkingBlockOrder},
		{"DET-23", `messages.219: The last block in an assistant message cannot be thinking content`, repair.ThinkingBlockOrder},
		{"DET-25", `thinking is disabled for this model and cannot contain thinking blocks`, repair.ThinkingDisabledViolation},
		{"DET-26", `This model does not support assistant message prefill. The conversation must end with a user message.`, repair.AssistantPrefillUnsupported},
		{"DET-28", `The conversation must end with a user message.`, repair.AssistantPrefillUnsupported},
		{"DET-29", `This model does not support assistant message prefill.`, repair.AssistantPrefillUnsupported},
		{"DET-31", `{}`, ""},
		{"DET-32", `{"data":{"error":{"message":"messages.163: The final block in an assistant message cannot be thinking."}}}`, repair.ThinkingBlockOrder},
		{"DET-34", "{\"error\":{\"message\":\"messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).\"}}", repair.ThinkingBlockOrder},
		{"EXT-01", `Invalid value at messages.5: tool_result is required`, ""},
		{"EXT-04", `dummy_tool appeared without tool name`, repair.UnavailableTool},
		{"EMP-04", `messages: index 1 has empty content`, repair.EmptyContentMessage},

		{"R1", "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", repair.ToolResultMissing},
		{"R2", "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", ""},
		{"R4", "messages.3.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`.", repair.ThinkingDisabledViolation},
		{"R5", "messages: text content blocks must be non-empty", repair.EmptyContentMessage},
		{"R6", "messages.4: all messages must have non-empty content except for the optional final assistant message", repair.EmptyContentMessage},
		{"R7", "messages.1.content.0: Invalid `signature` in `thinking` block", repair.ThinkingSignature},
		{"R10", "messages.5: The final block in an assistant message cannot be `thinking`.", repair.ThinkingBlockOrder},
		{"R11", "messages: text content blocks must contain non-whitespace text", repair.EmptyContentMessage},
		{"R13", "messages.1.content.1.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", repair.InvalidToolCall},
		{"R17", "messages.1: `tool_use` ids must be unique", repair.InvalidToolCall},
		{"F4", "[Moonshot AI] Invalid request: the message at position 29 with role 'assistant' must not be empty (400)", repair.EmptyContentMessage},

		{"prefix of an id", `{"message":"Invalid string: must start with \"prt\""}`, repair.IncompleteRecord},
		{"a key is missing", `Missing key at [0]["info"]["agent"]`, repair.IncompleteRecord},
		{"cut off", "SyntaxError: Unexpected end of JSON input", repair.UnreadableRecord},
		{"cut off, Bun", "JSON Parse error: Unexpected EOF", repair.UnreadableRecord},
		{"cut off, V8", `SyntaxError: Expected property name or '}' in JSON at position 1`, repair.UnreadableRecord},
		{"a proxy cut off", "unexpected EOF", ""},
		{"Bedrock, blank", "The text field in the ContentBlock object at messages.1.content.0 is blank. Add text to the text field, and try again.", repair.EmptyContentMessage},
		{"cached empty text", "messages.4.content.0.text: cache_control cannot be set for empty text blocks", repair.EmptyContentMessage},
		{"pixels", "messages.7.content.3.tool_result.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels", repair.InvalidFile},
		{"many images", "request contains 51 images, exceeding the maximum of 50", ""},
		{"longer than the context, Copilot", "prompt token count of 141422 exceeds the limit of 128000", repair.ContextTooLong},
		{"longer than the context, xAI", "This model's maximum prompt length is 131072 but the request contains 537812 tokens.", repair.ContextTooLong},
		{"longer than the context, Groq", "Please reduce the length of the messages or completion.", repair.ContextTooLong},
		{"longer than the context, llama.cpp", "the request exceeds the available context size, try increasing it", repair.ContextTooLong},
		{"longer than the context, Moonshot", "Invalid request: Your request exceeded model token limit: 262144", repair.ContextTooLong},
		{"a limit of something else", "the file exceeds the limit of 10 MB", ""},
		{"longer than the context", "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000", repair.ContextTooLong},
		{"long name", "messages.3.content.1.tool_use.name: String should have at most 64 characters", repair.InvalidToolCall},
		{"empty id", "messages.1.content.0.tool_use.id: String should have at least 1 character", repair.InvalidToolCall},

		{"modified before order", "thinking expected, found text; it cannot be modified", repair.ThinkingBlockModified},
		{"order before disabled", "thinking is disabled: the first block cannot contain it", repair.ThinkingBlockOrder},
		{"context", `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 205000 tokens > 200000 maximum"}}`, repair.ContextTooLong},
	} {
		e := ParseAPIError([]byte(c.input))
		if e.Class != c.want {
			t.Errorf("%s: ParseAPIError(%q).Class = %q, want %q", c.name, c.input, e.Class, c.want)
		}
		if e.Explanation == "" {
			t.Errorf("%s: ParseAPIError(%q) explains nothing", c.name, c.input)
		}
	}
}

// TestParseAPIErrorEncrypted: errors about encrypted reasoning are recognized in every wording and every observed
// wrapping.
func TestParseAPIErrorEncrypted(t *testing.T) {
	quote := func(s string) string { return string(jsonedit.Quote(s)) }
	body := func(message, code string) string {
		return `{"error":{"message":` + quote(message) + `,"type":"invalid_request_error","param":null,"code":` + quote(code) + `}}`
	}
	const code = "invalid_encrypted_content"
	wrappings := map[string]func(message string) string{
		"plain":             func(m string) string { return m },
		"upper case":        strings.ToUpper,
		"prefix":            func(m string) string { return "AI_APICallError: " + m },
		"body":              func(m string) string { return body(m, code) },
		"prefix and body":   func(m string) string { return "Error: 400 " + body(m, code) },
		"stream event":      func(m string) string { return `{"type":"error","sequence_number":2,` + body(m, code)[1:] },
		"response":          func(m string) string { return `{"type":"response.failed","response":` + body(m, code) + `}` },
		"JSON string":       func(m string) string { return quote(body(m, code)) },
		"JSON string twice": func(m string) string { return quote(quote(body(m, code))) },
		"OpenCode":          func(m string) string { return `{"name":"APIError","data":{"message":` + quote(m) + `}}` },
		"body in the message": func(m string) string {
			return `{"name":"UnknownError","data":{"message":` + quote(body(m, code)) + `}}`
		},
		"body beside": func(m string) string {
			return `{"name":"APIError","data":{"message":"Bad Request","responseBody":` + quote(body(m, code)) + `}}`
		},
		"body as an object": func(m string) string {
			return `{"name":"APIError","data":{"message":"Bad Request","responseBody":` + body(m, code) + `}}`
		},
		"body in a body": func(m string) string {
			return `{"data":{"message":"x","responseBody":` + quote(`{"error":{"message":"Provider returned error","metadata":{"raw":`+quote(body(m, code))+`}}}`) + `}}`
		},
		"stored message": func(m string) string {
			return `{"id":"msg_1","error":{"name":"APIError","data":{"message":` + quote(m) + `}}}`
		},
		"code alone in the body": func(string) string {
			return `{"data":{"message":"Bad Request","responseBody":` + quote(body("Bad Request", code)) + `}}`
		},
		"code alone": func(string) string { return body("Bad Request", code) },
	}
	for _, message := range []string{
		"The encrypted content gAAAAABpZx...c90= could not be verified.",
		"The encrypted content gAAA could not be verified. Reason: Encrypted content organization_id did not match the target organization.",
		"The encrypted content gAAA for item rs_0f could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
		"[invalid_encrypted_content] The encrypted content could not be verified",
		"reasoning `encrypted_content` was not issued to this caller",
	} {
		for name, wrap := range wrappings {
			input := wrap(message)
			if e := ParseAPIError([]byte(input)); e.Class != repair.EncryptedReasoning {
				t.Errorf("%s: ParseAPIError(%q).Class = %q, text %q; want %q", name, input, e.Class, e.Text, repair.EncryptedReasoning)
			}
		}
	}
	for _, other := range []string{
		"The organization_id did not match", "could not be verified", "content could not be read", body("Bad Request", "invalid_value"),
	} {
		if e := ParseAPIError([]byte(other)); e.Class == repair.EncryptedReasoning {
			t.Errorf("ParseAPIError(%q).Class = %q, want another", other, e.Class)
		}
	}
}

// TestParseAPIErrorExplains: an error without a repair is explained too.
func TestParseAPIErrorExplains(t *testing.T) {
	for _, c := range []struct{ input, want string }{
		{"request contains 51 images, exceeding the maximum of 50", "more images than"},
		{"input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000", "longer than the model's context"},
		{"out of cheese", "does not know this error"},
	} {
		e := ParseAPIError([]byte(c.input))
		if !strings.Contains(e.Explanation, c.want) || e.Recognised != (c.want != "does not know this error") {
			t.Errorf("ParseAPIError(%q) = %q, recognised %v; want %q", c.input, e.Explanation, e.Recognised, c.want)
		}
	}
}

func TestParseAPIErrorCalls(t *testing.T) {
	for _, c := range []struct {
		input string
		want  []string
	}{
		{"messages.9: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_B, toolu_01-x. Each `tool_use` block", []string{"toolu_B", "toolu_01-x"}},
		{"The following tool_call_ids did not have response messages: call_X, call_Y, call_X", []string{"call_X", "call_Y"}},
		{"No tool call found for function call output with call_id call_X.", []string{"call_X"}},
		{"Expected toolResult blocks at messages.2.content for the following Ids: tooluse_A_b", []string{"tooluse_A_b"}},
		{"Invalid 'input[3].call_id': string too long", nil},
	} {
		if got := ParseAPIError([]byte(c.input)).Calls; !slices.Equal(got, c.want) {
			t.Errorf("ParseAPIError(%q).Calls = %q, want %q", c.input, got, c.want)
		}
	}
}

func TestParseAPIErrorText(t *testing.T) {
	for _, c := range []struct {
		name, input, text string
		index, block      int
		tool              string
	}{
		{"plain", "  Messages.3: Bad\n", "Messages.3: Bad", 3, -1, ""},
		{"EXT-01", "Invalid value at messages.5: tool_result is required", "Invalid value at messages.5: tool_result is required", 5, -1, ""},
		{"EXT-03", "model tried to call unavailable tool 'invalid'", "model tried to call unavailable tool 'invalid'", -1, -1, "invalid"},
		{"EXT-04", "dummy_tool appeared without tool name", "dummy_tool appeared without tool name", -1, -1, ""},
		{"EMP-04", "messages: index 1 has empty content", "messages: index 1 has empty content", -1, -1, ""},
		{"name cut at the dot", `{"message":"No such tool: Foo.bar"}`, "No such tool: Foo.bar", -1, -1, "foo"},
		{"block", "messages.17.content.28: x messages.1.content.2", "messages.17.content.28: x messages.1.content.2", 17, 28, ""},
		{"position", "the message at position 29 with role 'assistant' must not be empty", "the message at position 29 with role 'assistant' must not be empty", 29, -1, ""},
		{"position in a text", "Unexpected token } in JSON at position 29", "Unexpected token } in JSON at position 29", -1, -1, ""},
		{"number too large", "messages.99999999999999999999.content.1", "messages.99999999999999999999.content.1", -1, -1, ""},
		{"brackets", "Invalid 'messages[3].tool_calls[0].id': x", "Invalid 'messages[3].tool_calls[0].id': x", 3, -1, ""},
		{"data before top", `{"message":"top","data":{"message":"Deep"}}`, "Deep", -1, -1, ""},
		{"error before top", `{"message":"top","error":{"message":"e"}}`, "e", -1, -1, ""},
		{"data is a string", `{"message":"top","data":"x"}`, "top", -1, -1, ""},
		{"empty message", `{"message":"","data":{"error":{"message":"inner"}}}`, "inner", -1, -1, ""},
		{"no message", `{"code":5}`, `{"code":5}`, -1, -1, ""},
		{"JSON text", `"messages.1: x"`, "messages.1: x", 1, -1, ""},
		{"null", "null", "", -1, -1, ""},
		{"nothing", "", "", -1, -1, ""},
		{"of the provider", `{"type":"error","error":{"type":"invalid_request_error","message":"messages.1: m"}}`, "messages.1: m", 1, -1, ""},
		{"of OpenCode", `{"name":"APIError","data":{"message":"messages.2: m","statusCode":400,"isRetryable":false}}`, "messages.2: m", 2, -1, ""},
		{"a stored message", `{"id":"msg_1","error":{"name":"APIError","data":{"message":"messages.2: m"}}}`, "messages.2: m", 2, -1, ""},
		{
			"more in the body", `{"name":"APIError","data":{"message":"Bad Request","responseBody":"{\"error\":{\"message\":\"messages.6: tool_use without tool_result\"}}"}}`,
			"messages.6: tool_use without tool_result", 6, -1, "",
		},
		{"less in the body", `{"data":{"message":"messages.1: tool_use without tool_result","responseBody":"prompt is too long"}}`, "messages.1: tool_use without tool_result", 1, -1, ""},
	} {
		e := ParseAPIError([]byte(c.input))
		if e.Text != c.text || e.Index != c.index || e.Block != c.block || e.Tool != c.tool {
			t.Errorf("%s: ParseAPIError(%q) = %q, messages.%d.content.%d, tool %q; want %q, %d, %d, %q",
				c.name, c.input, e.Text, e.Index, e.Block, e.Tool, c.text, c.index, c.block, c.tool)
		}
	}
}

func FuzzParseAPIError(f *testing.F) {
	for _, s := range []string{
		`{"data":{"message":"messages.1.content.2: tool_use tool_result"}}`, `null`, `{"data":{"error":{"message":5}}}`, "no such tool: x",
		`{"error":{"data":{"responseBody":"{\"message\":\"x\"}"}}}`, `[1,"messages.3"]`, `"thinking is disabled"`, "messages.99999999999999999999", "\xff{",
	} {
		f.Add([]byte(s))
	}
	classes := append(Classes(), "", repair.AssistantPrefillUnsupported, repair.ThinkingBlockModified, repair.ThinkingSignature, repair.EncryptedReasoning, repair.ItemID, repair.OutputTooLong, repair.ContextTooLong, repair.UnavailableTool)
	f.Fuzz(func(t *testing.T, input []byte) {
		e := ParseAPIError(input)
		if !slices.Contains(classes, e.Class) || e.Index < -1 || e.Block < -1 || e.Block >= 0 && e.Index < 0 || e.Explanation == "" {
			t.Errorf("ParseAPIError(%q) = %+v", input, e)
		}
		if again := ParseAPIError([]byte(e.Text)); e.Class != "" && again.Class == "" && input[0] != '"' {
			t.Errorf("ParseAPIError(%q).Text = %q has lost the class %s", input, e.Text, e.Class)
		}
	})
}

// TestErrorRanks: ranks order the kinds of all tables as oh-my-opencode orders its classes. Kinds with the same rank
// have the same class and explanation.
func TestErrorRanks(t *testing.T) {
	ranks := map[int]provider.ErrorKind{}
	for _, texts := range allErrorTexts() {
		kinds := texts.Kinds
		for _, r := range texts.Rules {
			if r.Kind != nil {
				kinds = append(kinds, *r.Kind)
			}
		}
		for _, k := range kinds {
			if same, ok := ranks[k.Rank]; ok && (same.Class != k.Class || same.Explanation != k.Explanation) {
				t.Errorf("rank %d: both %q, %q and %q, %q", k.Rank, same.Class, same.Explanation, k.Class, k.Explanation)
			}
			ranks[k.Rank] = k
		}
	}
	want := []repair.Class{
		repair.AssistantPrefillUnsupported, repair.ThinkingBlockModified, repair.ThinkingSignature, repair.ThinkingBlockOrder, repair.ThinkingDisabledViolation,
		repair.FirstPromptMissing, repair.InvalidUnicode, repair.InvalidToolCall, repair.OutputTooLong, "", repair.InvalidFile, repair.ItemID, repair.EncryptedReasoning, "", repair.ThinkingBlockOrder, "", "",
		repair.ToolResultMissing, "", repair.ToolResultMissing, repair.UnavailableTool, repair.EmptyContentMessage, "", repair.ContextTooLong, repair.ContextTooLong,
		repair.ThinkingSignature, repair.IncompleteRecord, "", repair.IncompleteRecord, repair.IncompleteRecord, "", "", "", repair.UnreadableRecord, repair.InvalidFile,
		"", "", "", "", "", "", "", repair.UnreadableRecord,
	}
	var got []repair.Class
	for _, rank := range slices.Sorted(maps.Keys(ranks)) {
		got = append(got, ranks[rank].Class)
	}
	if !slices.Equal(got, want) {
		t.Errorf("classes by rank: %q, want %q", got, want)
	}
}
