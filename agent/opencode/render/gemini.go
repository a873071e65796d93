package render

import (
	"mend/request"
	"mend/session"
)

// Gemini: each message is one content.

// thoughtSignature returns what the provider signed the part with, "" for nothing.
func (a *assistantDraft) thoughtSignature(p part) string {
	v := a.ownMetadata(p).Get("thoughtSignature")
	if v.Nullish() {
		return ""
	}
	return v.String()
}

// geminiMessages returns the message, or none if it has no content.
func (r *builder) geminiMessages(m draftMessage) []finalMessage {
	done := finalMessage{role: m.role, source: m.source}
	for _, b := range m.blocks {
		if (b.Type == request.Text || b.Type == request.Thinking) && b.Text == "" && m.role == session.RoleAssistant {
			continue
		}
		done.blocks = append(done.blocks, b.Block)
	}
	if len(done.blocks) == 0 && r.has(sdkCleanUp) {
		return nil
	}
	return []finalMessage{done}
}
