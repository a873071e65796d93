package report

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/request"
	"mend/internal/test/storetest"
	"mend/repair"
)

// TestSentence: a sentence keeps mend's words, and replaces ids, quoted texts, paths and foreign words.
func TestSentence(t *testing.T) {
	r := newRedactor()
	r.addID("msg", "msg_abc123")
	r.addID("call", "toolu_9")
	for _, row := range []struct{ in, want string }{
		{"The text is only whitespace; the provider rejects that.", "The text is only whitespace; the provider rejects that."},
		{"messages.12: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_9.", "messages.12: `tool_use` ids were found without `tool_result` blocks immediately after: call_1."},
		{"To continue without it, fork the session before the prompt msg_abc123.", "To continue without it, fork the session before the prompt msg_1."},
		{`The tool's name "the message" is invalid`, `The tool's name "‹…›" is invalid`},
		{`The text becomes "[user interrupted]".`, `The text becomes "[user interrupted]".`},
		{`The text becomes "a \" b", marked synthetic.`, `The text becomes "‹…›", marked synthetic.`},
		{`The text "The session`, `The text "‹…›"`},
		{"reading /home/karlheinz/geheim.txt: not found", "reading /home/‹…›.txt: not found"},
		{"Xaver Zeppelin-Quux 12345678", "‹…›"},
		{"ключ и 鍵", "‹…›"},
		{"OpenCode fails on a message, which is damaged: the text ends early, at byte 114", "OpenCode fails on a message, which is damaged: the text ends early, at byte 114"},
	} {
		if got := r.sentence(row.in); got != row.want {
			t.Errorf("sentence(%q) = %q, want %q", row.in, got, row.want)
		}
	}
}

// TestLeaves: of a record the structure stays, and names and values that a user wrote are replaced.
func TestLeaves(t *testing.T) {
	const zero = 1_700_000_000_000
	for _, row := range []struct{ in, want string }{
		{``, `: ‹0 bytes, all NUL›`},
		{"\x00\x00", `: ‹2 bytes, all NUL›`},
		{`{"text":"se`, `: ‹11 bytes, not valid JSON›`},
		{`{"a":1}{}`, `: ‹9 bytes, not valid JSON›`},
		{`{"type":"text","text":"Ada"}`, `text: "‹text 1: 3 characters›" type: "text"`},
		{`{"text":" ","cost":null}`, `cost: null text: "‹text 1: 1 character, white space only›"`},
		{`{"type":"My Secret","role":"user"}`, `role: "user" type: "‹text 1: 9 characters›"`},
		{`{"tool":"acme_payroll","agent":"plan","mode":"adas-agent"}`, `agent: "plan" mode: "‹text 1: 10 characters›" tool: "‹text 2: 12 characters›"`},
		{`{"state":{"input":{"/home/ada":42,"on":true,"type":"text"}}}`, `state.input.field_1: ‹number› state.input.field_2: true state.input.field_3: "‹text 1: 4 characters›"`},
		{`{"adas-phone":5551234,"cost":0.25}`, `field_1: ‹number› cost: 0.25`},
		{`{"time":[{"created":1700000000123}]}`, `time[0].created: ‹start +123 ms›`},
		{`{"id":"prt_a","messageID":"msg_b","parentID":"strange name"}`, `id: "prt_1" messageID: "msg_1" parentID: "msg_2"`},
		{"{\"text\":\"\xff\"}", `text: "‹text 1: 1 character, has U+FFFD›"`},
	} {
		r := newRedactor()
		v := decode([]byte(row.in))
		var got []string
		r.leaves("", "", v, false, zero, func(path, value string) { got = append(got, path+": "+value) })
		if got := strings.Join(got, " "); got != row.want {
			t.Errorf("leaves of %q: %s, want %s", row.in, got, row.want)
		}
	}
}

// TestWrite: a page has a limited size, and no text becomes markup.
func TestWrite(t *testing.T) {
	const markup = "\x1b]52;c;x\a\u202e\u009b\r</pre><script>alert(1)</script>"
	ref := change.Ref{Kind: change.KindPart, Session: "ses_a", Message: "msg_a", Part: "prt_a"}
	req := &request.Request{Model: request.Model{ProviderID: "acme", ModelID: markup}}
	for n := range 3 * maxTurns {
		req.Turns = append(req.Turns, request.Turn{Role: "user", Blocks: []*request.Block{{Type: request.Text, Text: markup, Source: &ref, Index: n}}})
	}
	op := change.Op{
		Ref: ref, Pre: &change.Image{Data: []byte(`{"text":"` + markup + `"}`), Mode: 0o644},
		Post: &change.Image{Data: []byte(`{"a":[` + strings.Repeat("1,", 999) + `1],"b":[` + strings.Repeat("1,", 999) + `1]}`), Mode: 0o644},
	}
	s := Source{
		Head: change.Head{ID: "ses_a", Title: markup}, Turn: "messages.%d", Block: "content.%d", Request: req, Violations: []request.Violation{{Rule: "R1", Message: markup, N: 600, M: 0}},
		Diagnoses: []repair.Diagnosis{{Rule: "R1", Severity: repair.Broken, Why: markup}}, Ops: slices.Repeat([]change.Op{op}, 2*maxOps), Proof: []string{markup},
	}
	var page strings.Builder
	if err := Write(&page, s); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(page.String(), "&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;</li>", "") // the proof is mend's
	if len(text) > 4<<20 || strings.Contains(text, "<script") || strings.Contains(text, "alert") {
		t.Errorf("the page of %d bytes is too long, or has the text or a script", len(text))
	}
	if i := strings.IndexFunc(text, func(c rune) bool { return c != '\n' && c != '\t' && !strconv.IsPrint(c) }); i >= 0 {
		t.Errorf("the page has %q", text[i:i+20])
	}
	for _, want := range []string{"messages.600<", "more changes", "more lines", "messages without a violation are left out"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// TestPage: a page has the text of testdata/page.golden, and no word of the conversation.
func TestPage(t *testing.T) {
	part := change.Ref{Kind: change.KindPart, Session: "ses_a", Message: "msg_b", Part: "prt_c"}
	finding := repair.Diagnosis{
		Rule: "R1", Class: request.ToolResultMissing, Severity: repair.Broken, Ref: part, Why: "The call toolu_9 never got a result: OpenCode was stopped in it.",
		Text: "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_9.", Fix: `The call is marked as failed with "[cancelled]". Its input stays.`, Loses: "Nothing.",
	}
	s := Source{
		Program: "1.2.3", Agent: "OpenCode 1.1.53", Layout: "json", Provider: "anthropic", Turn: "messages.%d", Block: "content.%d", Head: change.Head{ID: "ses_a", Title: "My taxes", Directory: "/home/ada/taxes", Created: 1_700_000_000_000},
		Request: &request.Request{Model: request.Model{ProviderID: "anthropic", ModelID: "claude-1"}, Turns: []request.Turn{
			{Role: "user", Blocks: []*request.Block{{Type: request.Text, Text: "Add up my taxes", Source: &change.Ref{Kind: change.KindPart, Session: "ses_a", Message: "msg_a", Part: "prt_a"}}}},
			{Role: "assistant", Blocks: []*request.Block{
				{Type: request.Thinking, Text: "taxes ...", Signature: "c2ln", Source: &part},
				{Type: request.ToolUse, ToolID: "toolu_9", ToolName: "bash", Input: []byte(`{"command":"cat /home/ada/taxes"}`), Source: &part},
				{Type: request.ToolUse, ToolID: "toolu_8", ToolName: "bank_balance", Input: []byte(`{"account":12345}`), Source: &part},
			}},
			{Role: "user", Blocks: []*request.Block{
				{Type: request.ToolResult, ToolID: "toolu_8", Output: []byte(`"1000000"`), Error: true},
				{Type: request.Image, File: request.File{Mime: "image/png", Data: make([]byte, 400), Name: "passport.png"}},
			}},
		}},
		Violations: []request.Violation{{Rule: "R1", Message: finding.Text, Refs: []change.Ref{part}, N: 1, M: 1}}, Thinking: true, Diagnoses: []repair.Diagnosis{finding},
		Fixed: []repair.Diagnosis{finding}, Proof: []string{"Checked."}, Ops: []change.Op{{
			Ref:  part,
			Pre:  &change.Image{Mode: 0o600, Data: []byte(`{"id":"prt_c","type":"tool","callID":"toolu_9","tool":"bash","state":{"status":"running","input":{"command":"cat /home/ada/taxes"},"time":{"start":1700000001000}}}`)},
			Post: &change.Image{Mode: 0o600, Data: []byte(`{"id":"prt_c","type":"tool","callID":"toolu_9","tool":"bash","state":{"status":"error","input":{"command":"cat /home/ada/taxes"},"error":"[cancelled]","time":{"start":1700000001000,"end":1700000001000}}}`)},
		}},
	}
	var page strings.Builder
	if err := Write(&page, s); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(strings.ReplaceAll(page.String(), "><", ">\n<"), "</style>")
	storetest.Golden(t, "testdata/page.golden", body, *update)
	for _, secret := range []string{"axes", "ada", "bank", "passport", "12345", "1000000", "toolu", "msg_b", "cancelled"} {
		if strings.Contains(body, secret) {
			t.Errorf("the page has %q", secret)
		}
	}
}
