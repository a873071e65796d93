package endpoint

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

var toolID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// R1: every tool call has its result at the start of the next user turn, and only tool calls follow a tool
// call.
func toolUseWithoutResult(c conversation) string {
	for i, t := range c.turns {
		answered := map[string]bool{}
		if i+1 < len(c.turns) {
			answered = c.turns[i+1].leadingResults()
		}
		var unanswered []string
		message, interrupted := 0, false
		for j := len(t.blocks) - 1; j >= 0; j-- {
			b := t.blocks[j]
			if b.Type != "tool_use" {
				interrupted = true
			} else if interrupted || !answered[b.ID] {
				unanswered, message = append([]string{b.ID}, unanswered...), b.message
			}
		}
		if len(unanswered) > 0 {
			return fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", message, strings.Join(unanswered, ", "))
		}
	}
	return ""
}

// R2: every tool result answers a tool call of the previous turn.
func toolResultWithoutUse(c conversation) string {
	called := map[string]bool{}
	for _, t := range c.turns {
		next := map[string]bool{}
		for _, b := range t.blocks {
			if b.Type == "tool_result" && !called[b.ToolUseID] {
				return fmt.Sprintf("%s: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", b.path(), b.ToolUseID)
			}
			if b.Type == "tool_use" {
				next[b.ID] = true
			}
		}
		called = next
	}
	return ""
}

// R13: tool ids are made of letters, digits, underscore and hyphen.
func badToolID(c conversation) string {
	return c.find(func(b locatedBlock) string {
		switch {
		case b.Type == "tool_use" && !toolID.MatchString(b.ID):
			return b.path() + ".tool_use.id: String should match pattern '" + toolID.String() + "'"
		case b.Type == "tool_result" && !toolID.MatchString(b.ToolUseID):
			return b.path() + ".tool_result.tool_use_id: String should match pattern '" + toolID.String() + "'"
		}
		return ""
	})
}

// R14: the input of a tool call is an object.
func badToolInput(c conversation) string {
	return c.find(func(b locatedBlock) string {
		if b.Type == "tool_use" && !bytes.HasPrefix(bytes.TrimSpace(b.Input), []byte("{")) {
			return b.path() + ".tool_use.input: Input should be a valid dictionary"
		}
		return ""
	})
}

// R17: no two tool calls of the conversation have one id.
func repeatedToolID(c conversation) string {
	seen := map[string]bool{}
	return c.find(func(b locatedBlock) string {
		if b.Type != "tool_use" {
			return ""
		}
		if seen[b.ID] {
			return fmt.Sprintf("messages.%d: `tool_use` ids must be unique", b.message)
		}
		seen[b.ID] = true
		return ""
	})
}
