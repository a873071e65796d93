package diagnose

import (
	"fmt"

	"mend/agent/claude/transcript"
	"mend/repair"
	"mend/session"
)

// A found is what is known of a finding.
type found struct {
	why   string
	fixes []repair.Fix
	not   *repair.RefusalError // why there is no fix
}

// report adds a finding.
func (c *Case) report(f repair.Finding, d found) {
	if f.Severity == 0 {
		f.Severity = repair.Broken
	}
	if _, again := c.found[keyOf(f)]; again {
		return
	}
	c.findings.Add(repair.InUse, f)
	c.found[keyOf(f)] = d
}

func keyOf(f repair.Finding) string { return f.Code + "\x00" + f.Detail + "\x00" + f.Ref.String() }

// Describe implements [repair.Case].
func (c *Case) Describe(f repair.Finding) repair.Diagnosis {
	d := repair.Diagnosis{Rule: f.Code, Class: f.Class, Severity: f.Severity, Ref: f.Ref, Message: f.Ref.Message, Why: c.found[keyOf(f)].why, Text: f.Text}
	if not := c.found[keyOf(f)].not; not != nil {
		d.WhyNot = not.Why
	}
	return d
}

// Fixes implements [repair.Case].
func (c *Case) Fixes(f repair.Finding, _ repair.Draft) ([]repair.Fix, error) {
	d := c.found[keyOf(f)]
	switch {
	case d.not != nil:
		return nil, d.not
	case len(d.fixes) > 0 && c.base.drafts > maxDrafts:
		return nil, &repair.RefusalError{Why: fmt.Sprintf("mend stopped after %d attempts: the transcript has too many faults that depend on each other.", maxDrafts), Final: true}
	}
	return d.fixes, nil
}

// maxDrafts limits how many drafts are made of a transcript: each is loaded again, and faults that
// can be fixed side by side share one.
const maxDrafts = 256

// examine finds what is wrong.
func (c *Case) examine() {
	if c.findUnreadable() {
		return
	}
	c.findRepeated()
	c.findSidechain()
	c.findCompaction()
	c.findBreaks()
	c.findSkipped()
	c.findUnread()
	c.findBranches()
	c.findUnreached()
	c.findRefusals()
}

// Missing returns how many blocks of the transcript do not reach the request, and how many
// should.
func (c *Case) Missing() (missing, all int) {
	for _, b := range c.conv.Breaks {
		missing += transcript.Sendable(b.Found)
	}
	reached := transcript.Sendable(c.conv.Chain)
	if c.conv.Hidden {
		missing, reached = missing+reached, 0
	}
	return missing, missing + reached
}

// recordFinding returns a finding at a record.
func (c *Case) recordFinding(code string, class repair.Class, uuid string) repair.Finding {
	return repair.Finding{Code: code, Class: class, Ref: c.base.refOf(uuid)}
}

// canEdit reports whether a record has a line of its own and an id that a ref can have.
func (c *Case) canEdit(uuid string) bool {
	if session.ValidateID(uuid) != nil {
		return false
	}
	i, ok := c.base.last[uuid]
	return !ok || !c.base.lines[i].Several && len(c.base.lines[i].Rest) == 0
}
