package wire

import (
	"regexp"
	"slices"
	"strings"

	"mend/session"
)

// An outgoing message is one on its way into the request.
type outgoing struct {
	role   string // of its turn
	from   session.Ref
	blocks []outgoingBlock
}

// An outgoingBlock counts as content of its message until the end, where it is
// left out if it is unsent: thinking that nobody signed.
type outgoingBlock struct {
	Block
	unsent bool
}

// turns makes the request's messages.
func (r *rendering) turns(kept []message) []Turn {
	var out []outgoing
	for i := range kept {
		out = append(out, r.messages(&kept[i])...)
	}
	out = r.cleanUp(out)
	var turns []Turn
	for i, m := range out {
		if i == 0 || out[i-1].role != m.role {
			turns = append(turns, Turn{Role: m.role})
		}
		t := &turns[len(turns)-1]
		if m.from.Kind != 0 && !slices.Contains(t.Messages, m.from) {
			t.Messages = append(t.Messages, m.from)
		}
		t.Blocks = append(t.Blocks, m.sent(i == len(out)-1)...)
	}
	if r.Profile.Calls == CallsLastToNext {
		for i := range turns {
			turns[i].Blocks = callsLast(turns[i].Blocks, true)
		}
	}
	return turns
}

// messages is what one stored message becomes.
func (r *rendering) messages(m *message) []outgoing {
	switch {
	case m.prompt:
		block := outgoingBlock{Block: Block{Type: Text, Text: PromptText}}
		return []outgoing{{role: session.RoleUser, blocks: []outgoingBlock{block}}}
	case m.role() == session.RoleUser:
		return r.user(m)
	case m.role() == session.RoleAssistant:
		return r.assistant(m)
	}
	return nil
}

// sent is the blocks that are left in the end. The last text of a conversation
// that ends with an answer is trimmed.
func (m outgoing) sent(last bool) []Block {
	var blocks []Block
	for i, b := range m.blocks {
		if last && i == len(m.blocks)-1 && m.role == session.RoleAssistant && b.Type == Text {
			b.Text = trim(b.Text)
		}
		if !b.unsent {
			blocks = append(blocks, b.Block)
		}
	}
	return blocks
}

var notInID = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// cleanUp leaves out empty blocks, then messages without any, and makes call
// ids fit for Claude.
func (r *rendering) cleanUp(all []outgoing) []outgoing {
	var out []outgoing
	for _, m := range all {
		m.blocks = slices.DeleteFunc(m.blocks, r.empty)
		if len(m.blocks) == 0 && r.Profile.CleanUp {
			continue
		}
		if r.Profile.Calls == CallsLast {
			m.blocks = callsLast(m.blocks, false)
		}
		for i := range m.blocks {
			if r.claude {
				m.blocks[i].ToolID = notInID.ReplaceAllLiteralString(m.blocks[i].ToolID, "_")
			}
		}
		out = append(out, m)
	}
	return out
}

// empty reports whether a block has nothing to say.
func (r *rendering) empty(b outgoingBlock) bool {
	switch {
	case b.Type == Text:
		return b.Text == ""
	case b.Type != Thinking && b.Type != RedactedThinking:
		return false
	case r.Profile.KeepThinking:
		return b.unsent && trim(b.Text) == ""
	}
	return r.Profile.CleanUp && b.Text == ""
}

// callsLast moves the calls behind the other blocks, but not beyond thinking if
// that stops them.
func callsLast[B interface{ kind() BlockType }](blocks []B, stops bool) []B {
	var out, calls []B
	for _, b := range blocks {
		switch b.kind() {
		case ToolUse:
			calls = append(calls, b)
			continue
		case Thinking, RedactedThinking:
			if stops {
				out = append(out, calls...)
				calls = nil
			}
		default:
		}
		out = append(out, b)
	}
	return append(out, calls...)
}

func (b Block) kind() BlockType { return b.Type }

// trim does what trim does in JavaScript: a byte order mark is white space.
func trim(s string) string {
	return strings.TrimFunc(s, func(c rune) bool { return session.Blank(string(c)) })
}
