package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/repair"
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

// findLostResults finds tool_use parts without a result. In older stores the result is
// a part of its own.
func findLostResults(c *simulation) (fs []finding) {
	answered := map[string]bool{}
	c.eachPart(func(_ *record.Message, p *record.Part) {
		if p.Type == record.TypeToolResult {
			answered[p.CallID] = true
		}
	})
	c.eachPart(func(_ *record.Message, p *record.Part) {
		if call := p.Call(); p.Type == record.TypeToolUse && (call == "" || !answered[call]) {
			fs = append(fs, finding{Ref: p.Ref})
		}
	})
	return fs
}

func whyLostResult(c *simulation, f finding) string {
	_, p := c.part(f.Ref)
	return fmt.Sprintf("The %s has no result anywhere in the session.", callName(p))
}

func fixLostResult(c *simulation, f finding) []repair.Fix {
	_, p := c.part(f.Ref)
	call, after, ref := p.Call(), p.ID, f.Ref
	if call == "" {
		return nil
	}
	return []repair.Fix{{
		Text: fmt.Sprintf("A result that says %q is added after the call.", c.texts.Cancelled),
		Edit: draftEdit(func(d *draft) error {
			m, err := d.message(ref)
			if err != nil {
				return err
			}
			id, err := idAfter(m, after)
			if err != nil {
				return err
			}
			m.Insert(d.s.NewResultPart(m, id, call, d.texts.Cancelled))
			return nil
		}),
	}}
}
