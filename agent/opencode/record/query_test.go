package record

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mend/change"
)

// talk returns a session made from messages of the form "role part part …"; the names of parts are keys of kinds.
// Message n is msg_n with the parts prt_in0, prt_in1, ….
func talk(messages ...string) *Session {
	s := &Session{Head: change.Head{ID: "ses_1"}}
	for n, spec := range messages {
		words := strings.Fields(spec)
		ref := change.Ref{Kind: change.KindMessage, Session: "ses_1", Message: fmt.Sprintf("msg_%d", n)}
		m := NewMessage(change.Record{Ref: ref, Mode: 0o600, Data: fmt.Appendf(nil, `{"id":"%s","role":"%s","time":{"created":%d}}`, ref.Message, words[0], n+1)})
		for i, kind := range words[1:] {
			m.Insert(testPart(ref, fmt.Sprintf("prt_i%d%d", n, i), kinds[kind]))
		}
		s.Messages = append(s.Messages, m)
	}
	return s
}

func testPart(m change.Ref, id, fields string) Part {
	m.Kind, m.Part = change.KindPart, id
	return NewPart(change.Record{Ref: m, Mode: 0o600, Data: fmt.Appendf(nil, `{"id":"%s","messageID":"%s",%s}`, id, m.Message, fields)})
}

var kinds = map[string]string{
	"text":      `"type":"text","text":"hi"`,
	"empty":     `"type":"text","text":""`,
	"blank":     `"type":"text","text":" \n\ufeff"`,
	"ignored":   `"type":"text","text":" ","ignored":true`,
	"notext":    `"type":"text"`,
	"signed":    `"type":"reasoning","text":"hm","metadata":{"anthropic":{"signature":"s"}}`,
	"reasoning": `"type":"reasoning","text":"hm"`,
	"thinking":  `"type":"thinking","thinking":"hm"`,
	"redacted":  `"type":"redacted_thinking","data":"x"`,
	"tool":      `"type":"tool","callID":"call_1","tool":"ls","state":{"status":"completed","input":{},"output":""}`,
	"use":       `"type":"tool_use"`,
	"result":    `"type":"tool_result","tool_use_id":"call_1"`,
	"start":     `"type":"step-start"`,
	"finish":    `"type":"step-finish"`,
	"file":      `"type":"file"`,
	"patch":     `"type":"patch"`,
	"new":       `"type":"novelty"`,
}

func TestSent(t *testing.T) {
	for kind := range kinds {
		want := slices.Contains([]string{"text", "tool", "use", "result"}, kind)
		m := talk("assistant " + kind).Messages[0]
		if got := m.Parts[0].Sent(); got != want {
			t.Errorf("Sent of %s = %v, want %v", kind, got, want)
		}
	}
}

func TestLatestAssistant(t *testing.T) {
	for _, c := range []struct {
		messages []string
		want     string
	}{{[]string{"user text"}, ""}, {[]string{"assistant text", "assistant", "user text"}, "1"}, {nil, ""}} {
		s := talk(c.messages...)
		got := ""
		if m := s.LatestAssistant(); m != nil {
			got = strings.TrimPrefix(m.ID, "msg_")
		}
		if got != c.want {
			t.Errorf("LatestAssistant of %q = %q, want %q", c.messages, got, c.want)
		}
	}
}

func TestFinished(t *testing.T) {
	for fields, want := range map[string]bool{
		``: false, `"finish":"stop"`: true, `"finish":"tool-calls"`: false, `"finish":"tool-calls","time":{"created":1,"completed":2}`: false,
		`"time":{"created":1,"completed":2}`: true, `"error":{"name":"X"}`: true, `"error":null`: false, `"error":"x"`: true,
		`"error":{"name":"X"},"finish":"tool-calls"`: true, `"finish":""`: false,
	} {
		m := NewMessage(change.Record{Ref: change.Ref{Kind: change.KindMessage, Message: "m"}, Data: []byte(strings.Replace(`{"role":"assistant",`+fields+`}`, ",}", "}", 1))})
		if got := m.IsFinished(); got != want {
			t.Errorf("Finished with %s = %v, want %v", fields, got, want)
		}
	}
}

func TestSteps(t *testing.T) {
	for spec, want := range map[string]string{
		"assistant": "", "assistant text": "1", "assistant start text finish": "3", "assistant start text start tool finish start": "2 3 1", "assistant text start": "1 1",
	} {
		var got []string
		for step := range talk(spec).Messages[0].Steps() {
			got = append(got, fmt.Sprint(len(step)))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("Steps of %q have %q parts, want %q", spec, got, want)
		}
	}
}

// TestCall: a call has the id that its part has as callID or, for some kinds, as id (TRM-01, TRM-04 and TRM-07 of
// oh-my-opencode's tests).
func TestCall(t *testing.T) {
	m := change.Ref{Kind: change.KindMessage, Session: "s", Message: "m"}
	for _, c := range []struct{ id, fields, want string }{
		{"prt_1", `"type":"tool","callID":"toolu_1"`, "toolu_1"},
		{"prt_missing_call", `"type":"tool"`, ""},
		{"toolu_from_id", `"type":"tool","callID":"prt_not_a_call"`, "toolu_from_id"},
		{"call_1", `"type":"tool_use"`, "call_1"},
		{"prt_1", `"type":"tool_use","callID":"functions.read:0"`, "functions.read:0"},
		{"prt_1", `"type":"tool_use","callID":""`, ""},
		{"other", `"type":"tool_use"`, ""},
	} {
		p := testPart(m, c.id, c.fields)
		if got := p.Call(); got != c.want {
			t.Errorf("Call of %s = %q, want %q", p.Data, got, c.want)
		}
	}
}
