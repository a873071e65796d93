package render

import (
	"mend/agent/opencode/js"
	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/request"
)

// OpenAI's Responses API: each text, call, result and reasoning block is an item, which is a
// turn of its own.

// markItem adds the item's id to a text.
func (a *assistantDraft) markItem(p *record.Part, b *request.Block) {
	id := a.ownMetadata(p).Get("itemId")
	if id.Nullish() || !a.target.Store || b.Type == request.ToolUse { // calls are sent in full
		return
	}
	b.ItemID, b.Reference = id.String(), true
}

// markReasoning adds the provider's encrypted content, or the item's id, to reasoning. sent is false if the reasoning
// is not sent.
func (a *assistantDraft) markReasoning(p *record.Part, b *request.Block) (sent bool) {
	own := a.ownMetadata(p)
	encrypted, id := own.Get("reasoningEncryptedContent"), own.Get("itemId")
	if !a.target.Store {
		id = js.Value{}
	}
	for _, v := range [...]js.Value{encrypted, id} {
		if _, isText := v.Text(); !isText && !v.Nullish() {
			a.fail(fieldFailure(p.Ref, "metadata.openai has a value that is not a string"))
			return false
		}
	}
	b.Signature, _ = encrypted.Text()
	b.Unsigned = encrypted.Nullish()
	if !id.Nullish() {
		b.ItemID, _ = id.Text()
		b.Reference = true
	}
	// Older versions send OpenAI's reasoning without its encrypted content.
	return b.Reference || !b.Unsigned || own.Get("itemId").Exists() && !a.isSince(v115)
}

// finishStep records in the items of the step whether the response had reasoning.
func (a *assistantDraft) finishStep(p *record.Part) {
	if a.api != OpenAI || !(p.JSON.Get("tokens").Get("reasoning").Number() > 0) {
		return
	}
	for _, b := range a.steps[len(a.steps)-1].blocks {
		b.Reasoned = b.ItemID != ""
	}
}

// itemMessages returns a turn for each item of a message. A reference to reasoning is sent once; other reasoning with
// the same id becomes one item.
func (r *builder) itemMessages(m draftMessage) (out []request.Turn) {
	if m.role == change.RoleUser && !isResults(m) {
		if len(m.blocks) == 0 && r.isSince(v115) {
			return nil
		}
		return m.turns(m.sentBlocks())
	}
	reasoning := map[string]bool{}
	for _, b := range m.blocks {
		m.role = change.RoleAssistant
		switch {
		case b.Type == request.ToolResult:
			m.role = request.RoleTool
		case b.Type == request.Thinking && b.ItemID != "":
			if reasoning[b.ItemID] {
				continue
			}
			reasoning[b.ItemID] = true
		}
		out = append(out, m.turn([]*request.Block{b.Block}))
	}
	return out
}

func isResults(m draftMessage) bool {
	return len(m.blocks) > 0 && m.blocks[0].Type == request.ToolResult
}
