package endpoint

import "fmt"

// A turn is what neighbouring messages of one role are to the provider.
type turn struct {
	role   string
	blocks []placed
}

// A placed block knows where it stood in the request.
type placed struct {
	Block
	message, content int
}

// at names the block the way the provider does.
func (p placed) at() string { return fmt.Sprintf("messages.%d.content.%d", p.message, p.content) }

// join makes turns of messages, in order.
func join(messages []Message) []turn {
	var turns []turn
	for n, m := range messages {
		if len(turns) == 0 || turns[len(turns)-1].role != m.Role {
			turns = append(turns, turn{role: m.Role})
		}
		last := &turns[len(turns)-1]
		for i, b := range m.Content {
			last.blocks = append(last.blocks, placed{b, n, i})
		}
	}
	return turns
}

// content returns the turn's blocks without their places.
func (t turn) content() Content {
	out := make(Content, len(t.blocks))
	for i, b := range t.blocks {
		out[i] = b.Block
	}
	return out
}

// has reports whether a block of the type is in the turn.
func (t turn) has(kind string) bool {
	for _, b := range t.blocks {
		if b.Type == kind {
			return true
		}
	}
	return false
}

// leadingResults returns the ids that the turn's tool results answer, up to
// the first block of another type.
func (t turn) leadingResults() map[string]bool {
	ids := map[string]bool{}
	for _, b := range t.blocks {
		if b.Type != "tool_result" {
			break
		}
		ids[b.ToolUseID] = true
	}
	return ids
}
