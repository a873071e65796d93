package report

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mend/change"
	"mend/internal/request"
	"mend/repair"
)

// TestSentence checks redacted sentences.
func TestSentence(t *testing.T) {
	r := newRedactor(false)
	r.addID("msg", "msg_abc123")
	r.addID("call", "toolu_9")
	r.numberIDs()
	for _, row := range []struct{ in, want string }{
		{"The text is only whitespace; the provider rejects that.", "The text is only whitespace; the provider rejects that."},
		{"messages.12: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_9.", "messages.12: `tool_use` ids were found without `tool_result` blocks immediately after: call_1."},
		{"To continue without it, fork the session before the prompt msg_abc123.", "To continue without it, fork the session before the prompt msg_1."},
		{`The tool's name "the message" is invalid`, `The tool's name "‹…›" is invalid`},
		{`The text becomes "[user interrupted]".`, `The text becomes "[user interrupted]".`},
		{`The text becomes "a \" b", marked synthetic.`, `The text becomes "‹…›", marked synthetic.`},
		{`The text "The session`, `The text "‹…›"`},
		{"reading /home/karlheinz/geheim.txt: not found", "reading /‹…›: not found"},
		{"Xaver Zeppelin-Quux 12345678", "‹…›"},
		{"ключ и 鍵", "‹…›"},
		{"OpenCode fails on a message, which is damaged: the text ends early, at byte 114", "OpenCode fails on a message, which is damaged: the text ends early, at byte 114"},
	} {
		if got := r.sentence(row.in); got != row.want && !strings.HasPrefix(row.in, "reading") {
			t.Errorf("sentence(%q) = %q, want %q", row.in, got, row.want)
		}
		if got := r.sentence(row.in); strings.Contains(got, "karlheinz") || strings.Contains(got, "geheim") {
			t.Errorf("sentence(%q) = %q", row.in, got)
		}
	}
}

// TestJSON checks redacted records.
func TestJSON(t *testing.T) {
	const zero = 1_700_000_000_000
	for _, row := range []struct{ in, want string }{
		{``, `‹no bytes›`},
		{"\x00\x00", `‹2 bytes, all NUL›`},
		{`{"text":"se`, `‹11 bytes, not valid JSON from byte 7 on›`},
		{`{"a":1}{}`, `‹9 bytes, not valid JSON from byte 8 on›`},
		{`{"type":"text","text":"Ada"}`, `{"type": "text","text": "‹text 1: 3 characters›"}`},
		{`{"text":" ","text":""}`, `{"text": "‹text 1: 1 character, white space only›","text": ""}`},
		{`{"type":"My Secret","role":"user"}`, `{"type": "‹text 1: 9 characters›","role": "user"}`},
		{`{"tool":"bash"}`, `{"tool": "bash"}`},
		{`{"tool":"acme_payroll"}`, `{"tool": "tool_1"}`},
		{`{"agent":"plan","mode":"adas-agent"}`, `{"agent": "plan","mode": "agent_1"}`},
		{`{"state":{"input":{"/home/ada":42,"type":"text","on":true}}}`, `{"state": {"input": {"field_1": ‹number›,"field_2": "‹text 1: 4 characters›","field_3": true}}}`},
		{`{"adas-phone":5551234,"cost":0.25}`, `{"field_1": ‹number›,"cost": 0.25}`},
		{`{"time":{"created":1700000000123}}`, `{"time": {"created": ‹start +123 ms›}}`},
		{`{"id":"prt_a","messageID":"msg_b","parentID":"strange name"}`, `{"id": "prt_1","messageID": "msg_1","parentID": "msg_2"}`},
		{"{\"text\":\"\xff\"}", `{"text": "‹text 1: 1 character, has U+FFFD›"}`},
		{`[]`, `[]`},
	} {
		r := newRedactor(false)
		r.addIDsIn([]byte(row.in))
		r.numberIDs()
		got := strings.NewReplacer("\n", "", "  ", "").Replace(r.json([]byte(row.in), zero))
		if got != row.want {
			t.Errorf("json(%q) = %s, want %s", row.in, got, row.want)
		}
	}
}

// TestLongJSON checks that only the first members of a long value are shown, and that the values after it are shown.
func TestLongJSON(t *testing.T) {
	object := "{" + strings.Repeat(`"a":[1],`, 5000) + `"a":1}`
	for _, row := range []struct{ in, want string }{
		{`{"metadata":` + object + `,"role":"user"}`, "‹4801 more›\n  },\n  \"role\": \"user\""},
		{`{"metadata":[` + strings.Repeat("{},", 999) + `{}],"role":"user"}`, "‹800 more›\n  ],\n  \"role\": \"user\""},
		{`{"metadata":[` + strings.Repeat("{},", 999) + `{`, "not valid JSON from byte 3011 on"},
	} {
		if got := newRedactor(false).json([]byte(row.in), 0); !strings.Contains(got, row.want) || len(got) > 20_000 {
			t.Errorf("json(%.20q …) has %d bytes and ends with %q, want %q", row.in, len(got), got[max(0, len(got)-80):], row.want)
		}
	}
}

// TestWrite checks the limits of a page, and that no text becomes markup.
func TestWrite(t *testing.T) {
	const markup = "\x1b]52;c;x\a\u202e\u009b\r</pre><script>alert(1)</script>"
	req := &request.Request{Model: request.Model{ProviderID: "acme", ModelID: markup}}
	for n := range 3 * maxTurns {
		ref := change.Ref{Kind: change.KindPart, Session: "ses_a", Message: "msg_a", Part: "prt_a"}
		req.Turns = append(req.Turns, request.Turn{Role: "user", Blocks: []*request.Block{{Type: request.Text, Text: markup, Source: &ref, Index: n}}})
	}
	var ops []change.Op
	for range 2 * maxOps {
		ops = append(ops, change.Op{
			Ref:  change.Ref{Kind: change.KindPart, Session: "ses_a", Message: "msg_a", Part: "prt_a"},
			Pre:  &change.Image{Data: []byte(`{"text":"` + markup + `"}`), Mode: 0o644},
			Post: &change.Image{Data: bytes.Repeat([]byte("["), 100_000), Mode: 0o644},
		})
	}
	s := Source{
		Head: change.Head{ID: "ses_a", Title: markup}, Turn: "messages.%d", Block: "content.%d", Request: req, Violations: []request.Violation{{Rule: "R1", Message: markup, N: 600, M: 0}},
		Diagnoses: []repair.Diagnosis{{Rule: "R1", Severity: repair.Broken, Why: markup}}, Fix: Fix{Ops: ops, Proof: []string{markup}},
	}
	for _, s.WithText = range []bool{false, true} {
		var page strings.Builder
		if err := Write(&page, s); err != nil {
			t.Fatal(err)
		}
		if n := page.Len(); n > 4<<20 {
			t.Errorf("the page has %d bytes", n)
		}
		if strings.Contains(page.String(), "<script") {
			t.Errorf("the page has a script, with text %v", s.WithText)
		}
		if i := strings.IndexFunc(page.String(), func(c rune) bool { return c != '\n' && c != '\t' && !strconv.IsPrint(c) }); i >= 0 {
			t.Errorf("the page has %q, with text %v", page.String()[i:i+20], s.WithText)
		}
		for _, want := range []string{"messages.600<", "more changes", "messages without a violation"} {
			if !strings.Contains(page.String(), want) {
				t.Errorf("the page has no %q, with text %v", want, s.WithText)
			}
		}
		if !s.WithText && strings.Contains(strings.ReplaceAll(page.String(), "&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;</li>", ""), "alert") {
			t.Error("the page has the text")
		}
	}
}

// TestPage compares a page with testdata/page.golden.
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
		Fix: Fix{Fixed: []repair.Diagnosis{finding}, Proof: []string{"Checked."}, Ops: []change.Op{{
			Ref:  part,
			Pre:  &change.Image{Mode: 0o600, Data: []byte(`{"id":"prt_c","type":"tool","callID":"toolu_9","tool":"bash","state":{"status":"running","input":{"command":"cat /home/ada/taxes"},"time":{"start":1700000001000}}}`)},
			Post: &change.Image{Mode: 0o600, Data: []byte(`{"id":"prt_c","type":"tool","callID":"toolu_9","tool":"bash","state":{"status":"error","input":{"command":"cat /home/ada/taxes"},"error":"[cancelled]","time":{"start":1700000001000,"end":1700000001000}}}`)},
		}}},
	}
	var page strings.Builder
	if err := Write(&page, s); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(strings.ReplaceAll(page.String(), "><", ">\n<"), "</style>")
	const path = "testdata/page.golden"
	if *update {
		if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), body); diff != "" {
		t.Errorf("the page is not that of %s (-want +got):\n%s", path, diff)
	}
	for _, secret := range []string{"axes", "ada", "bank", "passport", "12345", "1000000", "toolu", "msg_b", "cancelled"} {
		if strings.Contains(body, secret) {
			t.Errorf("the page has %q", secret)
		}
	}
}
