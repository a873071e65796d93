package diagnose

import (
	"fmt"
	"slices"

	"mend/agent/claude/transcript"
	"mend/change"
	"mend/repair"
)

// A found explains a finding and has its fixes.
type found struct {
	why     string
	fixes   []repair.Fix
	refusal *repair.RefusalError // why there is no fix
}

// errNoLine is the refusal to edit a record that [Case.canEdit] is not true of.
var errNoLine = &repair.RefusalError{Final: true, Why: "The message has no line of its own."}

// fixedBy explains a finding at a record, with its fixes if the record can be edited.
func (c *Case) fixedBy(uuid, why string, fixes ...repair.Fix) found {
	if r := c.linked.Record(uuid); !c.canEdit(uuid) || r != nil && r.IsBoundary() {
		return found{why: why, refusal: errNoLine}
	}
	return found{why: why, fixes: fixes}
}

// report adds a finding.
func (c *Case) report(f repair.Finding, d found) {
	if f.Severity == 0 {
		f.Severity = repair.Broken
	}
	if _, again := c.found[keyOf(f)]; again {
		return
	}
	f.Tier = table().ExplainClass(f.Class).Tier
	if r := c.linked.Record(f.Ref.Message); c.linked != c.conv && r != nil && !c.conv.Has(r) {
		f.Tier = repair.Ask // it is refused only where the history before a break is sent again
	}
	c.findings.Add(repair.InUse, f)
	c.found[keyOf(f)] = d
}

func keyOf(f repair.Finding) string { return f.Code + "\x00" + f.Detail + "\x00" + f.Ref.String() }

// Describe implements [repair.Case].
func (c *Case) Describe(f repair.Finding) repair.Diagnosis {
	d := repair.Diagnosis{Rule: f.Code, Class: f.Class, Tier: f.Tier, Severity: f.Severity, Ref: f.Ref, Message: f.Ref.Message, Why: c.found[keyOf(f)].why, Text: f.Text}
	if refusal := c.found[keyOf(f)].refusal; refusal != nil {
		d.WhyNot = refusal.Why
	}
	if f.Severity != repair.Latent {
		d.Shown = table().Of(f.Code).Shown
	}
	return d
}

// Fixes implements [repair.Case].
func (c *Case) Fixes(f repair.Finding) ([]repair.Fix, error) {
	d := c.found[keyOf(f)]
	switch {
	case d.refusal != nil:
		return nil, d.refusal
	case len(d.fixes) == 0:
		return nil, nil
	case c.base.Locked != nil && c.base.Locked() != "":
		return nil, &repair.RefusalError{Why: fmt.Sprintf("The transcript cannot be changed: %s. Then repair again.", c.base.Locked()), Helps: true, Final: true}
	case c.base.drafts > maxDrafts:
		return nil, &repair.RefusalError{Why: fmt.Sprintf("mend stopped after %d attempts: the transcript has too many faults that depend on each other.", maxDrafts), Final: true}
	}
	return d.fixes, nil
}

// maxDrafts limits how many drafts are made of a transcript: each is loaded again, and faults that
// can be fixed side by side share one.
const maxDrafts = 256

// examine finds what is wrong.
func (c *Case) examine() {
	disorder := c.findDisorder()
	c.findUnread()
	if !disorder {
		c.findBefore()
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

// after returns the edits with those of a fix; without them if the fix cannot be applied.
func (c *Case) after(edit func(repair.Editor) error) edits {
	d := &draft{c: c, edits: c.edits.clone(), gone: map[string][]int{}}
	if err := d.Apply(repair.Finding{}, repair.Fix{Edit: edit}); err != nil {
		return c.edits
	}
	return d.edits
}

// gains reports whether more is sent after the edits, or can be after further repairs.
func (c *Case) gains(e edits) bool { return c.tried || c.isLessThan(loadCase(c.base, e)) }

// isLessThan reports whether more is sent of another state, or can be after further repairs.
func (c *Case) isLessThan(after *Case) bool {
	if leaf := after.edits.leafOf(c.base); leaf != "" {
		after.keepLeaf(leaf)
	} else if c.conv.Leaf != nil { // the transcript as it is stored
		after.keepLeaf(c.conv.Leaf.UUID)
	}
	if after.Blocks() > c.Blocks() {
		return true
	}
	after.tried = true
	after.findBefore()
	after.findBranches()
	return slices.ContainsFunc(after.findings.All(), func(f repair.Finding) bool { return f.Class == repair.MissingHistory && f.Severity == repair.Broken })
}

// anySent reports whether a block of the records is sent if they are in the conversation: 2.1
// sends nothing of an answer that has only thinking.
func (c *Case) anySent(rs ...*transcript.Record) bool {
	return slices.ContainsFunc(rs, func(r *transcript.Record) bool {
		return r.Sendable() > 0 && slices.ContainsFunc(r.Blocks(), func(b *transcript.Block) bool { return !b.IsThinking() })
	})
}

// findBefore finds what is lost of the history before the conversation, and in it.
func (c *Case) findBefore() {
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

// sentAgain says how many messages a fix brings back.
func sentAgain(n int) string {
	if n == 1 {
		return "1 message is sent again"
	}
	return count(n) + " are sent again"
}

// recordFinding returns a finding at a record.
func (c *Case) recordFinding(code string, class repair.Class, uuid string) repair.Finding {
	return repair.Finding{Code: code, Class: class, Ref: c.base.refOf(uuid)}
}

// canEdit reports whether a record has a line of its own and an id that a ref can have.
func (c *Case) canEdit(uuid string) bool {
	if change.ValidateID(uuid) != nil {
		return false
	}
	i, ok := c.base.last[uuid]
	return !ok || !c.base.lines[i].Several && len(c.base.lines[i].Rest) == 0
}
