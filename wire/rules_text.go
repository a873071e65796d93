package wire

import (
	"fmt"
	"strings"

	"mend/session"
)

// LargestImage is the largest image that the provider takes, as the length in bytes
// of its base64 text.
const LargestImage = 5 << 20

// R5: no text block is empty.
func emptyText(c conversation, found func(Violation)) {
	c.eachBlock(Text, func(n, m int, b *Block) {
		if b.Text == "" {
			found(Violation{Message: "messages: text content blocks must be non-empty", Refs: refs(b), N: n, M: m})
		}
	})
}

// R6: every turn has content, the model's at the very end excepted.
func emptyTurn(c conversation, found func(Violation)) {
	for n, t := range c.turns {
		optional := n == len(c.turns)-1 && t.Role == session.RoleAssistant
		if len(t.Blocks) == 0 && !optional {
			found(Violation{
				Message: fmt.Sprintf("messages.%d: all messages must have non-empty content except for the optional final assistant message", n),
				Refs:    t.Messages, N: n, M: -1,
			})
		}
	}
}

// R11: no text block is made of blanks.
func blankText(c conversation, found func(Violation)) {
	c.eachBlock(Text, func(n, m int, b *Block) {
		if b.Text != "" && strings.TrimSpace(b.Text) == "" {
			found(Violation{Message: "messages: text content blocks must contain non-whitespace text", Refs: refs(b), N: n, M: m})
		}
	})
}

// R12: the conversation ends with the user.
func answerLast(c conversation, found func(Violation)) {
	n := len(c.turns) - 1
	if n >= 0 && c.turns[n].Role == session.RoleAssistant {
		found(Violation{
			Message: "This model does not support assistant message prefill. The conversation must end with a user message.",
			Refs:    c.turns[n].Messages, N: n, M: -1,
		})
	}
}

// R15: no image is too large, on its own or in a result.
func largeImage(c conversation, found func(Violation)) {
	judge := func(n, m int, b *Block, inside string) {
		if b.Type == Image && len(b.Data) > LargestImage {
			const words = "%s%s.image.source.base64: image exceeds 5 MB maximum: %d bytes > %d bytes"
			found(Violation{Message: fmt.Sprintf(words, place(n, m), inside, len(b.Data), LargestImage), Refs: refs(b), N: n, M: m})
		}
	}
	for n, t := range c.turns {
		for m := range t.Blocks {
			b := t.Blocks[m]
			judge(n, m, b, "")
			for i := range b.Content {
				if in := b.Content[i]; in.Type == Image {
					judge(n, m, in, fmt.Sprintf(".tool_result.content.%d", i))
				}
			}
		}
	}
}

// R16: the first turn is the user's.
func answerFirst(c conversation, found func(Violation)) {
	if len(c.turns) > 0 && c.turns[0].Role != session.RoleUser {
		found(Violation{Message: `messages: first message must use the "user" role`, Refs: c.turns[0].Messages, N: 0, M: -1})
	}
}
