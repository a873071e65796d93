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

// turn returns the turn of the message with its blocks after clean-up.
func (m draftMessage) turn(blocks []*request.Block) request.Turn {
	return request.Turn{Role: m.role, Blocks: blocks, Messages: []change.Ref{*m.source}}
}

// turns returns a turn for each list of blocks of the message.
func (m draftMessage) turns(lists ...[]*request.Block) []request.Turn {
	turns := make([]request.Turn, len(lists))
	for i, blocks := range lists {
		turns[i] = m.turn(blocks)
	}
	return turns
}

// joinTurns joins the turns of the messages to the turns of the request.
func (r *builder) joinTurns(all []request.Turn) (turns []request.Turn) {
	if r.api != Anthropic && r.api != Bedrock {
		if r.api != Gemini && !r.target.Instructions { // the numbers of turns count the system prompt
			all = slices.Insert(all, 0, request.Turn{Role: request.RoleSystem})
		}
		return all
	}
	for _, t := range all {
		n := len(turns) - 1
		if n < 0 || turns[n].Role != t.Role {
			turns = append(turns, t)
			continue
		}
		joined := &turns[n]
		joined.Blocks = append(joined.Blocks, t.Blocks...)
		if len(joined.Messages) == 0 || len(t.Messages) > 0 && joined.Messages[len(joined.Messages)-1] != t.Messages[0] {
			joined.Messages = append(joined.Messages, t.Messages...)
		}
	}
	if n := len(turns) - 1; n >= 0 && turns[n].Role == change.RoleAssistant { // the agent trims the last text
		if blocks := turns[n].Blocks; len(blocks) > 0 && blocks[len(blocks)-1].Type == request.Text {
			last := blocks[len(blocks)-1]
			last.Text = js.Trim(last.Text)
		}
	}
	if r.api == Anthropic && r.isSince(v11826) {
		for i := range turns {
			turns[i].Blocks = moveCallsLast(turns[i].Blocks, true)
		}
	}
	return turns
}

// renderMessages returns the turns of stored messages.
func (r *builder) renderMessages(all []*message) (out []request.Turn) {
	for _, m := range all {
		if m.isPrompt {
			next := &request.Block{Type: request.Text, Text: PromptText}
			out = append(out, request.Turn{Role: change.RoleUser, Blocks: []*request.Block{next}})
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
func (r *builder) cleanUp(all []draftMessage) (out []request.Turn) {
	if r.api != Anthropic {
		return r.otherMessages(all)
	}
	for _, m := range all {
		m.blocks = slices.DeleteFunc(m.blocks, r.isEmpty)
		if len(m.blocks) == 0 {
			continue
		}
		blocks := make([]*request.Block, 0, len(m.blocks))
		for _, b := range m.blocks {
			if r.claude && b.ToolID != "" {
				b.ToolID = sanitizeID(b.ToolID)
			}
			if !b.unsent {
				blocks = append(blocks, b.Block)
			}
		}
		if r.Profile.release == v115 {
			blocks = moveCallsLast(blocks, false)
		}
		out = append(out, m.turn(blocks))
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
