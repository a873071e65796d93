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

func (r *builder) chatMessages(m draftMessage) (out []finalMessage) {
	if isResults(m) {
		out = make([]finalMessage, 0, len(m.blocks))
		all := sourcesOf(m.blocks)
		for i := range all {
			out = append(out, finalMessage{role: request.RoleTool, source: m.source, blocks: all[i : i+1 : i+1]})
		}
		return out
	}
	if len(m.blocks) == 0 && m.role == change.RoleUser && r.isSince(v115) {
		return nil
	}
	done := finalMessage{role: m.role, source: m.source, blocks: sourcesOf(m.blocks)}
	if r.target.Field != "" && !r.isSince(v115) && !slices.ContainsFunc(done.blocks, hasReasoning) {
		done.blocks = slices.DeleteFunc(done.blocks, func(b *request.Block) bool { return b.Type == request.Thinking })
	}
	if m.role == change.RoleAssistant && r.addsReasoning(m) {
		done.blocks = append(done.blocks, &request.Block{Type: request.Thinking, Unsigned: true, Source: m.source})
	}
	return []finalMessage{done}
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
