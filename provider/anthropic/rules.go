package anthropic

import (
	"fmt"

	"mend/provider"
	"mend/request"
	"mend/session"
)

// Rules returns R1 to R17 of docs/providers.md, except R7 and R8: only the provider can
// verify a signature.
func (Provider) Rules() []provider.Rule {
	const reports = "public error reports, collected in docs/providers.md"
	return []provider.Rule{
		{Code: "R1", Find: callWithoutResult, Text: "every tool_use has its tool_result at the start of the next user turn, and only tool_use follows a tool_use in its turn", Source: reports},
		{Code: "R2", Find: resultWithoutCall, Text: "every tool_result answers a tool_use of the turn before", Source: reports},
		{Code: "R3", Find: thinkingNotFirst, Thinking: true, Text: "with thinking, while the tool loop is open, the last assistant turn starts with thinking", Source: reports},
		{Code: "R4", Find: thinkingWhileOff, Thinking: true, Text: "without thinking, the final assistant turn holds no thinking", Source: reports},
		{Code: "R5", Find: emptyText, Text: "no text is empty", Source: reports},
		{Code: "R6", Find: emptyTurn, Text: "every turn has content, except a final assistant turn", Source: reports},
		{Code: "R9", Find: unsignedThinking, Text: "thinking has a signature", Source: reports},
		{Code: "R10", Find: thinkingLast, Text: "no assistant turn ends with thinking", Source: reports},
		{Code: "R11", Find: blankText, Text: "no text is only white space", Source: reports},
		{Code: "R12", Find: assistantLast, Text: "the conversation ends with a user turn", Source: reports},
		{Code: "R13", Find: invalidToolID, Text: "ids of tool calls consist of letters, digits, underscores and hyphens", Source: reports},
		{Code: "R14", Find: inputNotObject, Text: "the input of a tool call is an object", Source: reports},
		{Code: "R15", Find: largeImage, Text: "an image is at most 5 MB of base64", Source: reports},
		{Code: "R16", Find: assistantFirst, Text: "the first turn is the user's", Source: reports},
		{Code: "R17", Find: repeatedToolID, Text: "ids of tool calls are unique", Source: reports},
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
	return request.Violation{Message: path(n, m) + text, Refs: request.Sources(b), N: n, M: m}
}

// path is the provider's name for a block.
func path(n, m int) string { return fmt.Sprintf("messages.%d.content.%d", n, m) }
