package diagnose

import (
	"slices"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/internal/provider"
	"mend/internal/request"
)

// findMissingReasoning finds the first call of each step that is sent through chat completions
// without reasoning.
func findMissingReasoning(c *simulation) (fs []fault) {
	r := c.render(c.settings[own])
	if r.API != render.Chat {
		return nil
	}
	for _, t := range r.Turns {
		i := slices.IndexFunc(t.Blocks, func(b *request.Block) bool { return b.Type == request.ToolUse && b.Source != nil })
		if i >= 0 && !slices.ContainsFunc(t.Blocks, (*request.Block).IsThinking) {
			fs = append(fs, fault{Ref: *t.Blocks[i].Source})
		}
	}
	return fs
}

func findToolNames(c *simulation) (fs []fault) {
	if c.api() != render.Anthropic {
		return nil // the rules of the provider say which names are refused
	}
	c.eachPart(func(_ *record.Message, p *record.Part) {
		if p.Type == record.TypeTool && !isToolName(p.Tool) && p.Defect == nil {
			fs = append(fs, fault{Ref: p.Ref})
		}
	})
	return fs
}

// maxToolName is the maximum length of a tool's name in bytes.
const maxToolName = 128

func isToolName(s string) bool { return provider.IsName(s) && len(s) <= maxToolName }
