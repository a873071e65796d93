package wire

import (
	"fmt"

	"mend/session"
)

// R3: thinking on and the tool loop open, the model's last turn starts with
// thinking.
func thinkingNotFirst(c conversation, found func(Violation)) {
	n := c.lastAnswer()
	if !c.thinking || n < 0 || !c.loopOpen() || len(c.turns[n].Blocks) == 0 {
		return
	}
	if b := c.turns[n].Blocks[0]; !b.isThinking() {
		found(Violation{
			Message: fmt.Sprintf("%s.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).", place(n, 0), b.Type),
			Refs:    refs(b), N: n, M: 0,
		})
	}
}

// R4: thinking off, the turn that the model goes on with holds no thinking: its
// last one while the tool loop is open, or where it ends the conversation. What
// it thought before does not count: the agent sends that in either case.
func thinkingWhileOff(c conversation, found func(Violation)) {
	n := c.lastAnswer()
	if c.thinking || n < 0 || !c.loopOpen() && n != len(c.turns)-1 {
		return
	}
	for m := range c.turns[n].Blocks {
		if b := c.turns[n].Blocks[m]; b.isThinking() {
			found(Violation{
				Message: fmt.Sprintf("%s: When thinking is disabled, an `assistant` message in the final position cannot contain `%s`.", place(n, m), b.Type),
				Refs:    refs(b), N: n, M: m,
			})
		}
	}
}

// R9: thinking has a signature, be it empty.
func unsignedThinking(c conversation, found func(Violation)) {
	c.eachBlock(Thinking, func(n, m int, b *Block) {
		if b.Unsigned {
			found(Violation{Message: place(n, m) + ".thinking.signature: Field required", Refs: refs(b), N: n, M: m})
		}
	})
}

// R10: no turn of the model ends with thinking.
func thinkingLast(c conversation, found func(Violation)) {
	for n, t := range c.turns {
		m := len(t.Blocks) - 1
		if t.Role == session.RoleAssistant && m >= 0 && t.Blocks[m].isThinking() {
			found(Violation{
				Message: fmt.Sprintf("messages.%d: The final block in an assistant message cannot be `thinking`.", n),
				Refs:    refs(t.Blocks[m]), N: n, M: m,
			})
		}
	}
}
