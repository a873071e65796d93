package openai

import (
	"fmt"
	"strings"

	"mend/provider"
	"mend/request"
	"mend/session"
)

// Provider is OpenAI's Responses API.
type Provider struct{}

var _ provider.Provider = Provider{}

// Name implements [provider.Provider].
func (Provider) Name() string { return "openai" }

// Rules implements [provider.Provider]: O1 to O13 of docs/providers.md, except O8 and O10,
// which only the provider can check, and O14, which no request of OpenCode violates.
func (Provider) Rules() []provider.Rule { return rules }

var rules = []provider.Rule{
	{Code: "O1", Find: callWithoutOutput, Text: "each function_call has its output", Source: "openai/codex#93, #5385", Confidence: "A"},
	{Code: "O2", Find: outputWithoutCall, Text: "each output has its call, before it", Source: "continuedev/continue#8773", Confidence: "A"},
	{Code: "O3", Find: itemsApart, Text: "items with ids of one response stay together: reasoning before what followed it", Source: "continuedev/continue#8933, openai/codex#1227", Confidence: "A"},
	{Code: "O4", Find: repeatedItem, Text: "no id of an item is there twice", Source: "OpenRouterTeam/ai-sdk-provider#254, continuedev/continue#10723", Confidence: "A"},
	{Code: "O5", Find: invalidName, Text: "the name of a tool matches ^[a-zA-Z0-9_-]+$", Source: "NousResearch/hermes-agent#95021", Confidence: "A"},
	{Code: "O6", Find: invalidCallID, Text: "an id has 1 to 64 characters", Source: "openai/codex#14355", Confidence: "A"},
	{Code: "O9", Find: brokenImage, Text: "an image is a PNG, JPEG, GIF or WebP that can be decoded", Source: "anomalyco/opencode#4781, #23983, openai/codex#5346", Confidence: "A"},
	{Code: "O11", Find: wrongPrefix, Text: "the id of an item has the prefix of its type", Source: "public error reports", Confidence: "B"},
	{Code: "O12", Find: longText, Text: "a text has at most 10485760 characters", Source: "openai/codex#13270", Confidence: "B"},
	{Code: "O13", Find: bareReasoning, Text: "reasoning has encrypted_content, unless the provider stores it", Source: "openai/codex#19661", Confidence: "B"},
}

// callWithoutOutput is O1.
func callWithoutOutput(q request.Request, _ bool) (found []request.Violation) {
	answered := map[string]int{}
	provider.EachBlock(q.Turns, func(n, _ int, b *request.Block) {
		if b.Type == request.ToolResult {
			answered[b.ToolID] = n
		}
	})
	provider.EachBlock(q.Turns, func(n, m int, b *request.Block) {
		if at, ok := answered[b.ToolID]; b.Type == request.ToolUse && (!ok || at < n) {
			found = append(found, provider.Violate(n, m, fmt.Sprintf("No tool output found for function call %s.", b.ToolID), b))
		}
	})
	return found
}

// outputWithoutCall is O2.
func outputWithoutCall(q request.Request, _ bool) (found []request.Violation) {
	called := map[string]bool{}
	provider.EachBlock(q.Turns, func(n, m int, b *request.Block) {
		switch {
		case b.Type == request.ToolUse:
			called[b.ToolID] = true
		case b.Type == request.ToolResult && !called[b.ToolID]:
			found = append(found, provider.Violate(n, m, fmt.Sprintf("No tool call found for function call output with call_id %s.", b.ToolID), b))
		}
	})
	return found
}

// item returns the block that is item n of the assistant, nil if it is another one.
func item(turns []request.Turn, n int) *request.Block {
	if n < 0 || n >= len(turns) || turns[n].Role != session.RoleAssistant || len(turns[n].Blocks) == 0 {
		return nil
	}
	return turns[n].Blocks[0]
}

// itemsApart is O3. Only items with ids are compared: without ids the provider takes them in
// any order. A call that is sent in full has no id, and counts as what follows reasoning.
func itemsApart(q request.Request, _ bool) (found []request.Violation) {
	for n := range q.Turns {
		b := item(q.Turns, n)
		if b == nil || b.ItemID == "" {
			continue
		}
		switch {
		case b.IsThinking():
			next := n + 1
			f := sameMessage(q.Turns, n, next)
			for f != nil && f.IsThinking() {
				next++
				f = sameMessage(q.Turns, n, next)
			}
			if f == nil || f.ItemID == "" && f.Type != request.ToolUse {
				found = append(found, provider.Violate(n, 0, fmt.Sprintf("Item '%s' of type 'reasoning' was provided without its required following item.", b.ItemID), b))
			}
		case b.Reasoned && !followsReasoning(q.Turns, n):
			kind := "message"
			if b.Type == request.ToolUse {
				kind = "function_call"
			}
			found = append(found, provider.Violate(n, 0, fmt.Sprintf("Item '%s' of type '%s' was provided without its required 'reasoning' item.", b.ItemID, kind), b))
		}
	}
	return found
}

// sameMessage returns the block that is item at, nil if it is not of the stored message of
// item n: another message is another response.
func sameMessage(turns []request.Turn, n, at int) *request.Block {
	b := item(turns, at)
	if b == nil || b.Ref().Message != turns[n].Blocks[0].Ref().Message {
		return nil
	}
	return b
}

// followsReasoning reports whether reasoning with an id comes before item n in its message.
func followsReasoning(turns []request.Turn, n int) bool {
	for at := n - 1; ; at-- {
		b := sameMessage(turns, n, at)
		switch {
		case b == nil:
			return false
		case b.IsThinking() && b.ItemID != "":
			return true
		}
	}
}

// repeatedItem is O4.
func repeatedItem(q request.Request, _ bool) (found []request.Violation) {
	first := map[string]*request.Block{}
	for n := range q.Turns {
		b := item(q.Turns, n)
		if b == nil || b.ItemID == "" {
			continue
		}
		if earlier, seen := first[b.ItemID]; seen {
			found = append(found, provider.Violate(n, 0, fmt.Sprintf("Duplicate item found with id %s. Remove duplicate items from your input and try again.", b.ItemID), b, earlier))
			continue
		}
		first[b.ItemID] = b
	}
	return found
}

// invalidName is O5.
func invalidName(q request.Request, _ bool) (found []request.Violation) {
	provider.EachBlock(q.Turns, func(n, m int, b *request.Block) {
		if b.Type == request.ToolUse && !provider.IsName(b.ToolName) {
			found = append(found, provider.Violate(n, m, fmt.Sprintf("Invalid 'input[%d].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", n), b))
		}
	})
	return found
}

// maxID is the length of the longest id.
const maxID = 64

// invalidCallID is O6. A result is reported only where its call is not.
func invalidCallID(q request.Request, _ bool) (found []request.Violation) {
	reported := map[session.Ref]bool{}
	provider.EachBlock(q.Turns, func(n, m int, b *request.Block) {
		if b.Type != request.ToolUse && b.Type != request.ToolResult {
			if len(b.ItemID) > maxID {
				found = append(found, provider.Violate(n, m, lengthError(fmt.Sprintf("input[%d].id", n), len(b.ItemID)), b))
			}
			return
		}
		if length := len([]rune(b.ToolID)); (length == 0 || length > maxID) && !reported[b.Ref()] {
			reported[b.Ref()] = true
			found = append(found, provider.Violate(n, m, lengthError(fmt.Sprintf("input[%d].call_id", n), length), b))
		}
	})
	return found
}

// lengthError returns what the API says of an id that is too long or empty.
func lengthError(field string, length int) string {
	if length == 0 {
		return fmt.Sprintf("Invalid '%s': empty string. Expected a string with minimum length 1, but got an empty string instead.", field)
	}
	return fmt.Sprintf("Invalid '%s': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", field, maxID, length)
}

// brokenImage is O9.
func brokenImage(q request.Request, _ bool) (found []request.Violation) {
	provider.EachImage(q.Turns, func(n, m, i int, b *request.Block) {
		if provider.IsDecodable(b) {
			return
		}
		field, at := "content", m
		if i >= 0 {
			field, at = "output", i
		}
		message := "The image data you provided does not represent a valid image. Please check your input and try again with one of the supported image formats: ['image/jpeg', 'image/png', 'image/gif', 'image/webp']."
		if len(b.Data) == 0 {
			message = fmt.Sprintf("Invalid 'input[%d].%s[%d].image_url'. Expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got empty base64-encoded bytes.", n, field, at)
		}
		found = append(found, provider.Violate(n, m, message, b))
	})
	return found
}

// wrongPrefix is O11.
func wrongPrefix(q request.Request, _ bool) (found []request.Violation) {
	for n := range q.Turns {
		b := item(q.Turns, n)
		if b == nil || b.ItemID == "" {
			continue
		}
		prefix := "msg"
		switch b.Type {
		case request.Thinking, request.RedactedThinking:
			prefix = "rs"
		case request.ToolUse:
			prefix = "fc"
		default:
		}
		if !strings.HasPrefix(b.ItemID, prefix) {
			found = append(found, provider.Violate(n, 0, fmt.Sprintf("Invalid 'input[%d].id': '%s'. Expected an ID that begins with '%s'.", n, b.ItemID, prefix), b))
		}
	}
	return found
}

// longText is O12.
func longText(q request.Request, _ bool) (found []request.Violation) {
	const limit = 10485760
	provider.EachBlock(q.Turns, func(n, m int, b *request.Block) {
		if length := provider.OutputLength(b, limit); length > 0 {
			field := fmt.Sprintf("content[%d].text", m)
			if b.Type == request.ToolResult {
				field = "output"
			}
			found = append(found, provider.Violate(n, m, fmt.Sprintf("Invalid 'input[%d].%s': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", n, field, limit, length), b))
		}
	})
	return found
}

// bareReasoning is O13.
func bareReasoning(q request.Request, _ bool) (found []request.Violation) {
	for n := range q.Turns {
		if b := item(q.Turns, n); b != nil && b.IsThinking() && b.Unsigned && !b.Reference {
			found = append(found, provider.Violate(n, 0, fmt.Sprintf("Missing required parameter: 'input[%d].encrypted_content'.", n), b))
		}
	}
	return found
}
