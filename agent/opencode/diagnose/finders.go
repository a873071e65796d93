package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/change"
	"mend/internal/provider"
	"mend/internal/request"
)

// Findings in readable messages that no request shows, or that mend looks for only because of an error.

// findThinkingOrder finds thinking after other content of its step. The provider accepts that only
// in a closed tool loop.
func findThinkingOrder(c *simulation) (fs []finding) {
	for i := range c.s.Messages {
		m := &c.s.Messages[i]
		if m.Role != change.RoleAssistant || !c.view().IsSent(i) {
			continue
		}
		for step := range m.Steps() {
			fs = append(fs, misplacedThinking(step)...)
		}
	}
	return fs
}

// misplacedThinking returns the signed thinking after content in a step that does not begin
// with thinking. Unsigned thinking is not sent. Thinking between content, in a step
// that begins with thinking, is normal for some models.
func misplacedThinking(step []record.Part) (fs []finding) {
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

// findNothing finds messages that have no text, call or thinking. The agent omits them,
// so they do no harm.
func findNothing(c *simulation) (fs []finding) {
	for i := range c.s.Messages {
		m := &c.s.Messages[i]
		if m.Role != change.RoleUser && m.Role != change.RoleAssistant || !c.view().IsSent(i) || m.IsMalformed() {
			continue
		}
		if len(m.Parts) == 0 || m.Role == change.RoleAssistant && !anyOf(m.Parts, isSomething) {
			fs = append(fs, finding{Ref: m.Ref})
		}
	}
	return fs
}

// findEmptied finds a session that has lost all of its parts.
func findEmptied(c *simulation) []finding {
	answered := false
	for i := range c.s.Messages {
		m := &c.s.Messages[i]
		if len(m.Parts) > 0 {
			return nil
		}
		answered = answered || m.Role == change.RoleAssistant && m.IsFinished() && !m.Failed
	}
	if !answered {
		return nil
	}
	return []finding{{Text: fmt.Sprintf("None of its %d messages has any content: what was said is gone.",
		len(c.s.Messages))}}
}

func isSomething(p *record.Part) bool {
	return p.IsMalformed() || p.Sent() || p.IsThinking() || p.Type == record.TypeText
}

func findToolNames(c *simulation) (fs []finding) {
	if c.api() != render.Anthropic {
		return nil // the rules of other providers find the names that they refuse
	}
	c.eachPart(func(_ *record.Message, p *record.Part) {
		isName := provider.IsName(p.Tool) && len(p.Tool) <= request.MaxToolName
		if p.Type == record.TypeTool && p.JSON.Get("tool").Kind() == '"' && !isName {
			fs = append(fs, finding{Ref: p.Ref})
		}
	})
	return fs
}

const whyNoCall = "The call has no id of its own, so no result can be matched with it."

// findUnfinished finds calls without a result. The agent shows them as running, and what it sends
// for them depends on its version.
func findUnfinished(c *simulation) (fs []finding) {
	c.eachPart(func(m *record.Message, p *record.Part) {
		if m.Role == change.RoleAssistant && p.IsUnfinished() {
			fs = append(fs, finding{Ref: p.Ref})
		}
	})
	return fs
}

// findUnavailable finds unfinished calls of the tool that an error names, or of any tool if it
// names none.
func findUnavailable(c *simulation) []finding {
	fs := findUnfinished(c)
	return slices.DeleteFunc(fs, func(f finding) bool {
		_, p := c.part(f.Ref)
		return c.asked != nil && c.asked.Tool != "" && !strings.EqualFold(p.Tool, c.asked.Tool)
	})
}
