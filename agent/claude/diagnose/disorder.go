package diagnose

import (
	"fmt"
	"slices"

	"mend/agent/claude/transcript"
	"mend/repair"
)

// findDisorder reports lines in another order than that in which they were written, if something
// does not reach the request because of that. Often the program only goes on at another record than
// the last one, and it helps to append that again. complete says that the order is another one and
// all is sent, so that what seems to be lost is not.
func (c *Case) findDisorder() (complete bool) {
	order := c.conv.Sequence()
	if order == nil {
		return false
	}
	sorted := c.arrange(order)
	if sorted.conv.Leaf == nil {
		return false
	}
	should, leaf := sorted.complete(), sorted.conv.Leaf.UUID
	is := c.visible()
	lost := slices.DeleteFunc(slices.Clone(should), func(r *transcript.Record) bool { return c.conv.Has(r) && !c.conv.Hidden })
	gains := len(without(sorted.visible(), is)) > 0 || len(without(should, c.complete())) > 0
	if !gains {
		faults := sorted.historyFaults()
		if faults >= c.historyFaults() || len(sorted.omitted()) > 0 {
			return false
		}
		if faults == 0 && len(without(is, sorted.visible())) == 0 {
			return true
		}
	}
	f := c.recordFinding(ruleDisorder, repair.MissingHistory, leaf)
	f.Text = "the conversation is another one"
	d := found{why: "Lines of the transcript are in another order than that in which they were written, so Claude Code takes some of them for what they are not"}
	if n := transcript.Messages(lost); n > 0 {
		messages := fmt.Sprintf("%d of %s", n, count(transcript.Messages(should)))
		f.Text = messages + " not sent"
		d.why += ". It does not send " + messages + c.promptsIn(lost)
	}
	d.why += "."
	atEnd := func(d repair.Editor) error { d.(*draft).setLeaf(leaf); return nil }
	switch {
	case c.conv.Chosen:
		d.refusal = &repair.RefusalError{Final: true, Why: "You went back to an earlier prompt, and the order no longer tells what you left by that."}
	case c.written != nil: // one rewritten transcript at a time
	default:
		appended := loadCase(c.base, c.after(atEnd))
		appended.keepLeaf(leaf)
		if all := appended.complete(); len(without(should, all))+len(without(all, should)) == 0 {
			d.fixes = append(d.fixes, repair.Fix{Text: "The last message is appended again, so the conversation goes on there.", Whole: true, Edit: atEnd})
		}
		d.fixes = append(d.fixes, repair.Fix{
			Text: "The lines are put back into their order.", Whole: true,
			Edit: func(d repair.Editor) error { d.(*draft).setOrder(order, leaf); return nil },
		})
	}
	c.report(f, d)
	return false
}

// arrange returns the case with the lines in another order.
func (c *Case) arrange(order []int) *Case {
	lines := make([]transcript.Line, len(order))
	for n, i := range order {
		lines[n] = c.lines[i]
	}
	other := c.tryLines(lines, transcript.Load(lines, c.base.size(), c.conv.Agent))
	if other.conv.Leaf != nil {
		other.edits.leaf = other.conv.Leaf.UUID
	}
	return other
}

// tryLines returns a case with other lines, to ask what it sends.
func (c *Case) tryLines(lines []transcript.Line, conv *transcript.Conversation) *Case {
	return &Case{base: c.base, edits: c.edits, lines: lines, conv: conv, linked: conv, found: map[string]found{}, tried: true}
}

// historyFaults returns how many faults lose some of the history.
func (c *Case) historyFaults() (n int) {
	other := c.tryLines(c.lines, c.conv)
	other.findBefore()
	other.findBeside()
	for _, f := range other.findings.All() {
		if isLoss(f) {
			n++
		}
	}
	return n
}

// isLoss reports whether some of the history is lost by a finding.
func isLoss(f repair.Finding) bool {
	return f.Class == repair.MissingHistory && f.Severity == repair.Broken
}

// visible returns the records of which something is sent.
func (c *Case) visible() (all []*transcript.Record) {
	if c.conv.Hidden {
		return nil
	}
	for _, t := range c.Request().Turns {
		for _, b := range t.Blocks {
			if r := c.conv.Record(b.Ref().Message); r != nil && r.IsMessage() && b.Index < len(r.Blocks()) { // else the program adds it
				all = append(all, r)
			}
		}
	}
	return all
}

// complete returns the records of which something is sent when all breaks are repaired.
func (c *Case) complete() []*transcript.Record {
	return slices.DeleteFunc(slices.Clone(c.link().Chain), func(r *transcript.Record) bool { return !c.anySent(r) })
}

// without returns the records whose ids none of the others has.
func without(all, others []*transcript.Record) []*transcript.Record {
	has := map[string]bool{}
	for _, r := range others {
		has[r.UUID] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(r *transcript.Record) bool { return has[r.UUID] })
}
