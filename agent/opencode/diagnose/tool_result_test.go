package diagnose

import (
	"slices"
	"strings"
	"testing"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/repair"
)

func state(members string) string {
	return `"type":"tool","callID":"toolu_1","tool":"bash","state":{` + members + `}`
}

// TestToolResult: a call that never ended is marked as failed, with its input and times. The cases are TRM of
// oh-my-opencode's tests without TRM-02, TRM-08, TRM-10 and TRM-11, which are about prompts that it sends.
func TestToolResult(t *testing.T) {
	const cancelled = `"error":"Operation cancelled by user (ESC pressed)"`
	runFixes(t, []fixCase{
		{name: "healthy", turn: calling(stepStart, bash, stepFinish)},
		{
			name: "running, new agent", turn: calling(state(`"status":"running","input":{},"time":{"start":7}`)),
			req: Request{Options: Options{Version: "1.0.152"}}, found: "latent tool_result_missing msg_02/prt_0201",
		},
		{
			name: "running", turn: calling(state(`"status":"running","input":{"a": 1.50},"title":"t","x":[1],"time":{"start":7}`)), req: latent,
			found: "latent tool_result_missing msg_02/prt_0201",
			want:  []string{state(`"status":"error","input":{"a": 1.50},"title":"t","x":[1],"time":{"start":7,"end":2000},` + cancelled)},
		},
		{
			name: "pending, old agent", turn: calling(state(`"status":"pending","input":{},"raw":"{}"`)), req: latent,
			found: "latent tool_result_missing msg_02/prt_0201",
			want:  []string{state(`"status":"error","input":{},"raw":"{}",` + cancelled + `,"time":{"start":2000,"end":2000}`)},
		},
		{
			name: "without input", turn: calling(state(`"status":"pending"`)), req: latent,
			found: "broken invalid_tool_call msg_02/prt_0201; latent tool_result_missing msg_02/prt_0201; latent incomplete_record msg_02/prt_0201",
			want:  []string{state(`"status":"error","input":{},` + cancelled + `,"time":{"start":2000,"end":2000}`)},
		},
		{
			name: "end is the message's", req: latent,
			turn:  turn{"assistant", `"finish":"stop"`, []string{signed, bash2, state(`"status":"running","input":{},"time":{"start":2500}`)}},
			found: "latent tool_result_missing msg_02/prt_0203",
			want:  []string{signed, bash2, state(`"status":"error","input":{},"time":{"start":2500,"end":2500},` + cancelled)},
		},
		{
			name: "without times it starts and ends with the message", req: latent,
			turn:  turn{"assistant", `"time":{"created":2000,"completed":2900}`, []string{state(`"status":"running","input":{},"time":null`)}},
			found: "latent tool_result_missing msg_02/prt_0201; latent incomplete_record msg_02/prt_0201",
			want:  []string{state(`"status":"error","input":{},"time":{"start":2000,"end":2000},` + cancelled)},
		},
		{
			name: "it ends no earlier than it started", req: latent,
			turn:  turn{"assistant", `"time":{"created":2000,"completed":2900}`, []string{state(`"status":"running","input":{},"time":{"start":3000}`)}},
			found: "latent tool_result_missing msg_02/prt_0201",
			want:  []string{state(`"status":"error","input":{},"time":{"start":3000,"end":3000},` + cancelled)},
		},
		{
			name: "left out of the request", turn: failed("APIError", state(`"status":"running","input":{},"time":{"start":7}`)), req: latent,
			found: "latent tool_result_missing msg_02/prt_0201",
			want:  []string{state(`"status":"error","input":{},"time":{"start":7,"end":2000},` + cancelled)},
		},
		{ // TRM-01
			name: "no id of the call", turn: calling(`"type":"tool","tool":"bash","state":{"status":"running","input":{}}`), req: latent,
			found: "broken incomplete_record msg_02/prt_0201; latent tool_result_missing msg_02/prt_0201",
			want:  []string{`"type":"tool","tool":"bash","state":{"status":"error","input":{},"time":{"start":2000,"end":2000},` + cancelled + `},"callID":"call_0201"`},
		},
		{ // TRM-04
			name: "id of the part is the call's", req: latent, turn: calling(`toolu_x|"type":"tool","callID":"prt_no","tool":"bash","state":{"status":"running","input":{},"time":{"start":7}}`),
			found: "latent tool_result_missing msg_02/toolu_x; latent incomplete_record msg_02/toolu_x",
			want:  []string{`prt_toolu_x|"type":"tool","callID":"prt_no","tool":"bash","state":{"status":"error","input":{},"time":{"start":7,"end":2000},` + cancelled + `}`},
		},
		{ // TRM-05, TRM-07
			name: "only what is unfinished", req: latent,
			turn:  calling(bash, `"type":"tool","callID":"call_2","tool":"ls","state":{"status":"running","input":{},"time":{"start":7}}`),
			found: "latent tool_result_missing msg_02/prt_0202",
			want:  []string{bash, `"type":"tool","callID":"call_2","tool":"ls","state":{"status":"error","input":{},"time":{"start":7,"end":2000},` + cancelled + `}`},
		},
	})
}

// TestToolResultKeepsWhiteSpace: the fix of a call keeps the white space and the numbers of its record.
func TestToolResultKeepsWhiteSpace(t *testing.T) {
	const in = "{\n  \"id\": \"prt_x\",\n  \"sessionID\": \"ses_1\",\n  \"messageID\": \"msg_02\",\n  \"type\": \"tool\",\n  \"callID\": \"toolu_1\",\n  \"tool\": \"bash\",\n" +
		"  \"state\": {\n    \"status\": \"pending\",\n    \"input\": {\n      \"n\": 1e2\n    },\n    \"raw\": \"\"\n  },\n  \"new\": [ 1,2 ]\n}"
	const want = "{\n  \"id\": \"prt_x\",\n  \"sessionID\": \"ses_1\",\n  \"messageID\": \"msg_02\",\n  \"type\": \"tool\",\n  \"callID\": \"toolu_1\",\n  \"tool\": \"bash\",\n" +
		"  \"state\": {\n    \"status\": \"error\",\n    \"input\": {\n      \"n\": 1e2\n    },\n    \"raw\": \"\",\"error\":\"stop\",\"time\":{\"start\":2000,\"end\":2000}\n  },\n  \"new\": [ 1,2 ]\n}"
	s := build(user(hi), calling("prt_x|raw:"+in))
	r := plan(t, s, Request{Latent: true, Cancelled: "stop"})
	if got := string(r.After.Messages[1].Parts[0].Data); got != want {
		t.Errorf("Plan leaves\n%s\nwant\n%s", got, want)
	}
}

// TestToolResultInARow: the fix of a call in a row changes its data, which has no ids.
func TestToolResultInARow(t *testing.T) {
	s := build(user(hi), calling())
	cols := change.NewCols(
		change.TextCol("id", "prt_r"), change.TextCol("message_id", "msg_02"), change.TextCol("session_id", "ses_1"),
		change.IntCol("time_created", 5), change.IntCol("time_updated", 6),
	)
	ref := change.Ref{Kind: change.KindPart, Session: "ses_1", Message: "msg_02", Part: "prt_r"}
	s.Messages[1].Insert(record.NewPart(change.Record{
		Ref: ref, Cols: cols,
		Data: []byte(`{"type":"tool","callID":"call_1","tool":"ls","state":{"status":"running","input":{},"time":{"start":1}}}`),
	}))
	r := plan(t, s, latent)
	p := r.After.Messages[1].Parts[0]
	if want := `{"type":"tool","callID":"call_1","tool":"ls","state":{"status":"error","input":{},"time":{"start":1,"end":2000},"error":"Operation cancelled by user (ESC pressed)"}}`; string(p.Data) != want {
		t.Errorf("Plan leaves %s, want %s", p.Data, want)
	}
	if len(r.Plan.Ops) != 1 || r.Plan.Ops[0].Verb() != "change" {
		t.Errorf("Plan has ops %v, want one change", r.Plan.Ops)
	}
}

// TestWhyIsASentence: the reason of a finding names the tool, and the call or the part.
func TestWhyIsASentence(t *testing.T) {
	for _, c := range []struct {
		turn turn
		want string
	}{
		{calling(state(`"status":"running","input":{},"time":{"start":1}`)), "The bash call toolu_1 never got a result: the agent was stopped."},
		{calling(`"type":"tool","callID":"","tool":"ls","state":{"status":"pending","input":{},"raw":""}`), "The ls call at prt_0201 never got a result: the agent was stopped."},
	} {
		ds := diagnosed(build(user(hi), c.turn), Options{Now: now})
		if !slices.ContainsFunc(ds, func(d repair.Diagnosis) bool { return d.Why == c.want }) {
			t.Errorf("Diagnose = %v, want the reason %q", ds, c.want)
		}
		for _, d := range ds {
			if (d.Fix == "") == (d.WhyNot == "") || strings.Contains(d.Why, "%!") {
				t.Errorf("%v has a fix and a reason against it, or neither", d)
			}
		}
	}
}
