package endpoint

import (
	"fmt"
	"strings"
)

// R5: no text block is empty.
func emptyText(c conversation) string {
	return c.find(func(b locatedBlock) string {
		if b.Type == "text" && b.Text == "" {
			return "messages: text content blocks must be non-empty"
		}
		return ""
	})
}

// R6: every message has content, except an assistant message at the very end.
func emptyMessage(c conversation) string {
	for n, m := range c.Messages {
		optional := n == len(c.Messages)-1 && m.Role == "assistant"
		if len(m.Content) == 0 && !optional && m.Role != "system" {
			return fmt.Sprintf("messages.%d: all messages must have non-empty content except for the optional final assistant message", n)
		}
	}
	return ""
}

// R11: no text block consists of white space only.
func blankText(c conversation) string {
	return c.find(func(b locatedBlock) string {
		if b.Type == "text" && b.Text != "" && strings.TrimSpace(b.Text) == "" {
			return "messages: text content blocks must contain non-whitespace text"
		}
		return ""
	})
}

// R12: the conversation ends with the user's turn.
func assistantLast(c conversation) string {
	if c.last().role == "assistant" {
		return "This model does not support assistant message prefill. The conversation must end with a user message."
	}
	return ""
}

// R16: the first turn is the user's.
func assistantFirst(c conversation) string {
	if len(c.turns) > 0 && c.turns[0].role != "user" {
		return `messages: first message must use the "user" role`
	}
	return ""
}
