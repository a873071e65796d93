package claude

import (
	"bytes"
	"encoding/json"

	"mend/agent/claude/diagnose"
	"mend/agent/claude/transcript"
	"mend/internal/jsonedit"
	"mend/internal/provider/anthropic"
	"mend/internal/request"
	"mend/internal/test/encode"
)

// Expected returns the blocks of the request that mend expects, in the form of [Stored].
func Expected(c *diagnose.State) (all []string) {
	for _, t := range c.Request().Turns {
		var blocks []map[string]any
		for _, b := range t.Blocks {
			if raw := storedBlock(c, b, t.Role); raw != nil {
				var block map[string]any
				if err := json.Unmarshal(raw, &block); err != nil {
					panic(err)
				}
				blocks = append(blocks, block)
			}
		}
		all = append(all, storedLines(t.Role, blocks, "…")...)
	}
	return all
}

func storedBlock(c *diagnose.State, b *request.Block, role string) []byte {
	r := c.Conversation().Record(b.Ref().Message)
	switch {
	case r != nil && r.Type == transcript.Attachment && b.Type == request.Text:
		return nil // it is sent as a system text
	case r == nil || !r.IsMessage() || r.IsString() || b.Index >= len(r.Blocks()) || b != &r.Blocks()[b.Index].Block:
		one := encode.JSON(anthropic.Provider{}, request.Request{Turns: []request.Turn{{Role: role, Blocks: []*request.Block{b}}}})
		elements, _ := jsonedit.Elements(one, "messages")
		blocks, _ := jsonedit.Elements(elements[0], "content")
		return blocks[0]
	}
	raw := r.Blocks()[b.Index].Value.Raw()
	if r.Blocks()[b.Index].NotText == "name" {
		raw, _ = jsonedit.Set(raw, jsonedit.Quote(b.ToolName), "name")
	}
	if content, ok := jsonedit.Get(raw, "content"); ok && b.Type == request.ToolResult && !bytes.ContainsAny(content[:1], `"[n`) {
		raw, _ = jsonedit.Set(raw, b.Output, "content")
	}
	return raw
}
