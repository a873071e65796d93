package diagnose

import (
	"fmt"
	"slices"

	"mend/agent/claude/transcript"
	"mend/repair"
)

// Findings without a repair, because no user has met them.

// reportOnly adds a finding about the history without a fix. The record is an example of the affected ones.
func (c *State) reportOnly(kind string, r *transcript.Record, text, why string) {
	f := c.recordFinding(ruleHistory, r.UUID)
	f.Detail, f.Text, f.Unknown, f.Why, f.Refusal = kind, text, c.followsUnknown(r), why, c.refuseRepair()
	c.report(f)
}

// refuseRepair refuses a repair that no user has needed.
func (c *State) refuseRepair() *repair.RefusalError {
	const why = "mend does not repair that. If mend kept an earlier state of the session: mend restore %s. If mend " +
		"changed the session: mend undo."
	return &repair.RefusalError{EditOnly: true, Final: true, Why: fmt.Sprintf(why, c.base.Ref.Session)}
}

// findDisorder reports lines that are out of order, if Claude Code therefore omits records from the request: it
// continues at a record other than the last, or treats records after a compaction as earlier ones. Other findings
// about the history are then unreliable.
func (c *State) findDisorder() bool {
	early := c.conv.FirstDisplaced()
	if early == nil {
		return false
	}
	begin := c.conv.Boundary
	var lost []*transcript.Record
	var last *transcript.Record
	for _, r := range c.conv.Records() {
		if !c.conv.Owns(r) || !r.Timed || !c.anySent(r) || begin != nil && r.Time < begin.Time {
			continue
		}
		if last == nil || r.Time >= last.Time {
			last = r
		}
		if !c.conv.Contains(r) || c.conv.Hidden {
			lost = append(lost, r)
		}
	}
	if last == nil || c.conv.Contains(last) && !c.conv.Hidden && !slices.ContainsFunc(lost, c.conv.IsDropped) {
		return false
	}
	n := count(transcript.Messages(lost))
	c.reportOnly("out_of_order", early, "the lines cannot be read in order, "+n+" not sent",
		fmt.Sprintf("Lines of the transcript are out of order, so Claude Code misreads some of them. "+
			"It does not send %s%s.", n, c.fromPrompt(lost)))
	return true
}

// findRepeated reports ids of two different messages: the later message replaces the earlier one.
func (c *State) findRepeated() {
	for _, r := range c.conv.Duplicates() {
		if b := c.conv.Boundary; b == nil || !r.Timed || r.Time > b.Time {
			c.reportOnly("uuid_repeated", r, "two messages have one id", "Two different messages have the same id, so "+
				"Claude Code loads only one of them, and what is before the other one is lost.")
		}
	}
}
