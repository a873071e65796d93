package anthropic

import (
	"fmt"

	"mend/provider"
	"mend/request"
	"mend/session"
)

// Rules returns R1 to R21 of docs/providers.md, except R7 and R8: only the provider can
// verify a signature.
func (Provider) Rules() []provider.Rule {
	const reports = "public error reports, collected in docs/providers.md"
	return []provider.Rule{
		{Code: "R1", Find: callWithoutResult, Text: "every tool_use has its tool_result at the start of the next user turn; only tool_use may follow a tool_use in its turn", Source: reports},
		{Code: "R2", Find: resultWithoutCall, Text: "every tool_result answers a tool_use of the turn before", Source: reports},
		{Code: "R3", Find: thinkingNotFirst, Thinking: true, Text: "thinking on, tool loop open: the last assistant turn starts with a thinking block", Source: reports},
		{Code: "R4", Find: thinkingWhileOff, Thinking: true, Text: "thinking off: no thinking block in the final assistant turn", Source: reports},
		{Code: "R5", Find: emptyText, Text: "text blocks are not empty", Source: reports},
		{Code: "R6", Find: emptyTurn, Text: "no message without content, except a final assistant message", Source: reports},
		{Code: "R9", Find: unsignedThinking, Text: "a thinking block has a signature", Source: reports},
		{Code: "R10", Find: thinkingLast, Text: "no assistant turn ends with a thinking block", Source: reports},
		{Code: "R11", Find: blankText, Text: "text blocks contain more than whitespace", Source: reports},
		{Code: "R12", Find: assistantLast, Text: "the conversation ends with a user turn", Source: reports},
		{Code: "R13", Find: invalidToolID, Text: "tool ids match ^[a-zA-Z0-9_-]+$", Source: reports},
		{Code: "R14", Find: inputNotObject, Text: "tool_use.input is an object", Source: reports},
		{Code: "R15", Find: largeImage, Text: "an image is at most 5 MB", Source: reports},
		{Code: "R16", Find: assistantFirst, Text: "the first turn is the user's", Source: reports},
		{Code: "R17", Find: repeatedToolID, Text: "tool_use ids are unique", Source: reports},
		{Code: "R18", Find: noImage, Text: "an image is not empty, is base64, and can be decoded", Source: "anthropics/claude-code#8646, #12750, gajae-code#2806"},
		{Code: "R19", Find: otherImageType, Text: "the media type of an image is image/jpeg, image/png, image/gif or image/webp", Source: "anthropics/claude-code#3073, #8184"},
		{Code: "R20", Find: wrongImageType, Text: "the media type of an image is that of its data", Source: "anthropics/claude-code#35234, #15746"},
		{Code: "R21", Find: wideImage, Text: "an image has at most 8000 pixels a side, and 2000 if there are more than 20 images", Source: "anthropics/claude-code#14412, #52220, Anthropic's documentation of vision"},
	}
}

// eachBlock calls f for every block of a type, in order. Blocks inside a result are not
// included.
func eachBlock(turns []request.Turn, kind request.BlockType, f func(n, m int, b *request.Block)) {
	for n := range turns {
		for m, b := range turns[n].Blocks {
			if b.Type == kind {
				f(n, m, b)
			}
		}
	}
}

// lastAssistant returns the index of the last assistant turn, or -1.
func lastAssistant(turns []request.Turn) int {
	for n := len(turns) - 1; n >= 0; n-- {
		if turns[n].Role == session.RoleAssistant {
			return n
		}
	}
	return -1
}

// toolLoopOpen reports whether the last turn holds a tool result, even if text of the
// user follows it: the model continues its last turn.
func toolLoopOpen(turns []request.Turn) bool {
	n := len(turns)
	return n > 0 && firstBlock(turns[n-1], request.ToolResult) >= 0
}

// firstBlock returns the index of the turn's first block of a type, or -1.
func firstBlock(t request.Turn, kind request.BlockType) int {
	for m, b := range t.Blocks {
		if b.Type == kind {
			return m
		}
	}
	return -1
}

// blockViolation returns a violation at one block. The message is about "messages.n.content.m"
// followed by text.
func blockViolation(n, m int, b *request.Block, text string) request.Violation {
	return request.Violation{Message: path(n, m) + text, Refs: request.Sources(b), N: n, M: m, Block: b}
}

// path is the provider's name for a block.
func path(n, m int) string { return fmt.Sprintf("messages.%d.content.%d", n, m) }
