package diagnose

import (
	"errors"
	"slices"

	"mend/agent/claude/transcript"
	"mend/repair"
)

// findCompaction reports that the last compaction lost its summary. A lost first record of the compaction, and lost
// names of the messages that it preserved, are reported without a fix.
func (c *State) findCompaction() {
	b, summary := c.conv.Boundary, c.summary()
	switch {
	case c.conv.Leaf == nil || c.conv.Hidden:
	case b != nil && (summary == nil || summary.Sendable() == 0) && c.canEdit(b.UUID):
		c.reportSummaryLost(b, summary)
	case summary == nil || c.conv.Place(summary) == 0:
	case c.conv.Record(summary.Parent) == nil && (b == nil || c.conv.LastBefore(summary) != b):
		c.reportOnly("boundary_lost", summary, "the beginning of a compaction is lost", "The beginning of a compaction "+
			"is lost, so Claude sees its summary, but not the messages that it preserved.")
	case b != nil && (!b.HasMetadata() || c.conv.Missing != nil && slices.ContainsFunc(c.conv.Present,
		func(id string) bool { return c.anySent(c.conv.Record(id)) })):
		c.reportOnly("preserved_unknown", b, "it is unknown what a compaction preserved", "A compaction does not name the "+
			"messages that it preserved, or some of them are not in the transcript. Claude Code then sends the summary "+
			"without them.")
	}
}

// summary returns the last summary after the last compaction, or the last one of the transcript if it has no
// compaction; nil for none.
func (c *State) summary() (last *transcript.Record) {
	for _, r := range c.conv.Records() {
		if r.Summary && c.conv.Owns(r) && !c.conv.IsDropped(r) && (c.conv.Boundary == nil ||
			c.conv.Place(r) > c.conv.Place(c.conv.Boundary)) {
			last = r
		}
	}
	return last
}

func (c *State) reportSummaryLost(b, summary *transcript.Record) {
	var lost []*transcript.Record
	for _, r := range c.conv.Records() {
		if c.conv.Owns(r) && !c.conv.Contains(r) && c.conv.Place(r) < c.conv.Place(b) {
			lost = append(lost, r)
		}
	}
	before := transcript.Messages(lost)
	if before == 0 {
		return
	}
	f := c.recordFinding(ruleSummary, b.UUID)
	f.Text = count(before) + " not sent, nor a summary of them"
	f.Why = "The conversation was compacted, and the summary is lost. So nothing that was said before reaches " +
		"the model."
	f.Fixes = []repair.Fix{{
		Text: "The compaction is removed: " + sentAgain(before) + ".", Whole: true,
		Edit: func(d repair.Editor) error {
			if summary != nil {
				if err := d.(*draft).retire(summary.UUID); err != nil {
					return err
				}
			}
			return d.(*draft).removeBoundary(b)
		},
	}}
	c.report(f)
}

// RemoveCompaction implements [repair.Editor]: the boundary becomes a note whose parent is the previous record,
// so Claude Code sends the whole history again.
func (d *draft) RemoveCompaction() (earlier int, err error) {
	conv := d.c.conv
	b := conv.Boundary
	if b == nil {
		return 0, repair.ErrNotCompacted
	}
	for _, r := range conv.Records() {
		if r.IsBoundary() && conv.Owns(r) && r != b {
			earlier++
		}
	}
	return earlier, d.removeBoundary(b)
}

// removeBoundary turns the boundary of a compaction into a note after the previous record.
func (d *draft) removeBoundary(b *transcript.Record) error {
	parent := b.Text("logicalParentUuid") // the leaf before the compaction
	if d.c.conv.Record(parent) == nil {
		before := d.c.conv.LastBefore(b)
		if before == nil {
			return repair.ErrNoBlock
		}
		parent = before.UUID
	}
	return errors.Join(d.setMember(b.UUID, []byte(`"informational"`), "subtype"), d.setParent(b.UUID, parent))
}
