package diagnose

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/repair"
)

// TestProof: a fix that leaves its finding or adds another one is not used, as the first fix in each case.
func TestProof(t *testing.T) {
	link := `"type":"file","mime":"text/plain","filename":"a.txt","url":"file:///a.txt"`
	noID := strings.Replace(bash, "toolu_1", "", 1)
	healthy := strings.Replace(bash, "toolu_1", "call_0202", 1)
	for _, c := range []struct {
		name  string
		turns []turn
		req   Request
		ops   string // the records that change, in order
	}{
		{"the prompt would be empty", []turn{user(link, blank), answer(stepStart, done)}, Request{}, "msg_01/prt_0102"},
		{
			"the new id is a healthy call's",
			[]turn{user(hi), answer(stepStart, noID, stepStart, done), user(hi), answer(stepStart, healthy, stepStart, done)},
			Request{},
			"msg_02/prt_0202",
		},
		{"the finding moves with the record", []turn{user(hi), answer(`xyz_1|"type":"weird","x":1`, done)}, latent, ""},
		{
			"one of two thinking parts of an open loop, a prompt after it",
			[]turn{user(hi), calling(stepStart, signed, signed2, bash), user(hi)},
			badSignature("messages.1.content.1"), "",
		},
		{
			"one of two thinking parts of an open loop, a failed answer after it",
			[]turn{user(hi), calling(stepStart, signed, signed2, bash), failed("APIError", stepStart)},
			badSignature("messages.1.content.1"), "",
		},
	} {
		r := plan(t, build(c.turns...), c.req)
		var ops []string
		for _, o := range r.Plan.Ops {
			ops = append(ops, o.Ref.String())
		}
		if got := strings.Join(ops, " "); got != c.ops {
			t.Errorf("%s: Plan changes %q, want %q; fixed %s, left %s", c.name, got, c.ops, summary(r.Fixed), summary(r.Remaining))
		}
	}
}

func badSignature(at string) Request {
	e := ParseAPIError([]byte(at + ": Invalid `signature` in `thinking` block"))
	return Request{Error: &e}
}

// TestUnreadablePromptIsKept: a prompt with an unreadable part is not empty, so no placeholder is inserted into it.
func TestUnreadablePromptIsKept(t *testing.T) {
	s := build(user(hi), answer(stepStart, done))
	p := &s.Messages[0].Parts[0]
	p.Defect, p.Data = &change.Defect{Kind: change.Unreadable, Why: "permission denied"}, nil
	if r := plan(t, s, Request{}); len(r.Plan.Ops) > 0 {
		t.Errorf("Plan changes %q", opSummary(r.Plan.Ops))
	}
}

// TestIDsChangedByFix: after a fix that changes ids the newest answer and the records of findings are still known.
func TestIDsChangedByFix(t *testing.T) {
	old := func(turns ...turn) *record.Session {
		s := build(turns...)
		if err := s.Rename(map[string]string{"msg_01": "msg_fffa2ee64001aaaaaaaaaaaaaa", "msg_02": "msg_fffa2ee64002aaaaaaaaaaaaaa"}); err != nil {
			t.Fatal(err)
		}
		return s
	}
	o := Options{Now: now, Version: "1.1.53"}
	s := old(user(hi), answer(stepStart, done), user(hi), calling(stepStart, signed, bash, signed2, stepStart, signed, bash2))
	for _, d := range diagnosed(s, o) {
		if (d.Fix == "") == (d.WhyNot == "") {
			t.Errorf("%s at %s has the fix %q and the reason %q against it, want one of them", d.Rule, d.Ref, d.Fix, d.WhyNot)
		}
		if d.Rule == "R1" && !strings.Contains(d.Fix, "closes the tool loop") {
			t.Errorf("the fix of thinking in an open loop is %q", d.Fix)
		}
	}
	o.Held = time.Unix(0, 0)
	s = old(user(hi), answer(stepStart, done), user(hi), turn{role: change.RoleAssistant, parts: []string{stepStart, signed}})
	for _, d := range diagnosed(s, o) {
		if strings.Contains(d.Fix, "after the thinking") {
			t.Errorf("the answer that the agent is writing has the fix %q", d.Fix)
		}
	}
}

// TestPlanHolds: findings that are reported as fixed are gone, and a second plan has no ops, also if a fix uncovers
// another finding.
func TestPlanHolds(t *testing.T) {
	const stopped = `"status":"running","input":{"a":1},"time":{"start":3}`
	ended := callPart(2, callStates[0])
	for _, c := range []struct {
		name  string
		turns []turn
		req   Request
	}{
		{
			"a loop that starts with other content after its calls are marked as failed",
			[]turn{user(), answer(callPart(1, stopped), empty, ended, signed), answer()},
			Request{Classes: []repair.Class{repair.ToolResultMissing}},
		},
	} {
		r := plan(t, build(c.turns...), c.req)
		for _, d := range r.Fixed {
			if slices.ContainsFunc(r.Remaining, func(l repair.Diagnosis) bool { return l.Same(d) }) {
				t.Errorf("%s: %s %s is reported as fixed, and remains", c.name, d.Rule, d.Ref)
			}
		}
		if again := plan(t, r.After, c.req); len(r.Plan.Ops) == 0 || len(again.Plan.Ops) > 0 {
			t.Errorf("%s: Plan has %d ops, the second %v", c.name, len(r.Plan.Ops), again.Plan.Ops)
		}
	}
}

// TestNothingBrokenIsLeft: a text, thinking or a placeholder after a call is fixed in every step.
func TestNothingBrokenIsLeft(t *testing.T) {
	ended, pending := callPart(1, callStates[0]), callPart(2, callStates[3])
	for _, c := range []struct {
		name  string
		turns []turn
	}{
		{"blank and thinking after a call, another call pending", []turn{user(hi), answer(ended, blank, signed, unsigned, stepStart, hi), answer(pending), user(hi)}},
		{"blank and thinking between calls, another call pending", []turn{user(), answer(pending, blank, ended, signed, unsigned, stepStart, hi), answer(callPart(3, callStates[3])), user(hi)}},
		{"pending call before unsigned thinking", []turn{user(hi), answer(pending, unsigned), user(hi)}},
		{"pending calls around unsigned thinking", []turn{user(hi), answer(pending, unsigned, callPart(3, callStates[3])), user(hi)}},
		{"placeholder of an earlier repair after a call", []turn{user(hi), answer(`prt_02|`+ended, `prt_02_mend|`+placeholder), user(hi)}},
		{"placeholders of earlier repairs after a call", []turn{user(hi), answer(`prt_02|`+ended, `prt_020_mend|`+placeholder, `prt_02_mend|`+placeholder), user(hi)}},
	} {
		for _, version := range []string{"", "1.0.100", "1.1.53", "1.2.27", "1.18.33"} {
			for _, all := range []bool{false, true} {
				req := Request{Options: Options{Version: version}, Latent: all}
				r := plan(t, build(c.turns...), req)
				for _, d := range r.Remaining {
					if d.Severity == repair.Broken {
						t.Errorf("%s, version %q, latent %v: Plan leaves %s %s", c.name, version, all, d.Rule, d.Ref)
					}
				}
				if again := plan(t, r.After, req); len(again.Plan.Ops) > 0 {
					t.Errorf("%s, version %q, latent %v: the second plan has %v", c.name, version, all, again.Plan.Ops)
				}
			}
		}
	}
}
