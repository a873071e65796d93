package repair_test

import (
	"strings"
	"testing"

	"mend/internal/test/mutation"
	"mend/repair"
)

// TestUnknownStays: unknown data of a newer version is a note, and no fix changes it, not even the fix of another finding. In
// a known version it is broken, and fixed.
func TestUnknownStays(t *testing.T) {
	unknown := bad(mutation.Unknown, repair.Broken, single("removed"))
	find := unknown.Find
	unknown.Find = func(s *repair.Case) []repair.Finding {
		all := find(s)
		for i := range all {
			all[i].Unknown = true
		}
		return all
	}
	fault := bad("x", repair.Broken, func(x *repair.Fault) []repair.Fix {
		both := repair.Fix{Text: "Both are removed.", Whole: true, Edit: func(d repair.Editor) error {
			for _, ref := range x.Messages() {
				if err := d.SetText(x.Stored(ref).Blocks()[0], "removed"); err != nil {
					return err
				}
			}
			return nil
		}}
		return []repair.Fix{both, replaceWords(x, "good", "")}
	})
	s := newToy(claude, prompt(text("x")), prompt(text(mutation.Unknown)))
	s.newer = "Agent 9.0.0"
	apart := fault
	apart.Fixes = func(x *repair.Fault) []repair.Fix { // not marked as fixes that change another message
		fixes := fault.Fixes(x)
		fixes[0].Whole = false
		return fixes
	}
	r, err := repair.Plan("ses_1", newCase(s, apart, unknown), repair.Request{})
	if got := describe(stateOf(r.After).messages); err != nil || got != "user[good] user["+mutation.Unknown+"]" {
		t.Errorf("with fixes of one message: %s, %v", got, err)
	}
	r, err = repair.Plan("ses_1", newCase(s, fault, unknown), repair.Request{Latent: true})
	if got := describe(stateOf(r.After).messages); err != nil || got != "user[good] user["+mutation.Unknown+"]" || len(r.Remaining) != 1 {
		t.Fatalf("%s, remaining %v, %v", got, r.Remaining, err)
	}
	if d := r.Remaining[0]; d.Severity != repair.Note || !strings.Contains(d.WhyNot, "Agent 9.0.0 is newer") {
		t.Errorf("%+v", d)
	}
	s.newer = ""
	r, err = repair.Plan("ses_1", newCase(s, fault, unknown), repair.Request{})
	if got := describe(stateOf(r.After).messages); err != nil || got != "user[removed] user[removed]" || len(r.Remaining) != 0 {
		t.Errorf("in a known version: %s, remaining %v, %v", got, r.Remaining, err)
	}
}
