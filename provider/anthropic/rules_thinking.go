package anthropic

import (
	"fmt"

	"mend/request"
	"mend/session"
)

// thinkingNotFirst is R3.
func thinkingNotFirst(r request.Request, thinking bool) []request.Violation {
	n := lastAssistant(r.Turns)
	if !thinking || n < 0 || !toolLoopOpen(r.Turns) || len(r.Turns[n].Blocks) == 0 {
		return nil
	}
	b := r.Turns[n].Blocks[0]
	if b.IsThinking() {
		return nil
	}
	const words = ".type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
	return []request.Violation{blockViolation(n, 0, b, fmt.Sprintf(words, b.Type))}
}

// thinkingWhileOff is R4. The final assistant turn is the one that the model continues: the last one while
// the tool loop is open, or the one that ends the conversation. Thinking of earlier turns
// is allowed in both modes.
func thinkingWhileOff(r request.Request, thinking bool) (found []request.Violation) {
	n := lastAssistant(r.Turns)
	if thinking || n < 0 || !toolLoopOpen(r.Turns) && n != len(r.Turns)-1 {
		return nil
	}
	for m, b := range r.Turns[n].Blocks {
		if b.IsThinking() {
			found = append(found, blockViolation(n, m, b, fmt.Sprintf(": When thinking is disabled, an `assistant` message in the final position cannot contain `%s`.", b.Type)))
		}
	}
	return found
}

// unsignedThinking is R9. An empty signature counts as one.
func unsignedThinking(r request.Request, _ bool) (found []request.Violation) {
	eachBlock(r.Turns, request.Thinking, func(n, m int, b *request.Block) {
		if b.Unsigned {
			found = append(found, blockViolation(n, m, b, ".thinking.signature: Field required"))
		}
	})
	return found
}

// thinkingLast is R10.
func thinkingLast(r request.Request, _ bool) (found []request.Violation) {
	for n, t := range r.Turns {
		m := len(t.Blocks) - 1
		if t.Role == session.RoleAssistant && m >= 0 && t.Blocks[m].IsThinking() {
			found = append(found, request.Violation{
				Message: fmt.Sprintf("messages.%d: The final block in an assistant message cannot be `thinking`.", n),
				Refs:    request.Sources(t.Blocks[m]), N: n, M: m, Block: t.Blocks[m],
			})
		}
	}
	return found
}
