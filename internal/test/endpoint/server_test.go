package endpoint

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
)

const tools = `"tools":[{"name":"bash"}]`

// post sends a body to a server and returns status and answer.
func post(t *testing.T, s *Server, body string) (int, string) {
	t.Helper()
	resp, err := http.Post(s.URL+"/v1/messages", "application/json", strings.NewReader(body))
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

func serve(t *testing.T, script Script) *Server {
	s := New(script)
	t.Cleanup(s.Close)
	return s
}

// readEvents returns the names and the data of server-sent events.
func readEvents(t *testing.T, stream string) (names []string, data []map[string]any) {
	t.Helper()
	for lines := bufio.NewScanner(strings.NewReader(stream)); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch key {
		case "event":
			names = append(names, value)
		case "data":
			var e map[string]any
			if err := json.Unmarshal([]byte(value), &e); err != nil {
				t.Fatalf("event %s: %v", value, err)
			}
			data = append(data, e)
		}
	}
	return names, data
}

// TestStream: a streamed answer has the events of the provider, with thinking, a text and a call.
func TestStream(t *testing.T) {
	s := serve(t, nil)
	status, answer := post(t, s, `{"model":"m","stream":true,"thinking":{"type":"enabled"},`+tools+`,"messages":[{"role":"user","content":"please TOOL"}]}`)
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, answer)
	}
	names, data := readEvents(t, answer)
	want := []string{
		"message_start",
		"content_block_start", "content_block_delta", "content_block_delta", "content_block_stop",
		"content_block_start", "content_block_delta", "content_block_stop",
		"content_block_start", "content_block_delta", "content_block_stop",
		"message_delta", "message_stop",
	}
	if !reflect.DeepEqual(names, want) {
		t.Fatalf("events %v, want %v", names, want)
	}
	var deltas []any
	for i, e := range data {
		if e["type"] != names[i] {
			t.Errorf("event %s has type %v", names[i], e["type"])
		}
		if d, ok := e["delta"].(map[string]any); ok {
			deltas = append(deltas, d["thinking"], d["signature"], d["text"], d["partial_json"], d["stop_reason"])
		}
	}
	wantDeltas := []any{
		"Considering request 1.", nil, nil, nil, nil,
		nil, Sign("Considering request 1."), nil, nil, nil,
		nil, nil, "Running.", nil, nil,
		nil, nil, nil, `{"command":"echo hi","description":"says hi"}`, nil,
		nil, nil, nil, nil, "tool_use",
	}
	if !reflect.DeepEqual(deltas, wantDeltas) {
		t.Errorf("deltas %v, want %v", deltas, wantDeltas)
	}
}

// TestAnswers: the plain script answers by the last prompt or result, and the answer is recorded.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name, rest string
		want       []string // the blocks' types, and their text where they have one
	}{
		{"title", `"messages":[{"role":"user","content":"please TOOL"}]`, []string{"text A title"}},
		{"plain", tools + `,"messages":[{"role":"user","content":"hi"}]`, []string{"text Hello 1."}},
		{"thinking", tools + `,"thinking":{"type":"adaptive"},"messages":[{"role":"user","content":"hi"}]`, []string{"thinking Considering request 1.", "text Hello 1."}},
		{"one call", tools + `,"messages":[{"role":"user","content":"TOOL"}]`, []string{"text Running.", "tool_use"}},
		{"two calls", tools + `,"messages":[{"role":"user","content":"TOOLS"}]`, []string{"text Running two.", "tool_use", "tool_use"}},
		{"result", tools + `,"messages":[{"role":"user","content":"TOOL"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"bash","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"x"}]}]`, []string{"text Done 1."}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, nil)
			status, answer := post(t, s, `{"model":"m",`+c.rest+`}`)
			var message struct{ Content Content }
			if err := json.Unmarshal([]byte(answer), &message); err != nil || status != http.StatusOK {
				t.Fatalf("status %d, %v: %s", status, err, answer)
			}
			var got []string
			for _, b := range message.Content {
				got = append(got, strings.TrimSpace(b.Type+" "+b.Text+b.Thinking))
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("answer %q, want %q", got, c.want)
			}
			if previous := s.Calls()[0].Answer; !reflect.DeepEqual(previous, message.Content) {
				t.Errorf("recorded answer %+v, want %+v", previous, message.Content)
			}
		})
	}
}

// TestLoop: an answer that is sent back with results is accepted, so a later call has new ids.
func TestLoop(t *testing.T) {
	s := serve(t, nil)
	r := Request{Thinking: Thinking{Type: "enabled"}, Tools: []json.RawMessage{[]byte("{}")}}
	for n := range 6 {
		if n%2 == 0 {
			r.Messages = append(r.Messages, user(Text("TOOLS")))
		}
		body, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if status, answer := post(t, s, string(body)); status != http.StatusOK {
			t.Fatalf("request %d: status %d: %s", n, status, answer)
		}
		answer := s.Calls()[n].Answer
		r.Messages = append(r.Messages, assistant(answer...))
		if all := results(answer); all != nil {
			r.Messages = append(r.Messages, user(all...))
		}
	}
}

// results answers every tool call of an answer.
func results(answer Content) []Block {
	var all []Block
	for _, b := range answer {
		if b.Type == "tool_use" {
			all = append(all, result(b.ID, Text("x")))
		}
	}
	return all
}

// TestRefusal: a refused body gets the provider's error, and is recorded with its rule.
func TestRefusal(t *testing.T) {
	s := serve(t, nil)
	for _, c := range []struct{ name, body, rule, words string }{
		{"a rule", `{"stream":true,"messages":[{"role":"user","content":" "}]}`, "R11", "messages: text content blocks must contain non-whitespace text"},
		{"no JSON", `{`, "json", "reading request: unexpected end of JSON input"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, answer := post(t, s, c.body)
			want := `{"error":{"message":"` + c.words + `","type":"invalid_request_error"},"type":"error"}`
			if status != http.StatusBadRequest || strings.TrimSpace(answer) != want {
				t.Errorf("status %d, answer %s, want 400, %s", status, answer, want)
			}
			calls := s.Calls()
			if got := calls[len(calls)-1]; got.Rule != c.rule || got.Message != c.words || string(got.Raw) != c.body || got.Answer != nil {
				t.Errorf("recorded %+v", got)
			}
		})
	}
	if resp, err := http.Get(s.URL + "/v1/models"); err != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("GET /v1/models: %v, %v, want 404", resp, err)
	}
}

// TestTooLarge: a request of more than 32 MB is refused with the provider's error, whatever its content.
func TestTooLarge(t *testing.T) {
	s := serve(t, nil)
	body := `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("x", largestRequest) + `"}]}`
	status, answer := post(t, s, body)
	if want := `{"error":{"message":"Request exceeds the maximum size","type":"request_too_large"},"type":"error"}`; status != http.StatusRequestEntityTooLarge || strings.TrimSpace(answer) != want || s.Calls()[0].Rule != tooLarge {
		t.Errorf("%d %s, want 413 %s", status, answer, want)
	}
}

// TestBlockedScript: while a script delays an answer, the server answers other requests.
func TestBlockedScript(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	s := serve(t, func(n int, r Request) Content {
		if n == 1 {
			close(started)
			<-release
		}
		return Plain(n, r)
	})
	var wg sync.WaitGroup
	wg.Go(func() {
		<-started
		if status, _ := post(t, s, `{"messages":[{"role":"user","content":"second"}]}`); status != http.StatusOK {
			t.Errorf("second request: status %d", status)
		}
		if got := s.Calls(); len(got) != 2 || got[0].Answer != nil {
			t.Errorf("calls while the first is delayed = %+v", got)
		}
		close(release)
	})
	if status, _ := post(t, s, `{"messages":[{"role":"user","content":"first"}]}`); status != http.StatusOK {
		t.Errorf("first request: status %d", status)
	}
	wg.Wait()
}

// TestSign: the key has not changed since the stores in testdata were signed.
func TestSign(t *testing.T) {
	if got, want := Sign("Considering request 2."), "725d921fc8437997c5eb0ff4df6d9137d6e209f10be4c3ae468a70663ac18d4c"; got != want {
		t.Errorf("Sign = %s, want %s", got, want)
	}
}
