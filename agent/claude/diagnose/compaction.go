package diagnose

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"mend/agent/claude/transcript"
	"mend/internal/jsonedit"
	"mend/repair"
)

// findCompaction reports what is lost of the last compaction: its summary, the record that begins
// it, or the names of the messages that it preserved.
func (c *Case) findCompaction() {
	b, summary := c.conv.Boundary, c.summary()
	switch {
	case c.conv.Leaf == nil || c.conv.Hidden:
	case b != nil && (summary == nil || summary.Sendable() == 0) && c.canEdit(b.UUID):
		c.reportSummaryLost(b, summary)
	case summary == nil || c.conv.Place(summary) == 0:
	case c.conv.Record(summary.Parent) == nil && (b == nil || c.conv.LastBefore(summary) != b):
		c.reportBoundaryLost(summary)
	case b == nil || !c.canEdit(b.UUID):
	case !b.HasMetadata():
		c.reportPreserved(b, summary, c.lastAnswer(b), "A compaction does not say which messages it preserved.", "It preserves the last answer, as Claude Code does.")
	case c.conv.Missing != nil:
		c.reportPreserved(b, summary, c.conv.Present, "Some of the messages that a compaction preserved are not in the transcript. Claude Code then sends none of them.", "It preserves the others.")
	}
}

// summary returns the last summary behind the last compaction, or the last of all if there is no
// compaction; nil for none.
func (c *Case) summary() (last *transcript.Record) {
	for _, r := range c.conv.Records() {
		if r.Summary && c.conv.Owns(r) && !c.conv.Dropped(r) && (c.conv.Boundary == nil || c.conv.Place(r) > c.conv.Place(c.conv.Boundary)) {
			last = r
		}
	}
	return last
}

func (c *Case) reportSummaryLost(b, summary *transcript.Record) {
	var lost []*transcript.Record
	for _, r := range c.conv.Records() {
		if c.conv.Owns(r) && !c.conv.Has(r) && c.conv.Place(r) < c.conv.Place(b) {
			lost = append(lost, r)
		}
	}
	before := transcript.Messages(lost)
	if before == 0 {
		return
	}
	f := c.recordFinding(ruleSummary, repair.MissingHistory, b.UUID)
	f.Text = count(before) + " not sent, nor a summary of them"
	d := found{why: "The conversation was compacted, and the summary is lost. So nothing of what was said before reaches the model."}
	d.fixes = []repair.Fix{{
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
	c.report(f, d)
}

// lastAnswer returns the records of the last answer before a record: what a compaction preserves.
func (c *Case) lastAnswer(before *transcript.Record) (ids []string) {
	at := c.conv.LastBefore(before)
	for at != nil && at.Type != transcript.Assistant {
		at = c.conv.Record(c.conv.Parent(at))
	}
	for r := at; r != nil && r.Type == transcript.Assistant && r.MessageID == at.MessageID && len(ids) < 16; r = c.conv.Record(c.conv.Parent(r)) {
		if c.conv.Place(r) >= c.conv.Place(before) || r.Time > before.Time {
			return nil
		}
		ids = append(ids, r.UUID)
	}
	slices.Reverse(ids)
	return ids
}

// isSent reports whether something of the records with these ids is sent.
func (c *Case) isSent(ids []string) bool {
	return slices.ContainsFunc(ids, func(id string) bool { return c.anySent(c.conv.Record(id)) })
}

func metadata(anchor string, ids []string) []byte {
	list := make([][]byte, len(ids))
	for i, id := range ids {
		list[i] = jsonedit.Quote(id)
	}
	all := bytes.Join(list, []byte(","))
	return fmt.Appendf(nil, `{"trigger":"manual","preTokens":0,"preservedMessages":{"anchorUuid":%s,"uuids":[%s],"allUuids":[%s]}}`, jsonedit.Quote(anchor), all, all)
}

func (c *Case) reportBoundaryLost(summary *transcript.Record) {
	before := c.conv.LastBefore(summary)
	ids := c.lastAnswer(summary)
	line, ok := c.base.last[summary.UUID]
	if before == nil || before.Time > summary.Time || !c.isSent(ids) || summary.Parent == "" || !ok || !c.canEdit(summary.Parent) || !c.canEdit(summary.UUID) {
		return
	}
	f := c.recordFinding(ruleBoundary, repair.MissingHistory, summary.UUID)
	f.Unknown = c.followsUnknown(summary)
	f.Text = "the messages that a compaction preserved do not reach the request"
	d := found{why: "The beginning of a compaction is lost. So Claude sees its summary, and not the messages that it preserved."}
	d.fixes = []repair.Fix{{
		Text: "The beginning of the compaction is written again before the summary. It preserves the last answer, as Claude Code does.", Whole: true,
		Edit: func(d repair.Editor) error {
			raw := recordLike(summary, `{"parentUuid":null,"isSidechain":false,"type":"system","subtype":"compact_boundary","content":"Conversation compacted","isMeta":false,"level":"info","uuid":%s,"logicalParentUuid":%s,"compactMetadata":%s`,
				jsonedit.Quote(summary.Parent), jsonedit.Quote(before.UUID), metadata(summary.UUID, ids))
			d.(*draft).setLine(line, c.base.lines[line].Raw)
			d.(*draft).add(summary.Parent, raw, line-1)
			return nil
		},
	}}
	switch {
	case c.written != nil:
		d.fixes = nil // one rewritten transcript at a time
	case !c.gains(c.after(d.fixes[0].Edit)):
		return
	}
	c.report(f, d)
}

func (c *Case) reportPreserved(b, summary *transcript.Record, ids []string, why, does string) {
	if !c.isSent(ids) {
		return
	}
	f := c.recordFinding(rulePreserved, repair.MissingHistory, b.UUID)
	f.Text = "the messages that a compaction preserved do not reach the request"
	d := found{why: why + " So they do not reach the model beside the summary."}
	d.fixes = []repair.Fix{{
		Text: "The compaction is stored again. " + does, Whole: true,
		Edit: func(d repair.Editor) error {
			return d.(*draft).setMember(b.UUID, metadata(summary.UUID, ids), "compactMetadata")
		},
	}}
	if !c.gains(c.after(d.fixes[0].Edit)) {
		return
	}
	c.report(f, d)
}

// RemoveCompaction implements [repair.Editor]: the boundary becomes a note whose parent is the record
// before it, so the program sends the whole history again.
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

// removeBoundary makes the boundary of a compaction a note behind the record before it.
func (d *draft) removeBoundary(b *transcript.Record) error {
	up := b.LogicalParent()
	if d.c.conv.Record(up) == nil {
		before := d.c.conv.LastBefore(b)
		if before == nil {
			return repair.ErrNoBlock
		}
		up = before.UUID
	}
	return errors.Join(d.setMember(b.UUID, []byte(`"informational"`), "subtype"), d.setParent(b.UUID, up))
}
