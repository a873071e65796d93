package diagnose

import (
	"fmt"
	"slices"

	"mend/agent/opencode/record"
	"mend/repair"
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
