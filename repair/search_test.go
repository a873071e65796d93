package repair_test

import (
	"fmt"
	"testing"

	"mend/change"
	"mend/repair"
)

// A chain is a case whose fault becomes the next one with each fix, until none is left. It is the
// state of a session of one record.
type chain struct {
	repair.BaseCase

	at, end  int
	findings repair.Findings
}

var record = change.Ref{Kind: change.KindMessage, Session: "ses_1", Message: "msg_1"}

func newChain(at, end int) *chain {
	c := &chain{at: at, end: end}
	if at < end {
		c.findings.Add(repair.InUse, repair.Finding{Code: fmt.Sprint("fault ", at), Ref: record, Severity: repair.Broken})
	}
	return c
}

func (c *chain) Findings() *repair.Findings { return &c.findings }

func (c *chain) Records(yield func(*change.Record) bool) {
	yield(&change.Record{Ref: record, Data: []byte{byte(c.at)}})
}

func (c *chain) Describe(f repair.Finding) repair.Diagnosis {
	return repair.Diagnosis{Rule: f.Code, Severity: f.Severity, Ref: f.Ref}
}

func (c *chain) Fixes(repair.Finding) ([]repair.Fix, error) {
	return []repair.Fix{{Text: "The next one.", Edit: func(repair.Draft) error { return nil }}}, nil
}

func (c *chain) Draft() repair.Draft { return &chainDraft{at: c.at, end: c.end} }

type chainDraft struct {
	repair.NoEdits

	at, end int
}

func (d *chainDraft) Apply(_ repair.Finding, x repair.Fix) error { d.at++; return x.Edit(d) }
func (d *chainDraft) Case() repair.Case                          { return newChain(d.at, d.end) }

// Fixes of which each causes the next fault hold together, or not at all.
func TestFixesHoldTogether(t *testing.T) {
	for end, fixed := range []bool{true, true, true, true, true, false} {
		r, err := repair.Plan("ses_1", newChain(0, end), repair.Request{})
		if err != nil || (len(r.Remaining) == 0) != fixed || (len(r.Plan.Ops) > 0) != (fixed && end > 0) {
			t.Errorf("%d faults: %d ops, %d remain, %v", end, len(r.Plan.Ops), len(r.Remaining), err)
		}
	}
}
