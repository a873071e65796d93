package gemini

import (
	"fmt"
	"slices"
	"strings"

	"mend/provider"
	"mend/request"
	"mend/session"
)

// Provider is Google's Gemini API.
type Provider struct{}

var _ provider.Provider = Provider{}

// Name implements [provider.Provider].
func (Provider) Name() string { return "gemini" }

// Rules implements [provider.Provider]: G2 to G12 of docs/providers.md, except G8, which only
// the provider can check.
func (Provider) Rules() []provider.Rule { return rules }

var rules = []provider.Rule{
	{Code: "G2", Find: emptyContent, Text: "each content has parts", Source: "anomalyco/opencode#28669, vercel/ai#3775", Confidence: "A"},
	{Code: "G4", Find: callAfterModel, Text: "a turn with calls follows one of the user or one with responses", Source: "google-gemini/gemini-cli#26486, #11814", Confidence: "A"},
	{Code: "G5", Find: responsesApart, Text: "the responses follow the calls at once", Source: "langchain-ai/langchain#27799", Confidence: "A"},
	{Code: "G6", Find: responsesMissing, Text: "there are as many responses as calls", Source: "anomalyco/opencode#43479", Confidence: "A"},
	{Code: "G7", Find: unsignedCall, Text: "Gemini 3: the first call of each step of the current turn has a signature", Source: "Google's documentation of thought signatures, anomalyco/opencode#4832", Confidence: "A"},
	{Code: "G9", Find: invalidCall, Text: "the arguments of a call are an object, and its name is not empty", Source: "public error reports", Confidence: "B"},
	{Code: "G10", Find: brokenImage, Text: "an image is a PNG, JPEG, GIF or WebP that can be decoded", Source: "public error reports", Confidence: "B"},
	{Code: "G12", Find: modelLast, Text: "the conversation ends with a user turn", Source: "songquanpeng/one-api#836, crewAIInc/crewAI#6973", Confidence: "B"},
}

// count returns how many blocks of a type the turn has.
func count(t request.Turn, kind request.BlockType) (n int) {
	for _, b := range t.Blocks {
		if b.Type == kind {
			n++
		}
	}
	return n
}

// first returns the position of the turn's first block of a type, -1 for none.
func first(t request.Turn, kind request.BlockType) int {
	return slices.IndexFunc(t.Blocks, func(b *request.Block) bool { return b.Type == kind })
}

// emptyContent is G2.
func emptyContent(q request.Request, _ bool) (found []request.Violation) {
	for n, t := range q.Turns {
		if len(t.Blocks) == 0 {
			found = append(found, request.Violation{
				Message: fmt.Sprintf("* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.", n),
				Refs:    t.Messages, N: n, M: -1,
			})
		}
	}
	return found
}

// callAfterModel is G4.
func callAfterModel(q request.Request, _ bool) (found []request.Violation) {
	for n, t := range q.Turns {
		m := first(t, request.ToolUse)
		if m >= 0 && (n == 0 || q.Turns[n-1].Role == session.RoleAssistant) {
			found = append(found, provider.Violate(n, m, "Please ensure that function call turn comes immediately after a user turn or after a function response turn.", t.Blocks[m]))
		}
	}
	return found
}

// responsesApart is G5.
func responsesApart(q request.Request, _ bool) (found []request.Violation) {
	for n, t := range q.Turns {
		m := first(t, request.ToolResult)
		if m >= 0 && (n == 0 || first(q.Turns[n-1], request.ToolUse) < 0) {
			found = append(found, provider.Violate(n, m, "Please ensure that function response turn comes immediately after a function call turn.", t.Blocks[m]))
		}
	}
	return found
}

// responsesMissing is G6.
func responsesMissing(q request.Request, _ bool) (found []request.Violation) {
	for n, t := range q.Turns {
		calls, responses := count(t, request.ToolUse), 0
		if n+1 < len(q.Turns) {
			responses = count(q.Turns[n+1], request.ToolResult)
		}
		if calls > 0 && calls != responses {
			m := first(t, request.ToolUse)
			found = append(found, provider.Violate(n, m, "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.", t.Blocks[m]))
		}
	}
	return found
}

// unsignedCall is G7. A prompt begins a turn, so what comes before it needs no signature.
func unsignedCall(q request.Request, _ bool) (found []request.Violation) {
	if !strings.Contains(strings.ToLower(q.Model.ModelID), "gemini-3") {
		return nil
	}
	start := len(q.Turns)
	for n, t := range slices.Backward(q.Turns) {
		start = n
		if t.Role == session.RoleUser && first(t, request.ToolResult) < 0 {
			break
		}
	}
	for n := start; n < len(q.Turns); n++ {
		if m := first(q.Turns[n], request.ToolUse); m >= 0 && q.Turns[n].Blocks[m].Signature == "" {
			b := q.Turns[n].Blocks[m]
			found = append(found, provider.Violate(n, m, fmt.Sprintf("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `%s`, position %d.", b.ToolName, m+1), b))
		}
	}
	return found
}

// invalidCall is G9.
func invalidCall(q request.Request, _ bool) (found []request.Violation) {
	provider.EachBlock(q.Turns, func(n, m int, b *request.Block) {
		switch {
		case b.Type != request.ToolUse:
		case b.ToolName == "":
			found = append(found, provider.Violate(n, m, fmt.Sprintf("* GenerateContentRequest.contents[%d].parts[%d].function_call.name: Name cannot be empty.", n, m), b))
		case !provider.IsObject(b.Input) && string(b.Input) != "null":
			found = append(found, provider.Violate(n, m, fmt.Sprintf("Invalid value at 'contents[%d].parts[%d].function_call.args' (type.googleapis.com/google.protobuf.Struct), %s", n, m, short(b.Input)), b))
		}
	})
	return found
}

// short returns the start of a value.
func short(data []byte) string { return string(data[:min(len(data), 80)]) }

// brokenImage is G10.
func brokenImage(q request.Request, _ bool) (found []request.Violation) {
	provider.EachImage(q.Turns, func(n, m, _ int, b *request.Block) {
		if !provider.IsDecodable(b) {
			found = append(found, provider.Violate(n, m, "Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting", b))
		}
	})
	return found
}

// modelLast is G12.
func modelLast(q request.Request, _ bool) []request.Violation {
	n := len(q.Turns) - 1
	if n < 0 || q.Turns[n].Role != session.RoleAssistant {
		return nil
	}
	return []request.Violation{{
		Message: "Please ensure that multiturn requests end with a user role or a function response.",
		Refs:    q.Turns[n].Messages, N: n, M: -1,
	}}
}
