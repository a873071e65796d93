package render

import (
	"fmt"
	"strings"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/request"
)

// Gemini: each message is one content.

// thoughtSignature returns the provider's signature of the part, or "".
func (a *assistantDraft) thoughtSignature(p *record.Part) string {
	v := a.ownMetadata(p).Get("thoughtSignature")
	if v.Nullish() {
		return ""
	}
	return v.String()
}

// geminiMessages returns the turn of the message, or since v115 none if it has no content.
func (r *builder) geminiMessages(m draftMessage) []request.Turn {
	var blocks []*request.Block
	if isResults(m) && !strings.HasPrefix(r.target.modelID(r.Model), "gemini-3") {
		for _, b := range m.blocks {
			blocks = append(blocks, splitContent(b.Block)...)
		}
		return m.turns(blocks)
	}
	for _, b := range m.blocks {
		if (b.Type == request.Text || b.Type == request.Thinking) && b.Text == "" && m.role == change.RoleAssistant {
			continue
		}
		blocks = append(blocks, b.Block)
	}
	if len(blocks) == 0 && r.isSince(v115) {
		return nil
	}
	return m.turns(blocks)
}

// splitContent returns the parts of a result for a model before Gemini 3: a response with its text,
// and each file beside it. A result without content has no part.
func splitContent(b *request.Block) (out []*request.Block) {
	if b.Output != nil {
		return []*request.Block{b}
	}
	for _, c := range b.Content {
		switch c.Type {
		case request.Text:
			response := *b
			response.Content, response.Output = nil, jsonedit.Quote(c.Text)
			out = append(out, &response)
		case request.Image:
			out = append(out, c, &request.Block{Type: request.Text, Text: "Tool executed successfully and returned this image " +
				"as a response", Source: b.Source})
		default:
			text := fmt.Sprintf(`{"type":"file-data","data":%s,"mediaType":%s}`, jsonedit.Quote(string(c.Data)),
				jsonedit.Quote(c.Mime))
			out = append(out, &request.Block{Type: request.Text, Text: text, Source: b.Source})
		}
	}
	return out
}
