package repair_test

import (
	"strings"
	"testing"

	"mend/change"
	"mend/internal/test/mutation"
	"mend/repair"
)

// A newer is a session of two messages: one is broken, and something in the other is not known. The first fix of the fault
// removes both.
type newer struct {
	repair.BaseCase

	version        string
	fixed, removed bool
}

var record = change.Ref{Kind: change.KindMessage, Session: "ses_1", Message: "msg_1"}

var other = change.Ref{Kind: change.KindMessage, Session: "ses_1", Message: "msg_2"}

func (c *newer) Findings() *repair.Findings {
	all := &repair.Findings{Newer: c.version}
	if !c.fixed {
		all.Add(repair.InUse, repair.Finding{Code: "fault", Ref: record, Severity: repair.Broken})
	}
	if !c.removed {
		all.Add(repair.InUse, repair.Finding{Code: mutation.Unknown, Ref: other, Severity: repair.Broken, Unknown: true})
	}
	return all
}

func (c *newer) Records(yield func(*change.Record) bool) {
	for ref, changed := range map[change.Ref]bool{record: c.fixed, other: c.removed} {
		data := []byte("whole")
		if changed {
			data = []byte("changed")
		}
		if !yield(&change.Record{Ref: ref, Data: data}) {
			return
		}
	}
}

func (c *newer) Describe(f repair.Finding) repair.Diagnosis {
	return repair.Diagnosis{Rule: f.Code, Severity: f.Severity, Ref: f.Ref}
}

func (c *newer) Fixes(f repair.Finding) ([]repair.Fix, error) {
	remove := func(d repair.Draft) error { d.(*newerDraft).removed = true; return nil }
	if f.Ref == other {
		return []repair.Fix{{Text: "It is removed.", Edit: remove}}, nil
	}
	return []repair.Fix{
		{Text: "Both are removed.", Whole: true, Edit: func(d repair.Draft) error { d.(*newerDraft).fixed = true; return remove(d) }},
		{Text: "It is fixed.", Edit: func(d repair.Draft) error { d.(*newerDraft).fixed = true; return nil }},
	}, nil
}

func (c *newer) Draft() repair.Draft { return &newerDraft{newer: *c} }

type newerDraft struct {
	repair.NoEdits
	newer
}

func (d *newerDraft) Apply(_ repair.Finding, x repair.Fix) error { return x.Edit(d) }

func (d *newerDraft) Case() repair.Case {
	c := d.newer
	return &c
}

// What a version to come has written and mend does not know is a note that no fix changes, not even one of another fault. In a
// known version it is a fault.
func TestUnknownStays(t *testing.T) {
	r, err := repair.Plan("ses_1", &newer{version: "Agent 9.0.0"}, repair.Request{Latent: true})
	if err != nil || len(r.Plan.Ops) != 1 || r.Plan.Ops[0].Ref != record || len(r.Fixed) != 1 || len(r.Remaining) != 1 {
		t.Fatalf("%d ops, fixed %v, remaining %v, %v", len(r.Plan.Ops), r.Fixed, r.Remaining, err)
	}
	if d := r.Remaining[0]; d.Severity != repair.Note || !strings.Contains(d.WhyNot, "Agent 9.0.0 is newer") {
		t.Errorf("%+v", d)
	}
	r, err = repair.Plan("ses_1", &newer{}, repair.Request{})
	if err != nil || len(r.Plan.Ops) != 2 || len(r.Remaining) != 0 {
		t.Errorf("in a known version: %d ops, remaining %v, %v", len(r.Plan.Ops), r.Remaining, err)
	}
}
