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

// report adds a finding once.
func (c *State) report(f repair.Finding) {
	f.Severity = cmp.Or(f.Severity, repair.Broken)
	if f.Unknown && c.base.isNewer() {
		f.Severity = repair.Note
	}
	key := f.Code + "\x00" + f.Detail + "\x00" + f.Ref.String()
	if c.seen[key] {
		return
	}
	if r := c.linked.Record(f.Ref.Message); c.linked != c.conv && r != nil && !c.conv.Contains(r) {
		f.Tier = repair.Ask // it only becomes a violation once the history before a break is sent again
	}
	c.faults, c.seen[key] = append(c.faults, f), true
}

// Refuses implements [repair.State].
func (c *State) Refuses(f repair.Finding) *repair.RefusalError {
	uuid := f.Ref.Message
	r := c.linked.Record(uuid)
	switch {
	case uuid != "" && (!c.canEdit(uuid) || r != nil && r.IsBoundary() && f.Code != ruleSummary):
		return errNoLine
	case c.base.drafts > maxDrafts:
		const why = "mend stopped after %d attempts: the transcript has too many findings that depend on each other."
		return &repair.RefusalError{Why: fmt.Sprintf(why, maxDrafts), Final: true}
	}
	return nil
}

// maxDrafts limits the number of drafts of a transcript: each is loaded again. Independent findings share a draft.
const maxDrafts = 256

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

// editsWith returns the edits of the state and of a fix. If the fix cannot be applied, it returns only the state's.
func (c *State) editsWith(edit func(*draft) error) edits {
	d := c.edit()
	if edit(d) != nil {
		return c.edits
	}
	return d.edits
}

// isLessThan reports whether the other state sends more stored blocks, or can after further repairs.
func (c *State) isLessThan(after *State) bool {
	if leaf := after.edits.leafOf(c.base); leaf != "" {
		after.keepLeaf(leaf)
	} else if c.conv.Leaf != nil { // the stored transcript
		after.keepLeaf(c.conv.Leaf.UUID)
	}
	if after.Blocks() > c.Blocks() {
		return true
	}
	after.findLostHistory()
	after.findBranches()
	return slices.ContainsFunc(after.faults, func(f repair.Finding) bool {
		return isHistory(f) && f.Severity == repair.Broken
	})
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
