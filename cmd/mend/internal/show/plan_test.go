package show

import (
	"slices"
	"testing"

	"mend/change"
	"mend/internal/term"
	"mend/repair"
)

// TestCounts: a change of a repair is counted once, however many findings it fixes.
func TestCounts(t *testing.T) {
	at := func(part string) change.Ref {
		return change.Ref{Kind: change.KindPart, Session: "s", Message: "m", Part: part}
	}
	var r repair.Result
	for _, d := range []struct{ part, class, fix, loses string }{
		{"a", "x", "It is filled.", ""}, {"a", "y", "It is filled.", "The text."}, {"b", "x", "It is filled.", "The text."}, {"a", "z", "It goes.", "The text."},
	} {
		r.Fixed = append(r.Fixed, repair.Diagnosis{Ref: at(d.part), Class: repair.Class(d.class), Fix: d.fix, Loses: d.loses})
	}
	r.Plan.Ops = []change.Op{{Ref: at("a")}, {Ref: at("b")}}
	if got, want := plannedFixes(r), []string{"It is filled (that removes 3 findings)", "It goes"}; !slices.Equal(got, want) {
		t.Errorf("plannedFixes returns %q, want %q", got, want)
	}
	lost := summary(oncePerRecord(r.Fixed), func(d repair.Diagnosis) string { return term.Sentence(d.Loses) })
	if want := []string{"2 × The text"}; !slices.Equal(lost, want) {
		t.Errorf("lost is %q, want %q", lost, want)
	}
	e := change.Entry{Ops: make([]change.OpInfo, 2), Cause: change.Cause{Findings: []change.Finding{
		{Why: "It is empty.", Fix: "It is filled.", Loses: "The text.", Count: 2}, {Why: "It is blank.", Fix: "It is filled.", Count: 1},
	}}}
	if got, want := slices.Concat(entryChanges(e), entryLosses(e)), []string{"It is filled", "2 changes", "The text"}; !slices.Equal(got, want) {
		t.Errorf("changed and lost are %q, want %q", got, want)
	}
}
