package endpoint

import "fmt"

// A turn is a run of neighbouring messages of one role, which the provider joins.
type turn struct {
	role   string
	blocks []locatedBlock
}

// A locatedBlock is a block with its position in the request.
type locatedBlock struct {
	Block
	message, content int
}

// path returns the block's path as in the provider's messages.
func (p locatedBlock) path() string {
	return fmt.Sprintf("messages.%d.content.%d", p.message, p.content)
}

// joinTurns returns the turns of messages, in order. Messages of the role system, which Claude Code sends
// between others, belong to no turn.
func joinTurns(messages []Message) []turn {
	var turns []turn
	for n, m := range messages {
		if m.Role == "system" {
			continue
		}
		if len(turns) == 0 || turns[len(turns)-1].role != m.Role {
			turns = append(turns, turn{role: m.Role})
		}
		last := &turns[len(turns)-1]
		for i, b := range m.Content {
			last.blocks = append(last.blocks, locatedBlock{b, n, i})
		}
	}
	return turns
}

// content returns the turn's blocks without their positions.
func (t turn) content() Content {
	out := make(Content, len(t.blocks))
	for i, b := range t.blocks {
		out[i] = b.Block
	}
	return out
}

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
