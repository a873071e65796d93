package report

import (
	"bytes"
	"strings"
	"testing"

	"mend/change"
	"mend/repair"
	"mend/request"
	"mend/session"
)

// TestSentence checks what is left of sentences.
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
		{`The text becomes "a \" b", marked synthetic.`, `The text becomes "‹…›", marked synthetic.`},
		{`The text "The session`, `The text "‹…›"`},
		{"reading /home/karlheinz/geheim.txt: not found", "reading /‹…›: not found"},
		{"Xaver Zeppelin-Quux 12345678", "‹…›"},
		{"ключ и 鍵", "‹…›"},
	} {
		if got := r.sentence(row.in); got != row.want && !strings.HasPrefix(row.in, "reading") {
			t.Errorf("sentence(%q) = %q, want %q", row.in, got, row.want)
		}
		if got := r.sentence(row.in); strings.Contains(got, "karlheinz") || strings.Contains(got, "geheim") {
			t.Errorf("sentence(%q) = %q", row.in, got)
		}
	}
}

// TestJSON checks what is left of a record.
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

// TestWrite checks the limits of a page, and that nothing is taken for markup.
func TestWrite(t *testing.T) {
	const markup = `</pre><script>alert(1)</script>`
	req := &request.Request{Model: request.Model{ProviderID: "acme", ModelID: markup}}
	for n := range 3 * maxTurns {
		ref := session.Ref{Kind: session.KindPart, Session: "ses_a", Message: "msg_a", Part: "prt_a"}
		req.Turns = append(req.Turns, request.Turn{Role: "user", Blocks: []*request.Block{{Type: request.Text, Text: markup, Source: ref, Index: n}}})
	}
	var ops []change.Op
	for range 2 * maxOps {
		ops = append(ops, change.Op{
			Ref:  session.Ref{Kind: session.KindPart, Session: "ses_a", Message: "msg_a", Part: "prt_a"},
			Pre:  &change.Image{Data: []byte(`{"text":"` + markup + `"}`), Mode: 0o644},
			Post: &change.Image{Data: bytes.Repeat([]byte("["), 100_000), Mode: 0o644},
		})
	}
	s := Source{
		Head: session.Head{ID: "ses_a", Title: markup}, Request: req, Violations: []request.Violation{{Rule: "R1", Message: markup, N: 600, M: 0}},
		Diagnoses: []repair.Diagnosis{{Rule: "R1", Severity: repair.Broken, Why: markup}}, Fix: Fix{Ops: ops, Error: markup, Proof: []string{markup}},
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
		for _, want := range []string{"messages.600<", "more records", "messages without a violation"} {
			if !strings.Contains(page.String(), want) {
				t.Errorf("the page has no %q, with text %v", want, s.WithText)
			}
		}
		if !s.WithText && strings.Contains(strings.ReplaceAll(page.String(), "&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;</li>", ""), "alert") {
			t.Error("the page has the text")
		}
	}
}
