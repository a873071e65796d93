package repair

import (
	"errors"
	"strings"
	"testing"

	"mend/change"
	"mend/session"
)

func TestPlanOnError(t *testing.T) {
	thinking := func() []turn { return []turn{user(hi), answer(signed, hi), user(hi), answer(signed, hi), user(hi)} }
	for _, c := range []struct {
		name  string
		turns []turn
		err   string
		want  string // the messages that change
	}{
		{"the named message", thinking(), "messages.3: thinking is disabled, cannot contain", "msg_04"},
		{"its neighbour", thinking(), "messages.4: thinking is disabled, cannot contain", "msg_04"},
		{"before behind", thinking(), "messages.2: thinking is disabled, cannot contain", "msg_02"},
		{"no message named", thinking(), "thinking is disabled, cannot contain", "msg_02 msg_04"},
		{"far off", thinking(), "messages.90: thinking is disabled, cannot contain", "msg_02 msg_04"},
		{
			"the named one alone, though it cannot be cured",
			[]turn{user(hi), answer(signed, hi), calling(signed, bash)},
			"messages.2: thinking is disabled, cannot contain", "",
		},
		{
			"the others, where the named one cannot be cured",
			[]turn{user(hi), answer(hi, signed), calling(bash, signed)},
			"messages.2: the final block cannot be thinking", "msg_02",
		},
		{"latent ones too", []turn{user(hi), calling(state(`"status":"running","input":{}`)), user(hi)}, "tool_use without tool_result", "msg_02"},
		{
			"the others too, where the named one alone would leave something new",
			[]turn{user(), answer(stepStart), user(hi)},
			"messages.1: must have non-empty content", "msg_01 msg_02",
		},
		{"another class", []turn{user(hi), answer(blank), user(hi)}, "tool_use without tool_result", ""},
		{"no class", []turn{user(hi), answer(blank), user(hi)}, "overloaded", ""},
		{"explained only", thinking(), "thinking blocks cannot be modified", ""},
	} {
		e := ParseAPIError([]byte(c.err))
		r := plan(t, build(c.turns...), Request{Error: &e})
		if got := touched(r.Plan.Ops); got != c.want {
			t.Errorf("%s: Plan changes %q, want %q", c.name, got, c.want)
		}
		if r.Plan.Cause.Kind != change.CauseError || r.Plan.Cause.Text != c.err {
			t.Errorf("%s: Plan has the cause %v", c.name, r.Plan.Cause)
		}
	}
}

// touched names the messages that ops are about, in order.
func touched(ops []change.Op) string {
	var ids []string
	seen := map[string]bool{}
	for _, o := range ops {
		if !seen[o.Ref.Message] {
			ids = append(ids, o.Ref.Message)
		}
		seen[o.Ref.Message] = true
	}
	return strings.Join(ids, " ")
}

func TestPlanTellsWhatIsLeft(t *testing.T) {
	s := build(user(hi), answer(blank), answer(signed, empty, bash), answer(`prt_x|raw:{"id":`), calling(bash, signed))
	r := plan(t, s, Request{})
	if got, want := told(r.Cured), "broken empty_content_message msg_02/prt_0201"; got != want {
		t.Errorf("Cured = %s, want %s", got, want)
	}
	if got, want := told(r.Uncurable), "broken unreadable_record msg_04/prt_x; broken thinking_block_order msg_05/prt_0502"; got != want {
		t.Errorf("Uncurable = %s, want %s", got, want)
	}
	if got, want := told(r.Remaining), "latent empty_content_message msg_03/prt_0302; broken unreadable_record msg_04/prt_x; broken thinking_block_order msg_05/prt_0502"; got != want {
		t.Errorf("Remaining = %s, want %s", got, want)
	}
	for _, d := range r.Uncurable {
		if d.Cure != "" || d.WhyNot == "" {
			t.Errorf("Uncurable %+v has a cure, or no reason", d)
		}
	}
	if got := r.Plan.Cause.Diagnoses; len(got) != 1 || got[0] != `The text holds nothing but blanks, and the provider refuses that. The text becomes "[user interrupted]", marked as synthetic.` {
		t.Errorf("the cause tells %q", got)
	}
}

func TestPlanPlaceholder(t *testing.T) {
	r := plan(t, build(user(blank)), Request{Placeholder: "(cut)"})
	if got := r.After.Messages[0].Parts[0].Text; got != "(cut)" {
		t.Errorf("the text is %q", got)
	}
	r = plan(t, build(user(blank)), Request{Placeholder: " "})
	if got := r.After.Messages[0].Parts[0].Text; got != "[user interrupted]" {
		t.Errorf("the text is %q", got)
	}
}

func TestPlanBusy(t *testing.T) {
	s := build(user(blank), turn{role: "assistant", parts: []string{stepStart, signed}})
	req := Request{Options: Options{Now: now, Held: true}}
	if got, want := told(Diagnose(s, req.Options)), "broken empty_content_message msg_01/prt_0101"; got != want {
		t.Errorf("Diagnose of a busy session = %s, want %s", got, want)
	}
	if _, err := Plan(s, req); !errors.Is(err, ErrBusy) {
		t.Errorf("Plan of a busy session: %v, want ErrBusy", err)
	}
	req.Force = true
	r, err := Plan(s, req)
	if err != nil || touched(r.Plan.Ops) != "msg_01 msg_02" || len(r.Remaining) != 0 {
		t.Errorf("Plan with Force changes %q, leaves %q, %v", touched(r.Plan.Ops), told(r.Remaining), err)
	}
}

func TestFirstPrompt(t *testing.T) {
	for _, c := range []struct {
		name  string
		turns []turn
		want  string
	}{
		{"an answer comes first", []turn{user(), answer(hi), user(hi)}, "broken empty_content_message msg_01"},
		{"another prompt comes first", []turn{user(), user(hi), answer(hi)}, "note empty_content_message msg_01"},
		{"a failed answer between", []turn{user(), failed("APIError", hi), user(hi), answer(hi)}, "note empty_content_message msg_01"},
		{"two lost", []turn{user(), user(), answer(hi)}, "broken empty_content_message msg_01; note empty_content_message msg_02"},
		{"the answer was first anyway", []turn{answer(hi), user(), user(hi)}, "note empty_content_message msg_02"},
		{"nothing else", []turn{user()}, "note empty_content_message msg_01"},
	} {
		s := build(c.turns...)
		if got := told(Diagnose(s, Options{Now: now})); got != c.want {
			t.Errorf("%s: Diagnose = %s, want %s", c.name, got, c.want)
		}
		r := plan(t, s, Request{})
		if broken := strings.HasPrefix(c.want, "broken"); broken != (len(r.Plan.Ops) == 1) {
			t.Errorf("%s: Plan has %d ops", c.name, len(r.Plan.Ops))
		}
	}
}

func TestUnreadable(t *testing.T) {
	lost := session.Defect{Kind: session.Unreadable, Why: "permission denied"}
	s := build(user(hi), answer(signed, blank), answer(blank), user(hi))
	s.Messages[1].Parts[0].Defect = &lost
	s.Stray = []session.Stray{{Path: "part/msg_03/x", Message: "msg_03", Why: "a link"}, {Path: "message/ses_1/y", Why: "a pipe"}}
	s.Info = session.Record{Ref: session.Ref{Kind: session.KindSession, Session: "ses_1"}, Defect: &session.Defect{Kind: session.Malformed, Why: "empty, zero bytes"}}
	r := plan(t, s, Request{})
	if len(r.Plan.Ops) != 0 {
		t.Errorf("Plan has ops on messages that cannot be read: %v", r.Plan.Ops)
	}
	const want = "broken unreadable_record ses_1; note unreadable_record msg_03; note unreadable_record ses_1; " +
		"broken empty_content_message msg_02/prt_0202; broken unreadable_record msg_02/prt_0201; broken empty_content_message msg_03/prt_0301"
	if got := told(r.Remaining); got != want {
		t.Errorf("Remaining = %s\nwant %s", got, want)
	}
	for _, d := range r.Remaining {
		if d.Message == "msg_02" && !strings.Contains(d.WhyNot, "msg_02/prt_0201") && d.Class != UnreadableRecord {
			t.Errorf("%q does not name the part that cannot be read", d.WhyNot)
		}
	}
}

func TestDefects(t *testing.T) {
	for _, c := range []struct{ name, part, want string }{
		{"truncated", `prt_x|raw:{"id":"prt_x","ty`, "broken unreadable_record msg_02/prt_x"},
		{"zero bytes", `prt_x|raw:`, "broken unreadable_record msg_02/prt_x"},
		{"NUL bytes", "prt_x|raw:\x00\x00", "broken unreadable_record msg_02/prt_x"},
		{"no object", `prt_x|raw:[1]`, "broken unreadable_record msg_02/prt_x"},
		{"completed without output", state(`"status":"completed","input":{}`), "broken unreadable_record msg_02/prt_0201"},
		{"error without error", state(`"status":"error","input":{}`), "broken unreadable_record msg_02/prt_0201"},
		{"other name", `prt_x|raw:{"id":"prt_y","type":"text","text":"x"}`, "note unreadable_record msg_02/prt_x"},
	} {
		ds := Diagnose(build(user(hi), answer(c.part), user(hi)), Options{Now: now})
		if got := told(ds); got != c.want {
			t.Errorf("%s: Diagnose = %s, want %s", c.name, got, c.want)
		}
	}
}

func TestClassOf(t *testing.T) {
	for _, c := range Repairable() {
		if got, ok := ClassOf(string(c)); got != c || !ok {
			t.Errorf("ClassOf(%q) = %q, %v", c, got, ok)
		}
	}
	if c, ok := ClassOf("unreadable_record"); ok {
		t.Errorf("ClassOf(unreadable_record) = %q, which has no cure", c)
	}
	if got := Broken.String() + Latent.String() + Note.String() + Severity(0).String(); got != "brokenlatentnoteseverity(0)" {
		t.Errorf("severities are called %q", got)
	}
}

func TestOlderThan(t *testing.T) {
	for v, want := range map[string]bool{
		"": false, "dev": false, "1.0.151": true, "1.0.152": false, "v1.0.9": true, "0.15.31": true, "1.1.0": false, "1.0": false, "1.0.151-beta": true, "2": false, "1.0.x": false,
	} {
		if got := olderThan(v, answersItself); got != want {
			t.Errorf("olderThan(%q) = %v, want %v", v, got, want)
		}
	}
}
