package diagnose

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"mend/change"
	"mend/repair"
)

// TestPlanOnError: an error leads to the message, call or block that it names, or to the nearest that it may be about.
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
		{"the message before", thinking(), "messages.2: thinking is disabled, cannot contain", "msg_02"},
		{"no message named", thinking(), "thinking is disabled, cannot contain", "msg_02 msg_04"},
		{"far off", thinking(), "messages.90: thinking is disabled, cannot contain", "msg_04"},
		{
			"the named one alone, though it cannot be fixed",
			[]turn{user(hi), answer(signed, hi), calling(signed, bash)},
			"messages.2: Invalid `signature` in `thinking` block", "",
		},
		{
			"thinking is off, so the open loop is closed",
			[]turn{user(hi), answer(signed, hi), user(hi), calling(stepStart, signed, bash)},
			"messages.3.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`.", "msg_04",
		},
		{
			"thinking is on, so the open loop is closed",
			[]turn{user(hi), answer(hi), user(hi), calling(stepStart, bash)},
			"messages.3.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.", "msg_04",
		},
		{
			"the message that breaks the rule, though another message is nearer, and then a broken one",
			[]turn{user(hi), answer(hi, signed), user(hi), answer(blank)},
			"messages.3: the final block cannot be thinking", "msg_02 msg_04",
		},
		{"latent ones too", []turn{user(hi), calling(state(`"status":"running","input":{}`)), user(hi)}, "tool_use without tool_result", "msg_02"},
		{
			"the others too, where the named one alone would leave something new",
			[]turn{user(), answer(stepStart), user(hi)},
			"messages.1: must have non-empty content", "msg_01 msg_02",
		},
		{"a broken one of another class", []turn{user(hi), answer(blank), user(hi)}, "tool_use without tool_result", "msg_02"},
		{"a broken one, for an error without a class", []turn{user(hi), answer(blank), user(hi)}, "overloaded", "msg_02"},
		{"the named block, and a broken one elsewhere", append([]turn{user(hi), answer(blank)}, thinking()...), "messages.3.content.0: Invalid `signature` in `thinking` block", "msg_02 msg_04"},
		{"the newest, for modified thinking", thinking(), "thinking blocks cannot be modified", "msg_04"},
		{"the newest, with any number", thinking(), "messages.1.content.0: thinking blocks cannot be modified", "msg_04"},
		{"the newest, far off", thinking(), "messages.258.content.1: thinking blocks cannot be modified", "msg_04"},
		{"the newest, for a signature far off", thinking(), "messages.258.content.1: Invalid `signature` in `thinking` block", "msg_04"},
		{
			"the named call, with any number",
			[]turn{user(hi), calling(running("toolu_A"), done), user(hi), calling(running("toolu_B"), done), user(hi)},
			"messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_B.", "msg_04",
		},
		{
			"the image in the named block",
			[]turn{user(hi, file), answer(hi), user(file), answer(hi)},
			"messages.0.content.1.image.source.base64: The image data you provided does not represent a valid image", "msg_01",
		},
		{
			"the image in the named result",
			[]turn{user(hi), answer(stepStart, withAttachments(picture), stepStart, done), user(file)},
			"messages.2.content.0.tool_result.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels", "msg_02",
		},
		{
			"no image in the named block",
			[]turn{user(hi, file), answer(hi)},
			"messages.0.content.0.image.source.base64: does not represent a valid image", "",
		},
		{"the named block", thinking(), "messages.1.content.0: Invalid `signature` in `thinking` block", "msg_02"},
		{"explained only", thinking(), "This model does not support assistant message prefill.", ""},
	} {
		e := ParseAPIError([]byte(c.err))
		r := plan(t, build(c.turns...), Request{Error: &e})
		if got := opSummary(r.Plan.Ops); got != c.want {
			t.Errorf("%s: Plan changes %q, want %q", c.name, got, c.want)
		}
		if r.Plan.Cause.Kind != change.CauseError || r.Plan.Cause.Text != c.err {
			t.Errorf("%s: Plan has the cause %v", c.name, r.Plan.Cause)
		}
	}
}

// TestPlanOnErrorAll: an error names one block. With All all thinking of its kind is removed; without All the other
// thinking is listed as suspects. Findings of excepted classes stay.
func TestPlanOnErrorAll(t *testing.T) {
	six := func() (turns []turn) {
		for range 6 {
			turns = append(turns, user(hi), answer(signed, hi))
		}
		return turns
	}
	const all = "msg_02 msg_04 msg_06 msg_08 msg_10 msg_12"
	for _, c := range []struct {
		name     string
		turns    []turn
		err      string
		all      bool
		except   []repair.Class
		want     string
		suspects int
		broken   int // number of broken findings that remain
	}{
		{"one signature", six(), "messages.3.content.0: Invalid `signature` in `thinking` block", false, nil, "msg_04", 5, 0},
		{"all signatures", six(), "messages.3.content.0: Invalid `signature` in `thinking` block", true, nil, all, 0, 0},
		{"the newest thinking that was modified", six(), "messages.11.content.0: `thinking` blocks in the latest assistant message cannot be modified", false, nil, "msg_12", 5, 0},
		{"all thinking that was modified", six(), "messages.11.content.0: `thinking` blocks in the latest assistant message cannot be modified", true, nil, all, 0, 0},
		{"all thinking while it is off", six(), "messages.3.content.0: thinking is disabled, so the message cannot contain thinking", true, nil, all, 0, 0},
		{"all, for an error without a position", six(), "Invalid `signature` in `thinking` block", true, nil, all, 0, 0},
		{"also a broken one", append(six(), user(hi), answer(blank), user(hi)), "messages.3.content.0: Invalid `signature` in `thinking` block", true, nil, "msg_14 " + all, 0, 0},
		{"not a broken one of an excepted class", append(six(), user(hi), answer(blank), user(hi)), "messages.3.content.0: Invalid `signature` in `thinking` block", true, []repair.Class{repair.EmptyContentMessage}, all, 0, 1},
		{"the error's class, though it is excepted", []turn{user(hi), answer(blank), user(hi)}, "text content blocks must be non-empty", false, []repair.Class{repair.EmptyContentMessage}, "msg_02", 0, 0},
	} {
		e := ParseAPIError([]byte(c.err))
		s := build(c.turns...)
		r := plan(t, s, Request{Error: &e, All: c.all, Except: c.except})
		broken := 0
		for _, d := range r.Remaining {
			if d.Severity == repair.Broken {
				broken++
			}
		}
		if got := opSummary(r.Plan.Ops); got != c.want || len(r.Suspects) != c.suspects || broken != c.broken || r.All != c.all {
			t.Errorf("%s: Plan changes %q, leaves %d suspects and %d broken; want %q, %d, %d", c.name, got, len(r.Suspects), broken, c.want, c.suspects, c.broken)
		}
		for _, d := range r.Fixed {
			if d.Class != repair.EmptyContentMessage && d.Loses == "" {
				t.Errorf("%s: %+v does not say what is lost", c.name, d)
			}
		}
	}
}

func running(id string) string {
	return strings.Replace(state(`"status":"running","input":{},"time":{"start":1}`), "toolu_1", id, 1)
}

// picture is an image that a tool returned.
const picture = `{"type":"file","mime":"image/png","url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="}`

func withAttachments(files string) string {
	return strings.Replace(bash, `"title"`, `"attachments":[`+files+`],"title"`, 1)
}

// TestPlanOnErrorWithThinkingOption: the option Thinking takes precedence over the error, which suggests that thinking
// is on.
func TestPlanOnErrorWithThinkingOption(t *testing.T) {
	on, off := true, false
	for _, c := range []struct {
		name     string
		thinking *bool
		fixed    string // its rule
	}{
		{"not set", nil, "R3"},
		{"on", &on, "R3"},
		{"off", &off, ""},
	} {
		e := ParseAPIError([]byte("messages.3.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."))
		r := plan(t, build(user(hi), answer(hi), user(hi), calling(stepStart, bash)), Request{Error: &e, Options: Options{Thinking: c.thinking}})
		fixed := ""
		if len(r.Fixed) > 0 {
			fixed = r.Fixed[0].Rule
		}
		if fixed != c.fixed {
			t.Errorf("%s: Plan for %s fixes %q, want %q", c.name, e.Rule, fixed, c.fixed)
		}
	}
}

// opSummary names the messages that ops change, in order.
func opSummary(ops []change.Op) string {
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

// TestPlanListsRemaining: a plan lists the fixed, the unfixable and the remaining findings, and its cause the fixed
// ones.
func TestPlanListsRemaining(t *testing.T) {
	s := build(user(hi), answer(blank), user(hi), answer(hi), user(hi), calling(signed, state(`"status":"running","input":{},"time":{"start":1}`)), user(hi))
	lost := &s.Messages[3].Parts[0]
	lost.Defect, lost.Data = &change.Defect{Kind: change.Unreadable, Why: "permission denied"}, nil
	r := plan(t, s, Request{})
	if got, want := summary(r.Fixed), "broken empty_content_message msg_02/prt_0201"; got != want {
		t.Errorf("Fixed = %s, want %s", got, want)
	}
	if got, want := summary(r.Unfixable), "broken unreadable_record msg_04/prt_0401"; got != want {
		t.Errorf("Unfixable = %s, want %s", got, want)
	}
	if got, want := summary(r.Remaining), "broken unreadable_record msg_04/prt_0401; latent tool_result_missing msg_06/prt_0602"; got != want {
		t.Errorf("Remaining = %s, want %s", got, want)
	}
	for _, d := range r.Unfixable {
		if d.Fix != "" || !strings.Contains(d.WhyNot, "fork the session before the prompt msg_03") {
			t.Errorf("Unfixable %+v has a fix, or no way out", d)
		}
	}
	if got := r.Plan.Cause.Diagnoses; len(got) != 1 || got[0] != `The text is only whitespace; the provider rejects that. The text becomes "[user interrupted]".` {
		t.Errorf("the cause lists %q", got)
	}
}

// TestPlanPlaceholder: the placeholder of the request is used unless it is blank.
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

// TestPlanBusy: a busy session has findings, and no plan without Force.
func TestPlanBusy(t *testing.T) {
	s := build(user(blank), turn{role: "assistant", parts: []string{stepStart, signed}})
	req := Request{Options: Options{Now: now, Held: time.Unix(0, 0)}}
	if got, want := summary(diagnosed(s, req.Options)), "broken empty_content_message msg_01/prt_0101"; got != want {
		t.Errorf("Diagnose of a busy session = %s, want %s", got, want)
	}
	if _, err := Plan(s, req); !errors.Is(err, repair.ErrBusy) {
		t.Errorf("Plan of a busy session: %v, want repair.ErrBusy", err)
	}
	req.Force = true
	r, err := Plan(s, req)
	if err != nil || opSummary(r.Plan.Ops) != "msg_01 msg_02" || len(r.Remaining) != 0 {
		t.Errorf("Plan with Force changes %q, leaves %q, %v", opSummary(r.Plan.Ops), summary(r.Remaining), err)
	}
}

// TestUnreadable: of a session with unreadable records only the session's own record is rebuilt.
func TestUnreadable(t *testing.T) {
	lost := change.Defect{Kind: change.Unreadable, Why: "permission denied"}
	s := build(user(hi), answer(signed, blank), answer(blank), user(hi))
	s.Messages[1].Parts[0].Defect = &lost
	s.Stray = []change.Stray{{Path: "part/msg_03/x", Message: "msg_03", Why: "a link"}, {Path: "message/ses_1/y", Why: "a pipe"}}
	s.Info = change.Record{Ref: change.Ref{Kind: change.KindSession, Session: "ses_1"}, Defect: &change.Defect{Kind: change.Malformed, Why: "empty, zero bytes"}}
	r := plan(t, s, Request{})
	if len(r.Plan.Ops) != 1 || r.Plan.Ops[0].Ref.Kind != change.KindSession {
		t.Errorf("Plan has the ops %v, want one on the session's own record", r.Plan.Ops)
	}
	const want = "note unreadable_record ses_1; " +
		"broken unreadable_record msg_02/prt_0201; broken empty_content_message msg_02/prt_0202; broken empty_content_message msg_03/prt_0301; note unreadable_record msg_03"
	if got := summary(r.Remaining); got != want {
		t.Errorf("Remaining = %s\nwant %s", got, want)
	}
	for _, d := range r.Remaining {
		if d.Message == "msg_02" && !strings.Contains(d.WhyNot, "msg_02/prt_0201") && d.Class != repair.UnreadableRecord {
			t.Errorf("%q does not name the unreadable part", d.WhyNot)
		}
	}
}

// TestDefects: a part with a defect is a finding.
func TestDefects(t *testing.T) {
	for _, c := range []struct{ name, part, want string }{
		{"truncated", `prt_x|raw:{"id":"prt_x","ty`, "broken unreadable_record msg_02/prt_x"},
		{"zero bytes", `prt_x|raw:`, "broken unreadable_record msg_02/prt_x"},
		{"NUL bytes", "prt_x|raw:\x00\x00", "broken unreadable_record msg_02/prt_x"},
		{"no object", `prt_x|raw:[1]`, "latent incomplete_record msg_02/prt_x"},
		{"completed without output", state(`"status":"completed","input":{}`), "broken incomplete_record msg_02/prt_0201"},
		{"error without error", state(`"status":"error","input":{}`), "latent incomplete_record msg_02/prt_0201"},
		{"other name", `prt_x|raw:{"id":"prt_y","type":"text","text":"x"}`, "note unreadable_record msg_02/prt_x"},
	} {
		ds := diagnosed(build(user(hi), answer(c.part), user(hi)), Options{Now: now})
		if got := summary(ds); got != c.want {
			t.Errorf("%s: Diagnose = %s, want %s", c.name, got, c.want)
		}
	}
}

// TestClasses: a class that only an error shows is not in the list.
func TestClasses(t *testing.T) {
	if slices.Contains(Classes(), repair.ThinkingBlockModified) {
		t.Errorf("Classes has %s", repair.ThinkingBlockModified)
	}
}
