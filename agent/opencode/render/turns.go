package render

import (
	"slices"
	"strings"

	"mend/agent/opencode/js"
	"mend/change"
	"mend/internal/request"
)

// A draftMessage is a message of the request before clean-up.
type draftMessage struct {
	role   string // of its turn
	source *change.Ref
	blocks []draftBlock
}

// A draftBlock is a block before clean-up. An unsent block, thinking without a signature, counts as
// content of its message but is not sent.
type draftBlock struct {
	*request.Block
	unsent bool
	marked bool // the part has metadata that the package uses
}

// A finalMessage is a message of the request after clean-up.
type finalMessage struct {
	role   string
	source *change.Ref // nil for the new prompt
	blocks []*request.Block
}

// joinTurns joins the messages into turns.
func (r *builder) joinTurns(out []finalMessage) (turns []request.Turn) {
	if r.api != Anthropic && r.api != Bedrock {
		return r.separateTurns(out)
	}
	turns = make([]request.Turn, 0, len(out))
	for len(out) > 0 {
		n := slices.IndexFunc(out, func(m finalMessage) bool { return m.role != out[0].role })
		if n < 0 {
			n = len(out)
		}
		turns = append(turns, r.joinTurn(out[:n], n == len(out)))
		out = out[n:]
	}
	return turns
}

// joinTurn joins messages of one role into a turn. If it is the last turn, and an assistant's, the agent trims the last
// text.
func (r *builder) joinTurn(all []finalMessage, last bool) request.Turn {
	t := request.Turn{Role: all[0].role}
	for i, m := range all {
		if m.source != nil && (i == 0 || all[i-1].source != m.source) {
			t.Messages = append(t.Messages, *m.source)
		}
		if i == 0 {
			t.Blocks = m.blocks
		} else {
			t.Blocks = append(t.Blocks, m.blocks...)
		}
	}
	if n := len(t.Blocks); last && n > 0 && t.Role == change.RoleAssistant && t.Blocks[n-1].Type == request.Text {
		t.Blocks[n-1].Text = js.Trim(t.Blocks[n-1].Text)
	}
	if r.api == Anthropic && r.isSince(v11826) {
		t.Blocks = moveCallsLast(t.Blocks, true)
	}
	return t
}

// renderMessages returns the messages of the request for stored messages.
func (r *builder) renderMessages(all []*message) (out []finalMessage) {
	for _, m := range all {
		if m.isPrompt {
			next := &request.Block{Type: request.Text, Text: PromptText}
			out = append(out, finalMessage{role: change.RoleUser, blocks: []*request.Block{next}})
			continue
		}
		out = append(out, r.cleanUp(r.draftMessages(m))...)
	}
	return out
}

// draftMessages returns the messages made of a stored message.
func (r *builder) draftMessages(m *message) []draftMessage {
	switch m.Role {
	case change.RoleUser:
		return r.userMessages(m)
	case change.RoleAssistant:
		return r.assistantMessages(m)
	}
	return nil
}

// cleanUp removes empty blocks, then messages without blocks, and for Claude replaces
// invalid characters in call ids.
func (r *builder) cleanUp(all []draftMessage) []finalMessage {
	if r.api != Anthropic {
		return r.otherMessages(all)
	}
	var out []finalMessage
	for _, m := range all {
		m.blocks = slices.DeleteFunc(m.blocks, r.isEmpty)
		if len(m.blocks) == 0 {
			continue
		}
		done := finalMessage{role: m.role, source: m.source, blocks: make([]*request.Block, 0, len(m.blocks))}
		for _, b := range m.blocks {
			if r.claude && b.ToolID != "" {
				b.ToolID = sanitizeID(b.ToolID)
			}
			if !b.unsent {
				done.blocks = append(done.blocks, b.Block)
			}
		}
		if r.Profile.release == v115 {
			done.blocks = moveCallsLast(done.blocks, false)
		}
		out = append(out, done)
	}
	return out
}

// invalidInID reports whether the agent replaces a character of a call id.
func invalidInID(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-'
}

// sanitizeID replaces every invalid character with an underscore.
func sanitizeID(id string) string {
	return strings.Map(func(c rune) rune {
		if invalidInID(c) {
			return '_'
		}
		return c
	}, id)
}

// isEmpty reports whether the agent drops a block because it has no content.
func (r *builder) isEmpty(b draftBlock) bool {
	switch {
	case b.Type == request.Text:
		return b.Text == ""
	case b.Type != request.Thinking && b.Type != request.RedactedThinking || js.Trim(b.Text) != "":
		return false
	case r.isSince(v115):
		return b.unsent
	}
	return b.Text == ""
}

// moveCallsLast returns the blocks with the tool calls moved to the end. With stopAtThinking, it moves a call only up
// to the next thinking.
func moveCallsLast(blocks []*request.Block, stopAtThinking bool) []*request.Block {
	out := make([]*request.Block, 0, len(blocks))
	var calls []*request.Block
	for _, b := range blocks {
		if b.Type == request.ToolUse {
			calls = append(calls, b)
			continue
		}
		if stopAtThinking && b.IsThinking() {
			out = append(out, calls...)
			calls = nil
		}
		out = append(out, b)
	}
	return append(out, calls...)
}
