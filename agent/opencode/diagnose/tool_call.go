package diagnose

import (
	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/internal/provider"
)

func findToolNames(c *simulation) (fs []finding) {
	if c.api() != render.Anthropic {
		return nil // the rules of the provider say which names are refused
	}
	c.eachPart(func(_ *record.Message, p *record.Part) {
		if p.Type == record.TypeTool && !isToolName(p.Tool) && p.Defect == nil {
			fs = append(fs, finding{Ref: p.Ref})
		}
	})
	return fs
}

// maxToolName is the maximum length of a tool's name in bytes.
const maxToolName = 128

func isToolName(s string) bool { return provider.IsName(s) && len(s) <= maxToolName }
