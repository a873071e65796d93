package endpoint

import (
	"fmt"
	"reflect"
)

// R3: if thinking is on and a tool loop open, the assistant's last turn starts with thinking.
func thinkingNotFirst(c conversation) string {
	t := c.lastAssistant()
	if !c.Thinking.On() || !c.loopOpen() || len(t.blocks) == 0 || t.blocks[0].isThinking() {
		return ""
	}
	b := t.blocks[0]
	return fmt.Sprintf("%s.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).", b.path(), b.Type)
}

// R4: if thinking is off, the turn that the assistant continues has no thinking: its last one while the tool
// loop is open, or if it ends the conversation.
func thinkingWhileOff(c conversation) string {
	if c.Thinking.On() || !c.loopOpen() && c.last().role != "assistant" {
		return ""
	}
	for _, b := range c.lastAssistant().blocks {
		if b.isThinking() {
			return b.path() + ": When thinking is disabled, an `assistant` message in the final position cannot contain `" + b.Type + "`."
		}
	}
	return ""
}

// R7: a signature matches its thinking.
func badSignature(c conversation) string {
	return c.find(func(b locatedBlock) string {
		if b.Type == "thinking" && b.Signature != nil && *b.Signature != Sign(b.Thinking) {
			return b.path() + ": Invalid `signature` in `thinking` block"
		}
		return ""
	})
}

// R8: the thinking in the assistant's last turn equals the earlier answers', complete and in order, or is
// left out completely.
func changedThinking(c conversation) string {
	t := c.lastAssistant()
	var previous Content
	for _, a := range c.previous {
		if t.contains(a) {
			previous = append(previous, a.thinking()...)
		}
	}
	if now := t.content().thinking(); previous == nil || now == nil || reflect.DeepEqual(now, previous) {
		return ""
	}
	return t.firstThinking().path() + ": `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response."
}

// contains reports whether the turn has an earlier answer, identified by the ids of its tool calls, or by its
// text if it has none.
func (t turn) contains(answer Content) bool {
	texts, calls := map[string]bool{}, map[string]bool{}
	for _, b := range t.blocks {
		texts[b.Text], calls[b.ID] = true, true
	}
	found := false
	for _, b := range answer {
		switch b.Type {
		case "tool_use":
			return calls[b.ID]
		case "text":
			found = found || texts[b.Text]
		}
	}
	return found
}

// firstThinking returns the turn's first thinking block; it must have one.
func (t turn) firstThinking() locatedBlock {
	for _, b := range t.blocks {
		if b.isThinking() {
			return b
		}
	}
	return locatedBlock{}
}

// R9: a thinking block has a signature.
func missingSignature(c conversation) string {
	return c.find(func(b locatedBlock) string {
		if b.Type == "thinking" && b.Signature == nil {
			return b.path() + ".thinking.signature: Field required"
		}
		return ""
	})
}

// R10: no turn of the assistant ends with thinking.
func thinkingLast(c conversation) string {
	for _, t := range c.turns {
		if n := len(t.blocks); t.role == "assistant" && n > 0 && t.blocks[n-1].isThinking() {
			return fmt.Sprintf("messages.%d: The final block in an assistant message cannot be `thinking`.", t.blocks[n-1].message)
		}
	}
	return ""
}
