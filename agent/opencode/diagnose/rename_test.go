package diagnose

import (
	"strings"
	"testing"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/internal/test/damage"
)

// TestRename: a part with an invalid id gets its former id and position again, and every version accepts the session.
func TestRename(t *testing.T) {
	for i, version := range damage.Versions {
		fixture := fromStore(t, i, unchanged)
		healthy, _ := violationCounts(fixture, render.Profiles())
		for _, prefix := range []string{"bad_", "part_", "txt_", "supermemory-"} {
			s := fixture.Clone()
			m := &s.Messages[damage.Hello]
			p := m.Parts[2]
			m.Remove(p.Ref)
			to := p.Ref
			to.Part = prefix + p.ID
			r, err := record.Move(&p.Record, to)
			if err != nil {
				t.Fatal(err)
			}
			m.Insert(record.NewPart(r))
			after := firstHolding(t, s, healthy, recordFixes(&simulation{s: s}, finding{Code: render.FailureScreen, Ref: to}), render.Profiles())
			if after == nil || string(after.Messages[damage.Hello].Parts[2].Data) != string(p.Data) || after.Messages[damage.Hello].Parts[2].ID != p.ID {
				t.Errorf("%s: the part with the id %s does not get its former id and position", version, to.Part)
			}
		}
	}
}

// TestRenamePlace: a part whose invalid id contains no valid one gets an id that sorts to its position.
func TestRenamePlace(t *testing.T) {
	for _, c := range []struct {
		name string
		turn turn
		want string
	}{
		{"last in an answer", answer(stepStart, hi, stepFinish, `memory-1|"type":"text","text":"x"`), "prt_0203_memory-1"},
		{"last in a prompt", user(hi, file, `memory-1|"type":"text","text":"x"`), "prt_0202_memory-1"},
		{"alone", user(`memory-1|"type":"text","text":"x"`), "prt_memory-1"},
	} {
		s := build(user(hi), c.turn, user(hi))
		m := &s.Messages[1]
		var p record.Part
		for _, p = range m.Parts {
			if !strings.HasPrefix(p.ID, "prt_") {
				break
			}
		}
		after := edited(t, s, recordFixes(&simulation{s: s}, finding{Code: render.FailureScreen, Ref: p.Ref})[0])
		got := after.Messages[1].Part(c.want)
		if got == nil || got.Text != "x" || len(after.Messages[1].Parts) != len(m.Parts) {
			t.Errorf("%s: %s", c.name, records(after))
		}
	}
}

// TestNothingToComplete: mend does not change records of unknown types.
func TestNothingToComplete(t *testing.T) {
	s := build(user(hi), answer(hi, `"type":"novelty","x":1`), user(hi))
	ref := s.Messages[1].Parts[1].Ref
	if fixes := recordFixes(&simulation{s: s}, finding{Code: render.FailureScreen, Ref: ref}); len(fixes) > 0 {
		t.Errorf("%d fixes for a part of an unknown kind: %s", len(fixes), fixes[0].Text)
	}
}
