package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"mend/agent/claude/transcript"
	"mend/change"
	"mend/repair"
)

// errNoLine refuses edits of a record for which [State.canEdit] reports false.
var errNoLine = &repair.RefusalError{Final: true, EditOnly: true, Why: "The message has no line of its own."}

// report adds a finding.
func (c *State) report(f repair.Finding) {
	f.Severity = cmp.Or(f.Severity, repair.Broken)
	if f.Unknown && c.base.isNewer() {
		f.Severity = repair.Note
	}
	if r := c.linked.Record(f.Ref.Message); c.linked != c.conv && r != nil && !c.conv.Contains(r) {
		f.Tier = repair.Ask // it only becomes a violation once the history before a break is sent again
	}
	c.faults = append(c.faults, f)
}

// Refuses implements [repair.State].
func (c *State) Refuses(f repair.Finding) *repair.RefusalError {
	uuid := f.Ref.Message
	r := c.linked.Record(uuid)
	if uuid != "" && (!c.canEdit(uuid) || r != nil && r.IsBoundary() && f.Code != ruleSummary) {
		return errNoLine
	}
	return nil
}

// Faults implements [repair.State].
func (c *State) Faults() []repair.Finding { return c.faults }

// examine collects the findings.
func (c *State) examine() {
	disorder := c.findDisorder()
	c.findUnread()
	if !disorder {
		c.findLostHistory()
		c.findBranches()
		c.findOmitted()
	}
	c.findRefusals()
	if !c.findNothing() {
		c.findTorn()
	}
	c.findUnknown()
	c.findFolder()
}

// isHistory reports whether a finding is about history that is not sent.
func isHistory(f repair.Finding) bool { return table().Rule(f.Code).Class == repair.MissingHistory }

// anySent reports whether a block of the records would be sent if they were in the conversation: 2.1 does not send an
// answer that has only thinking.
func (c *State) anySent(rs ...*transcript.Record) bool {
	return slices.ContainsFunc(rs, func(r *transcript.Record) bool {
		return r.Sendable() > 0 && slices.ContainsFunc(r.Blocks(), func(b *transcript.Block) bool { return !b.IsThinking() })
	})
}

// findLostHistory reports lost history before the conversation and within it.
func (c *State) findLostHistory() {
	c.findRepeated()
	c.findSidechain()
	c.findCompaction()
	c.findBreaks()
	c.findSkipped()
}

// count returns a number of messages.
func count(n int) string {
	if n == 1 {
		return "1 message"
	}
	return fmt.Sprintf("%d messages", n)
}

// sentAgain returns a text with the number of messages that a fix restores.
func sentAgain(n int) string {
	if n == 1 {
		return "1 message is sent again"
	}
	return count(n) + " are sent again"
}

func (c *State) recordFinding(code, uuid string) repair.Finding {
	return repair.Finding{Code: code, Ref: c.base.refOf(uuid)}
}

// canEdit reports whether a record has a line of its own and an id that a ref can have.
func (c *State) canEdit(uuid string) bool {
	if change.ValidateID(uuid) != nil {
		return false
	}
	i, ok := c.base.last[uuid]
	return !ok || len(c.base.lines[i].Rest) == 0
}
