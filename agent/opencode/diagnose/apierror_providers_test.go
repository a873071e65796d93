package diagnose

import (
	"slices"
	"strings"
	"testing"

	"mend/internal/jsonedit"
	"mend/repair"
)

// providerErrors has the providers' error texts (docs/providers.md), and the values that mend parses from each.
var providerErrors = []struct {
	rule         string
	text         string
	class        repair.Class
	index, block int
	calls, items []string
}{
	{"O1", "No tool output found for function call call_abc.", repair.ToolResultMissing, -1, -1, []string{"call_abc"}, nil},
	{"O2", "No tool call found for function call output with call_id call_abc.", "", -1, -1, []string{"call_abc"}, nil},
	{"O3", "Item 'rs_68a1b2' of type 'reasoning' was provided without its required following item.", repair.ItemID, -1, -1, nil, []string{"rs_68a1b2"}},
	{"O3", "Item 'msg_0f1e2d' of type 'message' was provided without its required 'reasoning' item: 'rs_68a1b2'.", repair.ItemID, -1, -1, nil, []string{"msg_0f1e2d", "rs_68a1b2"}},
	{"O3", "Item 'fc_0f1e2d' of type 'function_call' was provided without its required 'reasoning' item: 'rs_68a1b2'.", repair.ItemID, -1, -1, []string{"fc_0f1e2d"}, []string{"fc_0f1e2d", "rs_68a1b2"}},
	{"O4", "Duplicate item found with id rs_68a1b2. Remove duplicate items from your input and try again.", repair.ItemID, -1, -1, nil, []string{"rs_68a1b2"}},
	{"O5", "Invalid 'input[7].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", repair.InvalidToolCall, 7, -1, nil, nil},
	{"O5", "Invalid 'input[7].name': empty string. Expected a string with minimum length 1, but got an empty string instead.", repair.InvalidToolCall, 7, -1, nil, nil},
	{"O6", "Invalid 'input[12].call_id': string too long. Expected a string with maximum length 64, but got a string with length 85 instead.", repair.InvalidToolCall, 12, -1, nil, nil},
	{"O6", "Invalid 'input[12].call_id': empty string. Expected a string with minimum length 1, but got an empty string instead.", repair.InvalidToolCall, 12, -1, nil, nil},
	{"O6", "Invalid 'input[12].id': string too long. Expected a string with maximum length 64, but got a string with length 412 instead.", repair.ItemID, 12, -1, nil, nil},
	{"O8", "The encrypted content gAAA...c90= could not be verified.", repair.EncryptedReasoning, -1, -1, nil, nil},
	{"O8", "The encrypted content gAAA...xxxx could not be verified. Reason: Encrypted content organization_id did not match the target organization.", repair.EncryptedReasoning, -1, -1, nil, nil},
	{"O8", "The encrypted content gAAA for item rs_0f1e2d could not be verified. Reason: Encrypted content could not be decrypted or parsed.", repair.EncryptedReasoning, -1, -1, nil, []string{"rs_0f1e2d"}},
	{"O8", "reasoning `encrypted_content` was not issued to this caller", repair.EncryptedReasoning, -1, -1, nil, nil},
	{"O9", "The image data you provided does not represent a valid image. Please check your input and try again with one of the supported image formats: ['image/jpeg', 'image/png', 'image/gif', 'image/webp'].", repair.InvalidFile, -1, -1, nil, nil},
	{"O9", "Invalid 'input[8].content[1].image_url'. Expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,...'), but got empty base64-encoded bytes.", repair.InvalidFile, 8, 1, nil, nil},
	{"O10", "Item with id 'rs_68a1b2' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.", repair.ItemID, -1, -1, nil, []string{"rs_68a1b2"}},
	{"O11", "Invalid 'input[3].id': 'prt_68a1b2'. Expected an ID that begins with 'msg'.", repair.ItemID, 3, -1, nil, nil},
	{"O12", "Invalid 'input[5].output': string too long. Expected a string with maximum length 10485760, but got a string with length 11500000 instead.", repair.OutputTooLong, 5, -1, nil, nil},
	{"O13", "Missing required parameter: 'input[9].encrypted_content'.", repair.EncryptedReasoning, 9, -1, nil, nil},
	{"O14", "Invalid 'input[9].content': array too long. Expected an array with maximum length 0, but got an array with length 1 instead.", "", 9, -1, nil, nil},

	{"C1", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_X, call_Y", repair.ToolResultMissing, -1, -1, []string{"call_X", "call_Y"}, nil},
	{"C2", "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", "", -1, -1, nil, nil},
	{"C3", "Invalid parameter: Duplicate value for 'tool_call_id' of 'call_X', in messages[7] and messages[8].", repair.InvalidToolCall, 7, -1, []string{"call_X"}, nil},
	{"C4", "Invalid 'messages[4].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 46 instead.", repair.InvalidToolCall, 4, -1, nil, nil},
	{"C4", "Invalid 'messages[4].tool_calls[0].id': empty string. Expected a string with minimum length 1, but got an empty string instead.", repair.InvalidToolCall, 4, -1, nil, nil},
	{"C5", "Invalid 'messages[4].tool_calls[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", repair.InvalidToolCall, 4, -1, nil, nil},
	{"C6", "Invalid value for 'content': expected a string, got null.", repair.EmptyContentMessage, -1, -1, nil, nil},
	{"C8", "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].", repair.InvalidFile, -1, -1, nil, nil},
	{"C9", "Invalid 'messages[6].content': string too long. Expected a string with maximum length 10485760, but got a string with length 11500000 instead.", repair.OutputTooLong, 6, -1, nil, nil},
	{"V1", "Invalid request: the message at position 29 with role 'assistant' must not be empty", repair.EmptyContentMessage, 29, -1, nil, nil},
	{"V1", "Invalid assistant message: content or tool_calls must be set", repair.EmptyContentMessage, -1, -1, nil, nil},
	{"V2", `<400> InternalError.Algo.InvalidParameter: The "function.arguments" parameter of the code model must be in JSON format.`, repair.InvalidToolCall, -1, -1, nil, nil},
	{"V3", "thinking is enabled but reasoning_content is missing in assistant tool call message at index 5", repair.ThinkingBlockOrder, 5, -1, nil, nil},
	{"V3", "The reasoning_content in the thinking mode must be passed back to the API.", repair.ThinkingBlockOrder, -1, -1, nil, nil},
	{"V4", "Duplicate value for 'tool_call_id' of call_X in message[9]", repair.InvalidToolCall, 9, -1, []string{"call_X"}, nil},

	{"G0", "* GenerateContentRequest.contents: contents is not specified", repair.EmptyContentMessage, -1, -1, nil, nil},
	{"G1", "Please use a valid role: user, model.", "", -1, -1, nil, nil},
	{"G2", "* GenerateContentRequest.contents[3].parts: contents.parts must not be empty.", repair.EmptyContentMessage, 3, -1, nil, nil},
	{"G2", "Unable to submit request because it must include at least one parts field, which describes the prompt input. Learn more: https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/gemini", repair.EmptyContentMessage, -1, -1, nil, nil},
	{"G3", "* GenerateContentRequest.contents[3].parts[1].data: required oneof field 'data' must have one initialized field", repair.EmptyContentMessage, 3, 1, nil, nil},
	{"G4", "Please ensure that function call turn comes immediately after a user turn or after a function response turn.", repair.FirstPromptMissing, -1, -1, nil, nil},
	{"G5", "Please ensure that function response turn comes immediately after a function call turn.", repair.ToolResultMissing, -1, -1, nil, nil},
	{"G6", "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.", repair.ToolResultMissing, -1, -1, nil, nil},
	{"G7", "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly. Additional data, function call `default_api:bash` , position 2.", "", -1, -1, nil, nil},
	{"G8", "Corrupted thought signature.", repair.EncryptedReasoning, -1, -1, nil, nil},
	{"G8", "Thought signature is not valid", repair.EncryptedReasoning, -1, -1, nil, nil},
	{"G8", "Invalid thought signature.", repair.EncryptedReasoning, -1, -1, nil, nil},
	{"G9", "Invalid value at 'contents[1].parts[2].function_call.args' (type.googleapis.com/google.protobuf.Struct), \"echo hi\"", repair.InvalidToolCall, 1, 2, nil, nil},
	{"G9", "* GenerateContentRequest.contents[1].parts[2].function_call.name: Name cannot be empty.", repair.InvalidToolCall, 1, 2, nil, nil},
	{"G9", "Invalid value at 'contents[4].parts[0].function_response.response' (type.googleapis.com/google.protobuf.Struct), \"hi\"", repair.InvalidToolCall, 4, 0, nil, nil},
	{"G10", "Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting", repair.InvalidFile, -1, -1, nil, nil},
	{"G10", "Provided image is not valid.", repair.InvalidFile, -1, -1, nil, nil},
	{"G12", "Please ensure that multiturn requests end with a user role or a function response.", repair.AssistantPrefillUnsupported, -1, -1, nil, nil},
	{"G12", "Please ensure that multiturn requests ends with a user role or a function response.", repair.AssistantPrefillUnsupported, -1, -1, nil, nil},
	{"", "Invalid value at 'contents[0].parts[2].inline_data.data' (TYPE_BYTES), Base64 decoding failed for \"data:image/png;base64\"", repair.InvalidFile, 0, 2, nil, nil},

	{"B1", "A conversation must start with a user message. Try again with a conversation that starts with a user message.", repair.FirstPromptMissing, -1, -1, nil, nil},
	{"B3", "The content field in the Message object at messages.4 is empty. Add a ContentBlock object to the content field and try again.", repair.EmptyContentMessage, 4, -1, nil, nil},
	{"B4", "The text field in the ContentBlock object at messages.5.content.1 is blank. Add text to the text field, and try again.", repair.EmptyContentMessage, 5, 1, nil, nil},
	{"B5", "1 validation error detected: Value 'a:b' at 'messages.2.member.content.3.member.toolUse.toolUseId' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+", repair.InvalidToolCall, 1, 2, nil, nil},
	{"B7", "The toolUse blocks at messages.1.content contain duplicate Ids: tooluse_1", repair.InvalidToolCall, 1, -1, []string{"tooluse_1"}, nil},
	{"B8", "Expected toolResult blocks at messages.2.content for the following Ids: tooluse_A_b", repair.ToolResultMissing, 2, -1, []string{"tooluse_A_b"}, nil},
	{"R7", "The model returned the following errors: messages.1.content.0: Invalid `signature` in `thinking` block", repair.ThinkingSignature, 1, 0, nil, nil},
	{"R10", "The model returned the following errors: messages.3: The final block in an assistant message cannot be `thinking`.", repair.ThinkingBlockOrder, 3, -1, nil, nil},
	{"R15", "The model returned the following errors: messages.2.content.0.image.source.base64: image exceeds 5 MB maximum: 5242881 bytes > 5242880 bytes", repair.InvalidFile, 2, 0, nil, nil},
	{"B10", "Unsupported image mime type: image/svg+xml, expected one of: image/jpeg, image/png, image/gif, image/webp", repair.InvalidFile, -1, -1, nil, nil},
	{"B10", "1 validation error detected: Value at 'messages.2.member.content.3.member.image.format' failed to satisfy constraint: Member must satisfy enum value set: [png, jpeg, gif, webp]", repair.InvalidFile, 1, 2, nil, nil},

	{"R18", "Could not process image", repair.InvalidFile, -1, -1, nil, nil},
	{"R18", "messages.50.content.0.image.source.base64: image cannot be empty", repair.InvalidFile, 50, 0, nil, nil},
	{"R18", "messages.335.content.0.tool_result.content.1.image.source.base64: invalid base64 data", repair.InvalidFile, 335, 0, nil, nil},
	{"R19", "messages.208.content.0.tool_result.content.0.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'", repair.InvalidFile, 208, 0, nil, nil},
	{"R20", "messages.6.content.5.image.source.base64.data: Image does not match the provided media type image/png", repair.InvalidFile, 6, 5, nil, nil},
	{"R20", "messages.2.content.0.image.source.base64: The image was specified using the image/png media type, but the image appears to be a image/jpeg image", repair.InvalidFile, 2, 0, nil, nil},
	{"R21", "messages.59.content.12.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels", repair.InvalidFile, 59, 12, nil, nil},
}

// wrappings returns the forms of a provider's text in SDKs, OpenCode's store and events, gateways and proxies.
func wrappings() map[string]func(text string) string {
	quote := func(s string) string { return string(jsonedit.Quote(s)) }
	body := func(m string) string {
		return `{"error":{"message":` + quote(m) + `,"type":"invalid_request_error","param":"input","code":null}}`
	}
	google := func(m string) string {
		return `{"error":{"code":400,"message":` + quote(m) + `,"status":"INVALID_ARGUMENT"}}`
	}
	amazon := func(m string) string { return `{"message":` + quote(m) + `}` }
	stored := func(m, body string) string {
		return `{"name":"APIError","data":{"message":` + quote(m) + `,"statusCode":400,"isRetryable":false,"responseHeaders":{"content-type":"application/json"},"responseBody":` + quote(body) + `,"metadata":{"url":"http://127.0.0.1/v1/responses"}}}`
	}
	return map[string]func(string) string{
		"plain":               func(m string) string { return m },
		"prefix of the SDK":   func(m string) string { return "AI_APICallError: " + m },
		"prefix of the name":  func(m string) string { return "APICallError [AI_APICallError]: " + m },
		"status":              func(m string) string { return "Error: 400 " + m },
		"OpenAI's body":       body,
		"Google's body":       google,
		"Amazon's body":       amazon,
		"Google's list":       func(m string) string { return "[" + google(m) + "]" },
		"stored, OpenAI":      func(m string) string { return stored(m, body(m)) },
		"stored, Google":      func(m string) string { return stored(m, google(m)) },
		"stored, Bedrock":     func(m string) string { return stored("undefined: "+m, amazon(m)) },
		"stored, Bad Request": func(m string) string { return stored("Bad Request", body(m)) },
		"stored message": func(m string) string {
			return `{"id":"msg_1","role":"assistant","error":` + stored(m, body(m)) + `}`
		},
		"event": func(m string) string { return `{"type":"error","error":` + stored(m, body(m)) + `}` },
		"unknown error": func(m string) string {
			return `{"name":"UnknownError","data":{"message":` + quote(m) + `}}`
		},
		"body in a message": func(m string) string { return `{"name":"UnknownError","data":{"message":` + quote(body(m)) + `}}` },
		"OpenRouter": func(m string) string {
			return `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":` + quote(google(m)) + `,"provider_name":"Google"}}}`
		},
		"stored, OpenRouter": func(m string) string {
			return stored("Provider returned error", `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":`+quote(body(m))+`}}}`)
		},
		"LiteLLM":         func(m string) string { return "litellm.BadRequestError: OpenAIException - " + m },
		"a vendor's name": func(m string) string { return "[Moonshot AI] " + m + " (400)" },
	}
}

// TestProviderErrors: every text is recognised in every form, with its class, its rule and its position.
func TestProviderErrors(t *testing.T) {
	for _, c := range providerErrors {
		for name, wrap := range wrappings() {
			input := wrap(c.text)
			e := ParseAPIError([]byte(input))
			if !e.Recognised || e.Class != c.class || e.Rule != c.rule || e.Explanation == "" {
				t.Errorf("%s: ParseAPIError(%.300s) = class %q, rule %q, recognised %t; want %q, %q", name, input, e.Class, e.Rule, e.Recognised, c.class, c.rule)
			}
			if e.Index != c.index || e.Block != c.block {
				t.Errorf("%s: ParseAPIError(%.300s) is at %d, %d; want %d, %d", name, input, e.Index, e.Block, c.index, c.block)
			}
			if !slices.Equal(e.Calls, c.calls) || !slices.Equal(e.Items, c.items) {
				t.Errorf("%s: ParseAPIError(%.300s) has the calls %q and the items %q; want %q, %q", name, input, e.Calls, e.Items, c.calls, c.items)
			}
		}
	}
}

// TestProviderErrorsAPI: an error's API is the API of its rule, or else the API whose paths look like the error's
// position.
func TestProviderErrorsAPI(t *testing.T) {
	apis := map[string]string{"O": "openai", "C": "chat", "V": "chat", "G": "gemini", "B": "bedrock", "R": "anthropic"}
	for _, c := range providerErrors {
		if e := ParseAPIError([]byte(c.text)); c.rule != "" && e.API != apis[c.rule[:1]] {
			t.Errorf("ParseAPIError(%q).API = %q, want %q", c.text, e.API, apis[c.rule[:1]])
		}
	}
	if e := ParseAPIError([]byte("contents[3].parts[1]: what is this")); e.API != "gemini" {
		t.Errorf("API of a position alone = %q, want gemini", e.API)
	}
}

// TestProviderErrorsCase: upper and lower case do not matter.
func TestProviderErrorsCase(t *testing.T) {
	for _, c := range providerErrors {
		if e := ParseAPIError([]byte(strings.ToUpper(c.text))); e.Class != c.class || e.Rule != c.rule {
			t.Errorf("ParseAPIError(%q) = %q, %q; want %q, %q", strings.ToUpper(c.text), e.Class, e.Rule, c.class, c.rule)
		}
	}
}
