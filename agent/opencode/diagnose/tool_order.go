package diagnose

import (
	"fmt"
	"slices"

	"mend/agent/opencode/record"
	"mend/agent/opencode/schema"
	"mend/jsonedit"
	"mend/repair"
	"mend/session"
)

// This file fixes content after a call in its step (R1). The fault is at the first block
// that is not a call, or at the call itself if its result is not sent.

func classOfBetween(c *simulation, f fault) repair.Class {
	if _, p := c.part(f.Ref); p != nil && p.IsThinking() {
		return repair.ThinkingBlockOrder
	}
	return repair.ToolResultMissing
}

func whyLostCall(c *simulation, f fault) string {
	m, p := c.part(f.Ref)
	if p == nil {
		return "A tool call would be sent without its result right after it."
	}
	if p.IsTool() {
		return fmt.Sprintf("The %s would be sent without its result right after it.", callName(p))
	}
	step := stepOf(m, f.Ref)
	at := slices.IndexFunc(step, func(q record.Part) bool { return q.Ref == f.Ref })
	call := lastOf(step[:max(at, 0)], (*record.Part).IsTool)
	behind := "a call"
	if call != nil {
		behind = "the " + callName(call)
	}
	return fmt.Sprintf("%s follows %s in the same step. Only more tool calls may follow there.", nameOf(p), behind)
}

// fixProviderCalls removes the mark that a provider ran a call itself. Every other provider is
// sent such a call without its result.
func fixProviderCalls(c *simulation, _ fault) []fix {
	isMarked := func(p *record.Part) bool {
		_, marked := jsonedit.Get(p.Data, "metadata", schema.ProviderExecuted)
		return marked && p.IsTool()
	}
	var marked []session.Ref
	for i := range c.s.Messages {
		for j := range c.s.Messages[i].Parts {
			if p := &c.s.Messages[i].Parts[j]; isMarked(p) {
				marked = append(marked, p.Ref)
			}
		}
	}
	if len(marked) == 0 {
		return nil
	}
	return []fix{{
		text:  "The mark that a provider ran a call itself is removed from its metadata.",
		loses: "The mark that a provider ran the call itself. The call is now sent with its stored result.",
		whole: true,
		edit: func(d *draft) error {
			for _, ref := range marked {
				_, p, err := d.part(ref)
				if err != nil {
					return err
				}
				if err := p.Unset("metadata", schema.ProviderExecuted); err != nil {
					return err
				}
			}
			return nil
		},
	}}
}

func fixCallWithoutResult(c *simulation, f fault) []fix {
	return append(fixProviderCalls(c, f), fixLostCall(c, f)...)
}

func fixLostCall(c *simulation, f fault) []fix {
	_, p := c.part(f.Ref)
	if p == nil || p.IsTool() {
		return nil
	}
	if p.IsThinking() {
		return moveOrRemove(c, f.Ref)
	}
	ref := f.Ref
	var fixes []fix
	if p.IsBlankText() {
		fixes = fixBlank(c, f)
	}
	return append(fixes, fix{
		text: "A step-start marker is inserted before it, so that it is sent after the tool result. Its content is unchanged.",
		edit: func(d *draft) error { return d.insertBare(ref) },
	})
}
