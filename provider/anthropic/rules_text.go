package anthropic

import (
	"fmt"
	"strings"

	"mend/request"
	"mend/session"
)

// emptyText is R5.
func emptyText(r request.Request, _ bool) (found []request.Violation) {
	eachBlock(r.Turns, request.Text, func(n, m int, b *request.Block) {
		if b.Text == "" {
			found = append(found, request.Violation{Message: "messages: text content blocks must be non-empty", Refs: request.Sources(b), N: n, M: m, Block: b})
		}
	})
	return found
}

// emptyTurn is R6.
func emptyTurn(r request.Request, _ bool) (found []request.Violation) {
	for n, t := range r.Turns {
		optional := n == len(r.Turns)-1 && t.Role == session.RoleAssistant
		if len(t.Blocks) == 0 && !optional {
			found = append(found, request.Violation{
				Message: fmt.Sprintf("messages.%d: all messages must have non-empty content except for the optional final assistant message", n),
				Refs:    t.Messages, N: n, M: -1,
			})
		}
	}
	return found
}

// blankText is R11.
func blankText(r request.Request, _ bool) (found []request.Violation) {
	eachBlock(r.Turns, request.Text, func(n, m int, b *request.Block) {
		if b.Text != "" && strings.TrimSpace(b.Text) == "" {
			found = append(found, request.Violation{Message: "messages: text content blocks must contain non-whitespace text", Refs: request.Sources(b), N: n, M: m, Block: b})
		}
	})
	return found
}

// assistantLast is R12.
func assistantLast(r request.Request, _ bool) []request.Violation {
	n := len(r.Turns) - 1
	if n < 0 || r.Turns[n].Role != session.RoleAssistant {
		return nil
	}
	return []request.Violation{{
		Message: "This model does not support assistant message prefill. The conversation must end with a user message.",
		Refs:    r.Turns[n].Messages, N: n, M: -1,
	}}
}

// assistantFirst is R16.
func assistantFirst(r request.Request, _ bool) []request.Violation {
	if len(r.Turns) == 0 || r.Turns[0].Role == session.RoleUser {
		return nil
	}
	return []request.Violation{{Message: `messages: first message must use the "user" role`, Refs: r.Turns[0].Messages, N: 0, M: -1}}
}
