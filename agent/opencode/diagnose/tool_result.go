package diagnose

import (
	"slices"
	"strings"

	"mend/agent/opencode/record"
	"mend/change"
)

const whyNoCall = "The call has no id of its own, so no result can be matched with it."

// findUnfinished finds calls without a result. The agent shows them as running, and
// what it sends for them depends on its version.
func findUnfinished(c *simulation) (fs []finding) {
	c.eachPart(func(m *record.Message, p *record.Part) {
		if m.Role == change.RoleAssistant && p.Unfinished() {
			fs = append(fs, finding{Ref: p.Ref})
		}
	})
	return fs
}

// findUnavailable finds unfinished calls of the tool that an error names, or of any tool if it
// names none.
func findUnavailable(c *simulation) []finding {
	fs := findUnfinished(c)
	for _, e := range c.asked {
		fs = slices.DeleteFunc(fs, func(f finding) bool {
			_, p := c.part(f.Ref)
			return e.Tool != "" && !strings.EqualFold(p.Tool, e.Tool)
		})
	}
	return fs
}
