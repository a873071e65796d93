package record

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mend/change"
)

func TestNewPartDefects(t *testing.T) {
	ref := change.Ref{Kind: change.KindPart, Session: "s", Message: "m", Part: "prt_1"}
	const tool = `{"id":"prt_1","type":"tool","callID":"c","tool":"t","state":`
	for _, c := range []struct {
		name, data string
		want       change.DefectKind
		why        string
	}{
		{"in order", `{"id":"prt_1","type":"text","text":"x"}`, 0, ""},
		{"unknown kind", `{"id":"prt_1","type":"novelty","text":5}`, 0, ""},
		{"unknown fields", `{"id":"prt_1","type":"text","text":"x","time":"odd","metadata":[]}`, 0, ""},
		{"zero bytes", ``, change.Malformed, "empty, zero bytes"},
		{"NUL bytes", "\x00\x00\x00", change.Malformed, "nothing but NUL bytes"},
		{"truncated", `{"id":"prt_1","type":"te`, change.Malformed, "the text ends early"},
		{"truncated after a value", `{"id":"prt_1"`, change.Malformed, "the text ends early"},
		{"no object", `["x"]`, change.Malformed, "not a JSON object"},
		{"null", `null`, change.Malformed, "not a JSON object"},
		{"two objects", `{}{}`, change.Malformed, "more text after the object"},
		{"not JSON", `{"id":x}`, change.Malformed, "not JSON at byte"},
		{"id missing", `{"type":"patch"}`, change.WrongType, "id is missing"},
		{"id a number", `{"id":1,"type":"patch"}`, change.WrongType, "id is missing"},
		{"other id", `{"id":"prt_2","type":"patch"}`, change.WrongName, "it contains the id prt_2"},
		{"other id and type missing", `{"id":"prt_2"}`, change.WrongName, "it contains the id prt_2"},
		{"state in order", tool + `{"status":"error","input":{},"error":""}}`, 0, ""},
	} {
		p := NewPart(change.Record{Ref: ref, Data: []byte(c.data)})
		got := change.Defect{}
		if p.Defect != nil {
			got = *p.Defect
		}
		if got.Kind != c.want || !strings.Contains(got.Why, c.why) {
			t.Errorf("%s: NewPart(%q) has the defect %v, want %v %q", c.name, c.data, got, c.want, c.why)
		}
	}
}

func TestNewPart(t *testing.T) {
	ref := change.Ref{Kind: change.KindPart, Session: "s", Message: "m", Part: "prt_1"}
	for _, c := range []struct {
		data string
		want Part
	}{
		{`{"type":"text","text":"\u00e9","synthetic":true,"ignored":1,"time":{"start":1e3,"end":2.0}}`, Part{Type: "text", Text: "é", Synthetic: true, Start: 1000, End: 2}},
		{`{"type":"reasoning","text":"hm","metadata":{"anthropic":{"signature":"s"}}}`, Part{Type: "reasoning", Text: "hm", Signature: "s"}},
		{`{"type":"reasoning","text":"","metadata":{"anthropic":{"redactedData":"r"}}}`, Part{Type: "reasoning", Signature: "r"}},
		{`{"type":"thinking","thinking":"hm","signature":"s"}`, Part{Type: "thinking", Text: "hm", Signature: "s"}},
		{`{"type":"redacted_thinking","data":"r"}`, Part{Type: "redacted_thinking", Signature: "r"}},
		{`{"type":"tool","callID":"c","tool":"t","state":{"status":"running","input":{},"time":{"start":5}}}`, Part{Type: "tool", CallID: "c", Tool: "t", Status: "running", Start: 5}},
		{`{"type":"tool_use","callID":"c","name":"t"}`, Part{Type: "tool_use", CallID: "c", Tool: "t"}},
		{`{"type":"tool_use","id":"toolu_1","tool":"t"}`, Part{Type: "tool_use", CallID: "toolu_1", Tool: "t"}},
		{`{"type":"tool_result","toolUseId":"c"}`, Part{Type: "tool_result", CallID: "c"}},
		{`{"type":"text","text":"x","text":"y"}`, Part{Type: "text", Text: "y"}},
	} {
		p := NewPart(change.Record{Ref: ref, Data: []byte(c.data), Cols: change.NewCols()}) // a row: its id is not in the data
		c.want.Record, c.want.JSON, c.want.ID = p.Record, p.JSON, "prt_1"
		if fmt.Sprint(p) != fmt.Sprint(c.want) || p.Defect != nil {
			t.Errorf("NewPart(%s) = %+v, want %+v", c.data, p, c.want)
		}
	}
}

func TestNewMessage(t *testing.T) {
	ref := change.Ref{Kind: change.KindMessage, Session: "s", Message: "msg_1"}
	for _, c := range []struct {
		data   string
		want   Message
		defect change.DefectKind
	}{
		{
			`{"id":"msg_1","role":"assistant","time":{"created":5,"completed":6},"finish":"stop","providerID":"p","modelID":"m"}`,
			Message{ID: "msg_1", Role: "assistant", Created: 5, Completed: 6, Finish: "stop", ProviderID: "p", ModelID: "m"},
			0,
		},
		{
			`{"id":"msg_1","role":"user","time":{"created":5},"model":{"providerID":"p","modelID":"m"}}`,
			Message{ID: "msg_1", Role: "user", Created: 5, ProviderID: "p", ModelID: "m"},
			0,
		},
		{
			`{"id":"msg_1","role":"assistant","time":{"created":5},"error":{"name":"APIError"}}`,
			Message{ID: "msg_1", Role: "assistant", Created: 5, Failed: true},
			0,
		},
		{`{"id":"msg_1","role":"assistant"}`, Message{ID: "msg_1", Role: "assistant"}, 0},
		{`{"id":"msg_1","role":"assistant","time":{"created":"x"}}`, Message{ID: "msg_1", Role: "assistant"}, 0},
		{`{"id":"msg_1","time":{"created":5}}`, Message{ID: "msg_1", Created: 5}, 0},
		{`{"id":"msg_2","role":"user","time":{"created":5}}`, Message{ID: "msg_2", Role: "user", Created: 5}, change.WrongName},
		{`{"id":"msg_1`, Message{ID: "msg_1"}, change.Malformed},
	} {
		m := NewMessage(change.Record{Ref: ref, Data: []byte(c.data)})
		defect := change.DefectKind(0)
		if m.Defect != nil {
			defect = m.Defect.Kind
		}
		c.want.Record, c.want.JSON = m.Record, m.JSON
		if fmt.Sprint(m) != fmt.Sprint(c.want) || defect != c.defect {
			t.Errorf("NewMessage(%s) = %+v, want %+v with the defect %v", c.data, m, c.want, c.defect)
		}
	}
}

func TestUnreadableIsNotRead(t *testing.T) {
	r := change.Record{Ref: change.Ref{Kind: change.KindPart, Part: "prt_1"}, Defect: &change.Defect{Kind: change.Unreadable, Why: "permission denied"}}
	if p := NewPart(r); !p.Unreadable() || !p.IsMalformed() || p.ID != "prt_1" || p.Type != "" {
		t.Errorf("NewPart of an unreadable record = %+v", p)
	}
}

func TestClone(t *testing.T) {
	s := talk("user text", "assistant blank signed")
	c := s.Clone()
	if err := c.Messages[1].Parts[0].ReplaceText("x"); err != nil {
		t.Fatal(err)
	}
	c.InjectText(&c.Messages[0], "prt_x", "y")
	c.Messages[1].Remove(c.Messages[1].Parts[1].Ref)
	if a, b := shape(&s.Messages[0]), shape(&s.Messages[1]); a != "00:text" || b != "10:text 11:reasoning" {
		t.Errorf("edits of a clone reach the session: %s, %s", a, b)
	}
	var refs []string
	for r := range c.Records {
		refs = append(refs, r.Ref.String())
	}
	if got := strings.Join(refs, " "); got != "msg_0 msg_0/prt_i00 msg_0/prt_x msg_1 msg_1/prt_i10" {
		t.Errorf("Records = %s", got)
	}
}

// TestSort: messages are sorted by their times and then their ids, parts by their ids (the cases RDR-02 and RDR-03 of
// oh-my-opencode's tests). Upstream reads a message without a role as a prompt; mend does not guess the role.
func TestSort(t *testing.T) {
	record := func(id, fields string) Message {
		return NewMessage(change.Record{Ref: change.Ref{Kind: change.KindMessage, Session: "s", Message: id}, Data: []byte(`{"id":"` + id + `"` + fields + `}`)})
	}
	s := &Session{Messages: []Message{
		record("msg_b", `,"role":"assistant","time":{"created":2}`), record("msg_a", `,"role":"user","time":{"created":1}`), record("msg_c", ``),
		record("msg_B", `,"role":"user","time":{"created":2}`),
	}}
	s.Messages[0].Parts = []Part{testPart(s.Messages[0].Ref, "prt_b", kinds["text"]), testPart(s.Messages[0].Ref, "prt_a", kinds["text"]), testPart(s.Messages[0].Ref, "prt_B", kinds["text"])}
	s.Sort()
	if got := fmt.Sprint(s.Messages[0].ID, s.Messages[1].ID, s.Messages[2].ID, s.Messages[3].ID); got != "msg_cmsg_amsg_Bmsg_b" {
		t.Errorf("Sort gives %s", got)
	}
	if ps := s.Messages[3].Parts; ps[0].ID+ps[1].ID+ps[2].ID != "prt_Bprt_aprt_b" || ps[1].Text != "hi" {
		t.Errorf("Sort gives the parts %v", ps)
	}
}

func FuzzNewPart(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"a":1}`, "{\n  \"a\": {\n    \"b\": []\n  },\n  \"type\": \"text\"\n}\n", `{"a":1,"a":2,"\u0061":3}`, `{"a":"\ud800"}`, "{\"\xff\":1}",
		`{"a":1`, "\x00", ``, `[{"a":1}]`, `{"a":1}{"b":2}`, `{"id":"prt_1","type":"tool","state":{"status":"running","input":{}}}`, "\ufeff{}",
	} {
		f.Add([]byte(s), "a")
	}
	f.Add([]byte(`{"id":"prt_1","type":"text","text":"\ud83d\ude00","synthetic":true,"time":{"start":1e3,"end":2}}`), "prt_1")
	f.Add([]byte(`{"id":"prt_1","type":"reasoning","text":"x","metadata":{"anthropic":{"signature":"s"}}}`), "prt_1")
	f.Fuzz(func(t *testing.T, data []byte, id string) {
		p := NewPart(change.Record{Ref: change.Ref{Kind: change.KindPart, Session: "s", Message: "m", Part: id}, Data: data})
		var v map[string]any
		object := json.Unmarshal(data, &v) == nil && v != nil
		if p.IsMalformed() == object {
			t.Fatalf("NewPart(%q) has the defect %v, and encoding/json reads %v", data, p.Defect, v)
		}
		if !object {
			return
		}
		kind, _ := v["type"].(string)
		text, _ := v["text"].(string)
		if p.Type != kind || (kind == TypeText || kind == TypeReasoning) && p.Text != text {
			t.Fatalf("NewPart(%q) = %q %q, encoding/json reads %q %q", data, p.Type, p.Text, kind, text)
		}
		if synthetic, _ := v["synthetic"].(bool); p.Synthetic != synthetic {
			t.Fatalf("NewPart(%q).Synthetic = %v", data, p.Synthetic)
		}
	})
}
