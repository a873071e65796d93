package gemini

import (
	"slices"
	"strings"

	"mend/change"
	"mend/internal/provider"
	"mend/internal/request"
)

// rules are G0 to G13 of docs/providers.md. No agent's request violates G0, G1 and G3.
var rules = []provider.Rule{
	{
		Code: "G0", Text: "a request has contents",
		Error: "contents is not specified",
		Words: []string{"contents is not specified"}, Kind: &provider.EmptyContent,
	},
	{
		Code: "G1", Text: "the role of each message is user or model",
		Error: "Please use a valid role: user, model.",
		Words: []string{"please use a valid role"}, Kind: &provider.UnknownRole,
	},
	{
		Code: "G2", Text: "each message has parts",
		Error: "* GenerateContentRequest.contents[N].parts: contents.parts must not be empty.",
		Words: []string{"must include at least one parts field", "contents.parts must not be empty"},
		Kind:  &provider.EmptyContent, Find: provider.FindTurns(provider.EmptyTurn),
	},
	{
		Code: "G3", Text: "each part has data",
		Error: "required oneof field 'data' must have one initialized field",
		Words: []string{"required oneof field 'data'"}, Kind: &provider.EmptyContent,
	},
	{
		Code: "G4", Text: "a tool call follows a prompt or a tool result",
		Error: "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
		Words: []string{"function call turn comes immediately after a user turn"},
		Kind:  &provider.FirstPromptMissing,
		Find: provider.FindFirst(request.ToolUse, func(q request.Request, n int) bool {
			return n == 0 || provider.IsAssistant(q, n-1)
		}),
	},
	{
		Code: "G5", Text: "a tool result follows its call",
		Error: "Please ensure that function response turn comes immediately after a function call turn.",
		Words: []string{"function response turn comes immediately after a function call turn"},
		Kind:  &provider.ToolResultMissing,
		Find: provider.FindFirst(request.ToolResult, func(q request.Request, n int) bool {
			return n == 0 || provider.FirstBlock(q.Turns[n-1], request.ToolUse) < 0
		}),
	},
	{
		Code: "G6", Text: "there are as many tool results as calls",
		Error: "Please ensure that the number of function response parts is equal to the number of function call parts of " +
			"the function call turn.",
		Words: []string{"number of function response parts is equal to"},
		Kind:  &provider.ToolResultMissing, Find: provider.FindFirst(request.ToolUse, lacksResponses),
	},
	{
		Code: "G7", Text: "in Gemini 3 the first call of each step of the current turn has a thought signature",
		Error: "Function call is missing a thought_signature in functionCall parts. This is required for tools to work " +
			"correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call " +
			"`NAME`, position M.",
		Words: []string{"missing a thought_signature"},
		Kind:  &provider.SignatureMissing, Find: unsignedCall,
	},
	{
		Code: "G8", Text: "a thought signature that is sent is valid for this key and model",
		Error: "Corrupted thought signature.",
		Words: []string{
			"corrupted thought signature", "thought signature is not valid", "invalid thought signature",
		},
		Kind: &provider.EncryptedReasoning,
	},
	{
		Code: "G9", Text: "the input of a call is an object, and its name is not empty",
		Error: "Invalid value at 'contents[N].parts[M].function_call.args' (type.googleapis.com/google.protobuf.Struct), " +
			"INPUT",
		Words: []string{
			"function_call.args", "function_response.response", "function_call.name", "function_response.name",
		},
		Kind: &provider.InvalidToolCall,
		Find: provider.FindCalls(func(call *request.Block) bool {
			return call.ToolName == "" || call.Input != nil && string(call.Input) != "null" && provider.NoObject(call)
		}),
	},
	{
		Code: "G10", Text: "images are PNG, JPEG, GIF or WebP, and can be decoded",
		Error: "Unable to process input image. Please retry or report in " +
			"https://developers.generativeai.google/guide/troubleshooting",
		Words: []string{"unable to process input image", "provided image is not valid"},
		Kind:  &provider.InvalidFile, Find: provider.FindImages(provider.Undecodable),
	},
	{
		Code: "G12", Text: "the conversation ends with a user turn",
		Error: "Please ensure that multiturn requests end with a user role or a function response.",
		Words: []string{"multiturn requests end"},
		Kind:  &provider.EndsWithAnswer, Find: provider.FindTurns(provider.AssistantLast),
	},
	{
		Code: "G13", Text: "the request is valid JSON: no half of a surrogate pair",
		Error: "Invalid JSON payload received. no low surrogate in string",
		Words: []string{"invalid json payload … surrogate in string"},
		Kind:  &provider.InvalidUnicode, Find: provider.HalfPair,
	},
}

// lacksResponses reports whether the number of results in the turn after n differs from the number of calls in turn n.
func lacksResponses(q request.Request, n int) bool {
	responses := 0
	if n+1 < len(q.Turns) {
		responses = provider.CountBlocks(q.Turns[n+1].Blocks, request.ToolResult)
	}
	return provider.CountBlocks(q.Turns[n].Blocks, request.ToolUse) != responses
}

// unsignedCall checks G7. A prompt begins a turn, so earlier calls need no signature.
func unsignedCall(q request.Request, thinking bool) []request.Violation {
	if !strings.Contains(strings.ToLower(q.Model.ModelID), "gemini-3") {
		return nil
	}
	start := len(q.Turns)
	for n, t := range slices.Backward(q.Turns) {
		start = n
		if t.Role == change.RoleUser && provider.FirstBlock(t, request.ToolResult) < 0 {
			break
		}
	}
	unsigned := provider.FindFirst(request.ToolUse, func(q request.Request, n int) bool {
		m := provider.FirstBlock(q.Turns[n], request.ToolUse)
		return n >= start && q.Turns[n].Blocks[m].Signature == ""
	})
	return unsigned(q, thinking)
}
