package diagnose

import (
	"mend/agent/opencode/record"
	"mend/change"
)

// findThinkingOrder finds thinking after other content of its step. The provider
// accepts that only in a closed tool loop.
func findThinkingOrder(c *simulation) (fs []finding) {
	for i := range c.s.Messages {
		m := &c.s.Messages[i]
		if m.Role != change.RoleAssistant || !isSent(m) {
			continue
		}
		for step := range m.Steps() {
			fs = append(fs, laterThinking(step)...)
		}
	}
	return fs
}

// laterThinking returns the signed thinking after content in a step that does not begin
// with thinking. Unsigned thinking is not sent. Thinking between content, in a step
// that begins with thinking, is normal for some models.
func laterThinking(step []record.Part) (fs []finding) {
	content := false
	for i := range step {
		p := &step[i]
		switch {
		case p.IsThinking() && p.Signature != "" && content:
			fs = append(fs, finding{Ref: p.Ref})
		case p.IsThinking() && p.Signature != "":
			return nil
		}
		content = content || p.Sent()
	}
	return fs
}
