package diagnose

import (
	"slices"
	"strings"
	"testing"

	"mend/internal/jsonedit"
	"mend/repair"
)

// TestCallID: a call without an id gets an id that no other call has.
func TestCallID(t *testing.T) {
	bad := strings.Replace(bash, "toolu_1", "", 1)
	taken := strings.Replace(bash, "toolu_1", "call_0202", 1)
	for _, c := range []struct {
		name  string
		turns []turn
		want  []string // the ids of the calls afterwards
	}{
		{"from its part's id", []turn{user(hi), answer(stepStart, bad, stepStart, done)}, []string{"call_0202"}},
		{"another call has that id", []turn{user(hi), answer(stepStart, bad, stepStart, done), user(hi), answer(stepStart, taken, stepStart, done)}, []string{"call_0202_mend", "call_0202"}},
	} {
		r := plan(t, build(c.turns...), Request{})
		var got []string
		for _, m := range r.After.Messages {
			for i := range m.Parts {
				if m.Parts[i].IsTool() {
					got = append(got, m.Parts[i].CallID)
				}
			}
		}
		if !slices.Equal(got, c.want) || len(r.Plan.Ops) != 1 || len(r.Remaining) > 0 {
			t.Errorf("%s: the calls are %q after %d ops, want %q; %s remains", c.name, got, len(r.Plan.Ops), c.want, summary(r.Remaining))
		}
	}
}

// TestCallInput: the input of a call that is not an object is parsed from its text, or wrapped in an object.
func TestCallInput(t *testing.T) {
	for _, c := range []struct{ name, input, want, fix string }{
		{"the text of an object", `"{\"command\":\"x\"}"`, `{"command":"x"}`, "parsed from text"},
		{"the text of an object with that name", `"{\"input\":\"x\"}"`, `{"input":"x"}`, "parsed from text"},
		{"a text", `"ls"`, `{"input":"ls"}`, "wrapped in an object"},
		{"a list", `[1]`, `{"input":[1]}`, "wrapped in an object"},
		{"null", `null`, `{}`, "an empty object"},
	} {
		r := plan(t, build(user(hi), answer(stepStart, strings.Replace(bash, `{"command":"x"}`, c.input, 1), stepStart, done)), Request{})
		got, _ := jsonedit.Get(r.After.Messages[1].Parts[1].Data, "state", "input")
		if string(got) != c.want || len(r.Fixed) == 0 || !strings.Contains(r.Fixed[0].Fix, c.fix) {
			t.Errorf("%s: the input %s becomes %s (%+v), want %s", c.name, c.input, got, r.Fixed, c.want)
		}
	}
}

// TestLostCallNames: the reason of a finding names the tool and the call.
func TestLostCallNames(t *testing.T) {
	for _, c := range []struct{ between, want string }{
		{done, "A text follows the bash call toolu_1 in the same step"},
		{signed, "Thinking follows the bash call toolu_1 in the same step"},
	} {
		ds := diagnosed(build(user(hi), answer(stepStart, bash, c.between, bash2, stepStart, done)), Options{Now: now})
		if !slices.ContainsFunc(ds, func(d repair.Diagnosis) bool { return strings.HasPrefix(d.Why, c.want) }) {
			t.Errorf("Diagnose(%s between calls) = %+v, want %q", c.between, ds, c.want)
		}
	}
}
