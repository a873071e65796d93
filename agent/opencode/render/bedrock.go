package render

import (
	"slices"
	"strings"

	"mend/agent/opencode/js"
	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/request"
)

// Bedrock's Converse API: as for Anthropic, neighbouring messages of one role are joined.

// setBedrockCall gives a call a name and an input that the provider accepts.
func (a *assistantDraft) setBedrockCall(b *request.Block) {
	b.ToolName = strings.Map(func(c rune) rune {
		if invalidInID(c) {
			return -1
		}
		return c
	}, b.ToolName)
	if b.ToolName == "" {
		b.ToolName = "_"
	}
	switch input := js.Parse(b.Input); {
	case input.Kind() == '{':
	case b.Input == nil:
		b.Input = []byte("{}")
	default:
		b.Input = slices.Concat([]byte(`{"rawInvalidInput":`), b.Input, []byte("}"))
	}
}

// markBedrockReasoning adds the signature to reasoning. sent is false if it has none: then it is
// not sent.
func (a *assistantDraft) markBedrockReasoning(p *record.Part, b *request.Block) (sent bool) {
	own := a.ownMetadata(p)
	for _, name := range [...]string{"signature", "redactedContent", "redactedData"} {
		v := own.Get(name)
		if !v.Exists() || v.Nullish() && a.isSince(v115) {
			continue
		}
		text, ok := v.Text()
		if !ok {
			a.fail(fieldFailure(p.Ref, "metadata.bedrock.%s is not a string", name))
			return false
		}
		b.Signature = text
		if name != "signature" {
			b.Type = request.RedactedThinking
		}
		return true
	}
	return false
}

// bedrockMessages returns the turn of the message without blank texts, which newer versions send beside reasoning; none
// if nothing is left.
func (r *builder) bedrockMessages(m draftMessage) []request.Turn {
	reasons := slices.ContainsFunc(m.blocks, func(b draftBlock) bool { return b.IsThinking() && !b.unsent })
	m.blocks = slices.DeleteFunc(m.blocks, func(b draftBlock) bool {
		blank := b.Type == request.Text && m.role == change.RoleAssistant && js.Trim(b.Text) == ""
		return b.unsent || blank && (!reasons || !r.isSince(v115))
	})
	if len(m.blocks) == 0 {
		return nil
	}
	return m.turns(m.sentBlocks())
}

// isBedrockImage reports whether images of that type can be sent.
func isBedrockImage(mime string) bool {
	return slices.Contains([]string{"image/jpeg", "image/png", "image/gif", "image/webp"}, mime)
}

// isBedrockDocument reports whether documents of that type can be sent.
func isBedrockDocument(mime string) bool {
	return slices.Contains([]string{
		"application/pdf", "text/csv", "application/msword",
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document",
		"application/vnd.ms-excel", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "text/html",
		"text/plain", "text/markdown",
	}, mime)
}
