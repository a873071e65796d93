package diagnose

import (
	"slices"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/repair"
)

// firstPromptFixes returns the fixes of a conversation that starts with an answer: fixes that
// complete earlier records, one of which may be the prompt, and a fix for older versions, which read
// the messages in the order of their ids.
func firstPromptFixes(c *simulation, f finding) []repair.Fix {
	at := slices.IndexFunc(c.s.Messages, func(m record.Message) bool { return m.Ref.Message == f.Ref.Message })
	before := map[string]bool{}
	for i := range c.s.Messages[:at+1] {
		before[c.s.Messages[i].Ref.Message] = true
	}
	fixes := c.completions(func(r change.Ref) bool { return before[r.Message] })
	for i := range fixes {
		fixes[i].Whole = true // it changes a message other than the finding's
	}
	return append(fixes, fixOrder(c, f)...)
}
