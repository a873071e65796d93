package render

import (
	"slices"
	"strings"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/request"
)

// Chat completions: each step of an assistant message is one message, and each result is a message
// with the role tool.

// reasoningDetails returns OpenRouter's metadata of reasoning or a call, or nil.
func (a *assistantDraft) reasoningDetails(p *record.Part) []byte {
	details := a.ownMetadata(p).Get("reasoning_details")
	if list, ok := details.List(); !ok || len(list) == 0 {
		return nil
	}
	return details.Raw()
}

func (r *builder) chatMessages(m draftMessage) []request.Turn {
	blocks := m.sentBlocks()
	if isResults(m) {
		m.role = request.RoleTool
		return m.turns(slices.Collect(slices.Chunk(blocks, 1))...)
	}
	if len(blocks) == 0 && m.role == change.RoleUser && r.isSince(v115) {
		return nil
	}
	if r.target.Field != "" && !r.isSince(v115) && !slices.ContainsFunc(blocks, hasReasoning) {
		blocks = slices.DeleteFunc(blocks, func(b *request.Block) bool { return b.Type == request.Thinking })
	}
	if m.role == change.RoleAssistant && r.addsReasoning(m) {
		blocks = append(blocks, &request.Block{Type: request.Thinking, Unsigned: true, Source: m.source})
	}
	return m.turns(blocks)
}

// addsReasoning reports whether the agent adds empty reasoning to an assistant message without reasoning. It does so
// for models that have a field for reasoning, and for models of DeepSeek.
func (r *builder) addsReasoning(m draftMessage) bool {
	if !r.isSince(v115) || !strings.Contains(strings.ToLower(r.target.modelID(r.Model)), "deepseek") &&
		r.target.Field == "" {
		return false
	}
	return !slices.ContainsFunc(m.blocks, func(b draftBlock) bool { return b.Type == request.Thinking })
}

func hasReasoning(b *request.Block) bool { return b.Type == request.Thinking && b.Text != "" }
