package diagnose

import (
	"mend/agent/opencode/record"
	"mend/change"
	"mend/repair"
)

// This file finds and fixes messages without content that is sent (docs/providers.md, R6).

// findNothing finds messages without texts, calls and thinking. The agent omits them,
// so they do no harm.
func findNothing(c *simulation) (fs []finding) {
	for i := range c.s.Messages {
		m := &c.s.Messages[i]
		if m.Role != change.RoleUser && m.Role != change.RoleAssistant || !isSent(m) || m.Malformed() {
			continue
		}
		if len(m.Parts) == 0 || m.Role == change.RoleAssistant && !anyOf(m.Parts, isSomething) {
			fs = append(fs, finding{Ref: m.Ref})
		}
	}
	return fs
}

func isSomething(p *record.Part) bool {
	return p.Malformed() || p.Sent() || p.IsThinking() || p.Type == record.TypeText
}

// completeMessage completes records of the message: one of them may be its content.
func completeMessage(c *simulation, f finding) []repair.Fix {
	return c.completions(func(r change.Ref) bool { return r.Message == f.Ref.Message })
}
