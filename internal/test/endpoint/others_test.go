package endpoint

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

const pngDot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="

// refusals are bodies for a setting that break one rule, or none.
var refusals = []struct{ rule, setting, body string }{
	{"", "openai", `{"input":[{"role":"user","content":[{"type":"input_text","text":"hi"}]}]}`},
	{"", "openai", `{"input":[{"type":"function_call","call_id":"c","name":"bash","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"x"}]}`},
	{"O10", "openai", `{"input":[{"type":"item_reference","id":"rs_1"}]}`},
	{"O4", "openai", `{"input":[{"role":"assistant","id":"msg_1","content":"a"},{"role":"assistant","id":"msg_1","content":"b"}]}`},
	{"O11", "openai", `{"input":[{"role":"assistant","id":"prt_1","content":"a"}]}`},
	{"O3", "openai", `{"input":[{"type":"reasoning","id":"rs_known","encrypted_content":"known"},{"role":"user","content":"a"}]}`},
	{"O3", "openai", `{"input":[{"role":"assistant","id":"msg_known","content":"a"}]}`},
	{"", "openai", `{"input":[{"type":"reasoning","id":"rs_known","encrypted_content":"known"},{"role":"assistant","id":"msg_known","content":"a"}]}`},
	{"O1", "openai", `{"input":[{"type":"function_call","call_id":"c","name":"bash"}]}`},
	{"O2", "openai", `{"input":[{"type":"function_call_output","call_id":"c","output":"x"}]}`},
	{"O5", "openai", `{"input":[{"type":"function_call","call_id":"c","name":"a.b"},{"type":"function_call_output","call_id":"c","output":"x"}]}`},
	{"O6", "openai", `{"input":[{"type":"function_call","call_id":"` + strings.Repeat("c", 65) + `","name":"a"},{"type":"function_call_output","call_id":"` + strings.Repeat("c", 65) + `","output":"x"}]}`},
	{"O6", "openai", `{"input":[{"type":"function_call","call_id":"","name":"a"},{"type":"function_call_output","call_id":"","output":"x"}]}`},
	{"O13", "openai", `{"store":false,"input":[{"type":"reasoning","summary":[]}]}`},
	{"O14", "openai", `{"input":[{"type":"reasoning","encrypted_content":"known","content":[{"type":"reasoning_text","text":"x"}]}]}`},
	{"O8", "openai", `{"store":false,"input":[{"type":"reasoning","encrypted_content":"gAAAAforeign"}]}`},
	{"O9", "openai", `{"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,"}]}]}`},
	{"O9", "openai", `{"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]}]}`},
	{"", "openai", `{"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,` + pngDot + `"}]}]}`},
	{"O12", "openai", `{"input":[{"type":"function_call","call_id":"c","name":"a"},{"type":"function_call_output","call_id":"c","output":"` + strings.Repeat("x", largestString+1) + `"}]}`},

	{"", "chat", `{"messages":[{"role":"assistant","content":"","tool_calls":[{"id":"c","function":{"name":"a","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":""}]}`},
	{"C1", "chat", `{"messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"a","arguments":"{}"}}]},{"role":"user","content":"a"}]}`},
	{"C2", "chat", `{"messages":[{"role":"tool","tool_call_id":"c","content":"x"}]}`},
	{"C3", "chat", `{"messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"a","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"x"},{"role":"tool","tool_call_id":"c","content":"x"}]}`},
	{"C4", "chat", `{"messages":[{"role":"assistant","tool_calls":[{"id":"","function":{"name":"a","arguments":"{}"}}]},{"role":"tool","tool_call_id":"","content":"x"}]}`},
	{"C5", "chat", `{"messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"x"}]}`},
	{"C6", "copilot", `{"messages":[{"role":"assistant","content":null}]}`},
	{"C8", "chat", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/svg+xml;base64,PHN2Zy8+"}}]}]}`},
	{"C9", "chat", `{"messages":[{"role":"user","content":"` + strings.Repeat("x", largestString+1) + `"}]}`},
	{"V1", "kimi", `{"messages":[{"role":"assistant","content":""}]}`},
	{"V2", "chat", `{"messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"a","arguments":"[1]"}}]},{"role":"tool","tool_call_id":"c","content":"x"}]}`},
	{"V3", "kimi", `{"messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"a","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"x"}]}`},
	{"V4", "chat", `{"messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"a","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"x"},{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"a","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"x"}]}`},

	{"", "gemini", `{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"functionCall":{"name":"a","args":{}},"thoughtSignature":"known"}]},{"role":"user","parts":[{"functionResponse":{"name":"a","response":{}}}]}]}`},
	{"G0", "gemini", `{"contents":[]}`},
	{"G1", "gemini", `{"contents":[{"role":"assistant","parts":[{"text":"a"}]}]}`},
	{"G2", "gemini", `{"contents":[{"role":"user","parts":[]}]}`},
	{"G3", "gemini", `{"contents":[{"role":"user","parts":[{}]}]}`},
	{"G4", "gemini", `{"contents":[{"role":"model","parts":[{"functionCall":{"name":"a"}}]},{"role":"user","parts":[{"functionResponse":{"name":"a","response":{}}}]},{"role":"user","parts":[{"text":"a"}]}]}`},
	{"G5", "gemini", `{"contents":[{"role":"user","parts":[{"functionResponse":{"name":"a","response":{}}}]}]}`},
	{"G6", "gemini", `{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"name":"a"}}]},{"role":"user","parts":[{"text":"a"}]}]}`},
	{"G7", "gemini", `{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"name":"a"}}]},{"role":"user","parts":[{"functionResponse":{"name":"a","response":{}}}]}]}`},
	{"G8", "gemini", `{"contents":[{"role":"user","parts":[{"text":"a","thoughtSignature":"Epforeign"}]}]}`},
	{"G9", "gemini", `{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"name":"a","args":"x"},"thoughtSignature":"known"}]},{"role":"user","parts":[{"functionResponse":{"name":"a","response":{}}}]}]}`},
	{"G10", "gemini", `{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}]}`},
	{"G12", "gemini", `{"contents":[{"role":"model","parts":[{"text":"a"}]}]}`},

	{"", "bedrock", `{"messages":[{"role":"user","content":[{"text":"a"},{"cachePoint":{}}]},{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"thought","signature":"known"}}},{"toolUse":{"toolUseId":"a","name":"b","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"x"}]}}]}]}`},
	{"B1", "bedrock", `{"messages":[{"role":"assistant","content":[{"text":"a"}]}]}`},
	{"B3", "bedrock", `{"messages":[{"role":"user","content":[]}]}`},
	{"B4", "bedrock", `{"messages":[{"role":"user","content":[{"text":" "}]}]}`},
	{"B4", "bedrock", `{"messages":[{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":""}]}}]}]}`},
	{"B5", "bedrock", `{"messages":[{"role":"user","content":[{"text":"a"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"a:b"}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"a:b","content":[{"text":"x"}]}}]}]}`},
	{"B7", "bedrock", `{"messages":[{"role":"user","content":[{"text":"a"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"a"}},{"toolUse":{"toolUseId":"a"}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"x"}]}}]}]}`},
	{"B8", "bedrock", `{"messages":[{"role":"user","content":[{"text":"a"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"a"}},{"text":"b"}]},{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"x"}]}}]}]}`},
	{"B8", "bedrock", `{"messages":[{"role":"user","content":[{"text":"a"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"a"}}]},{"role":"user","content":[{"text":"b"}]}]}`},
	{"B9", "bedrock", `{"messages":[{"role":"user","content":[{"text":"a"}]},{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"altered","signature":"known"}}},{"text":"b"}]}]}`},
	{"B10", "bedrock", `{"messages":[{"role":"user","content":[{"image":{"format":"jpeg","source":{"bytes":"` + pngDot + `"}}}]}]}`},
	{"B10", "bedrock", `{"messages":[{"role":"user","content":[{"image":{"format":"png","source":{"bytes":"` + strings.Repeat("A", 5_300_000) + `"}}}]}]}`},
	{"B11", "bedrock", `{"messages":[{"role":"user","content":[{"text":"a"}]},{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"thought","signature":"known"}}}]}]}`},
}

// issued is the content issued by the providers of the tests.
var issued = Known{
	Encrypted: map[string]string{"known": FirstAccount}, Signatures: map[string]string{"known": FirstAccount}, Thinking: map[string]string{"known": "thought"},
	Items: map[string][]string{"rs_known": {"rs_known", "msg_known"}, "msg_known": {"rs_known", "msg_known"}},
}

var bodyPaths = map[string]string{"openai": "/v1/responses", "gemini": "/v1beta/models/gemini-3-x:streamGenerateContent", "bedrock": "/model/claude/converse-stream"}

func send(t *testing.T, s *Server, setting, body string) (status int, answer string) {
	t.Helper()
	path := bodyPaths[setting]
	if path == "" {
		path = "/v1/chat/completions"
	}
	resp, err := http.Post(s.URL+"/"+setting+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// TestRefusals: each body is refused for its rule, with an error in the provider's form. A body without a rule is
// answered.
func TestRefusals(t *testing.T) {
	s := NewKnown(nil, issued)
	t.Cleanup(s.Close)
	for _, c := range refusals {
		status, answer := send(t, s, c.setting, c.body)
		calls := s.Calls()
		got := ""
		if found := calls[len(calls)-1].Violations; len(found) > 0 {
			if got = found[0].Rule; !strings.Contains(answer, `"message":`) || status < 400 {
				t.Errorf("%s: status %d, answer %.200s", c.rule, status, answer)
			}
		}
		if got != c.rule {
			t.Errorf("%s with %s: refused for %q, want %q; status %d: %.300s", c.rule, c.setting, got, c.rule, status, answer)
		}
	}
}

// TestOtherRulesAreTested: a row of refusals breaks each rule.
func TestOtherRulesAreTested(t *testing.T) {
	var codes []string
	for _, r := range responsesRules {
		codes = append(codes, r.code)
		if r.source == "" {
			t.Errorf("%s has no source", r.code)
		}
	}
	for _, r := range chatRules {
		codes = append(codes, r.code)
	}
	for _, r := range geminiRules {
		codes = append(codes, r.code)
	}
	for _, r := range bedrockRules {
		codes = append(codes, r.code)
	}
	for _, code := range codes {
		if !slices.ContainsFunc(refusals, func(c struct{ rule, setting, body string }) bool { return c.rule == code }) {
			t.Errorf("no body breaks %s", code)
		}
	}
}

// TestAccount: content that was issued to one account is refused from another.
func TestAccount(t *testing.T) {
	s := NewKnown(nil, issued)
	t.Cleanup(s.Close)
	const body = `{"store":false,"input":[{"type":"reasoning","encrypted_content":"known"}]}`
	if status, answer := send(t, s, "openai", body); status != http.StatusOK {
		t.Errorf("the first account: status %d: %s", status, answer)
	}
	s.SetAccount("another")
	if status, answer := send(t, s, "openai", body); status != http.StatusBadRequest || !strings.Contains(answer, "invalid_encrypted_content") {
		t.Errorf("another account: status %d: %s", status, answer)
	}
}

// TestEventStream: the messages of the event stream are complete and have the right checksums.
func TestEventStream(t *testing.T) {
	s := NewKnown(nil, issued)
	t.Cleanup(s.Close)
	_, answer := send(t, s, "bedrock", `{"toolConfig":{"tools":[{}]},"messages":[{"role":"user","content":[{"text":"please TOOL"}]}]}`)
	var kinds []string
	for data := []byte(answer); len(data) > 0; {
		n := binary.BigEndian.Uint32(data)
		if int(n) > len(data) || binary.BigEndian.Uint32(data[8:]) != crc32.ChecksumIEEE(data[:8]) || binary.BigEndian.Uint32(data[n-4:]) != crc32.ChecksumIEEE(data[:n-4]) {
			t.Fatalf("a message of %d bytes is incomplete: %q", n, data)
		}
		_, rest, _ := strings.Cut(string(data[:n]), ":event-type\x07")
		kinds = append(kinds, rest[2:2+int(rest[1])])
		data = data[n:]
	}
	want := "messageStart contentBlockDelta contentBlockDelta contentBlockStop contentBlockDelta contentBlockStop contentBlockStart contentBlockDelta contentBlockStop messageStop metadata"
	if got := strings.Join(kinds, " "); got != want {
		t.Errorf("events %s, want %s", got, want)
	}
}
