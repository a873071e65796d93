package mend

import (
	"errors"
	"testing"

	"mend/change"
	"mend/repair"
)

// TestSummary: a summary counts broken, failed, unfixable, busy and healthy sessions. A session that cannot be examined
// is broken.
func TestSummary(t *testing.T) {
	var s Summary
	broken := repair.Diagnosis{Severity: repair.Broken}
	fixable := repair.Diagnosis{Severity: repair.Broken, Fix: "it is removed"}
	for _, f := range []Finding{
		{Session: change.Head{ID: "ses_1", Title: "a"}, Err: errors.New("it cannot be read")},
		{Session: change.Head{ID: "ses_2"}, Diagnoses: []repair.Diagnosis{fixable}},
		{Session: change.Head{ID: "ses_4"}, Diagnoses: []repair.Diagnosis{broken}},
		{Session: change.Head{ID: "ses_3"}, Busy: true, Diagnoses: []repair.Diagnosis{{Severity: repair.Note}}},
	} {
		s.Add(&f)
	}
	if s.Sessions != 4 || s.Broken != 3 || s.Failed != 1 || s.NoFix != 1 || s.Busy != 1 || s.Healthy() != 1 || len(s.Worst) != 3 {
		t.Errorf("%+v, %d healthy; want 3 of 4 broken, 1 of them failed, 1 without a fix, 1 healthy, 3 named", s, s.Healthy())
	}
}
