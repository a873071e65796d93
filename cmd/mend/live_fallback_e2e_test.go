//go:build e2e

package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mend/internal/live"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
)

// A modelGate is a proxy of the provider that answers the requests for some models itself.
type modelGate struct {
	mu      sync.Mutex
	answers map[string]func(body string) http.HandlerFunc // by model
	asked   []string                                      // the models of all requests, without those for titles
	bodies  []string
}

// set makes the gate answer the requests for a model. A nil answer passes them on.
func (g *modelGate) set(model string, answer http.HandlerFunc) {
	g.setIf(model, "", answer)
}

// setIf makes the gate answer the requests for a model that contain a text.
func (g *modelGate) setIf(model, text string, answer http.HandlerFunc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answers[model] = func(body string) http.HandlerFunc {
		if strings.Contains(body, text) {
			return answer
		}
		return nil
	}
}

// once makes the gate answer the next request for a model.
func (g *modelGate) once(model string, answer http.HandlerFunc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answers[model] = func(string) http.HandlerFunc { // called with the lock
		delete(g.answers, model)
		return answer
	}
}

// requests returns the models of all requests, and the last body.
func (g *modelGate) requests() (models []string, last string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.bodies) > 0 {
		last = g.bodies[len(g.bodies)-1]
	}
	return append([]string(nil), g.asked...), last
}

// openModelGate puts a gate before a provider.
func openModelGate(t *testing.T, api *endpoint.Server) *modelGate {
	t.Helper()
	target, err := url.Parse(api.URL)
	if err != nil {
		t.Fatal(err)
	}
	g := &modelGate{answers: map[string]func(string) http.HandlerFunc{}}
	proxy := httputil.NewSingleHostReverseProxy(target)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if req, err := endpoint.Parse(body); err == nil && !req.IsTitle() {
			g.mu.Lock()
			var answer http.HandlerFunc
			if find := g.answers[req.Model]; find != nil {
				answer = find(string(body))
			}
			g.asked, g.bodies = append(g.asked, req.Model), append(g.bodies, string(body))
			g.mu.Unlock()
			if answer != nil {
				answer(w, r)
				return
			}
		}
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(string(body))), int64(len(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	api.URL = front.URL
	return g
}

// refuseWith answers with an error of the provider.
func refuseWith(status int, kind, message string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}})
	}
}

// answerNothing sends an answer without content and with an unknown finish reason.
func answerNothing(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range [][2]string{
		{"message_start", `"message":{"id":"msg_01","type":"message","role":"assistant","model":"claude-fake","content":[],"stop_reason":null,"usage":{"input_tokens":0,"output_tokens":0}}`},
		{"message_delta", `"delta":{"stop_reason":"strange","stop_sequence":null},"usage":{"output_tokens":0}`},
		{"message_stop", `"index":0`},
	} {
		fmt.Fprintf(w, "event: %[1]s\ndata: {\"type\":\"%[1]s\",%[2]s}\n\n", e[0], e[1])
	}
}

// fallbackHome returns a home whose provider has the models claude-fake and claude-two to claude-five.
func fallbackHome(t *testing.T, version string, script endpoint.Script) (*opencode.Home, *modelGate) {
	t.Helper()
	exe, err := opencode.Install(version)
	if err != nil {
		t.Fatal(err)
	}
	api := endpoint.New(script)
	t.Cleanup(api.Close)
	g := openModelGate(t, api)
	h := opencode.New(t, exe, api, false)
	config, _ := pluginHome(h)
	path := filepath.Join(config, "opencode", "opencode.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	models := all["provider"].(map[string]any)["anthropic"].(map[string]any)["models"].(map[string]any)
	for _, name := range []string{"claude-two", "claude-three", "claude-four", "claude-five"} {
		model := map[string]any{}
		for k, v := range models["claude-fake"].(map[string]any) {
			model[k] = v
		}
		model["name"] = name
		models[name] = model
	}
	if data, err = json.MarshalIndent(all, "", "  "); err == nil {
		err = os.WriteFile(path, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h, g
}

// An eventLog records the events of a server.
type eventLog struct {
	mu     sync.Mutex
	events []string // type and properties
}

// followEvents records the events of a server until the test ends.
func followEvents(t *testing.T, server *opencode.Server) *eventLog {
	t.Helper()
	l := &eventLog{}
	followPayloads(t, server, func(payload json.RawMessage) {
		l.mu.Lock()
		l.events = append(l.events, string(payload))
		l.mu.Unlock()
	})
	return l
}

// count returns the number of events that match.
func (l *eventLog) count(pattern string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, re := 0, regexp.MustCompile(pattern)
	for _, e := range l.events {
		if re.MatchString(e) {
			n++
		}
	}
	return n
}

var recordTo = flag.String("record", "", "the folder into which tests write event sequences")

// callServer sends a request to a server and decodes the answer.
func callServer(t *testing.T, server *opencode.Server, method, path string, body, into any) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, text)
		}
	}
}

// writing returns the script of a model that appends a line to a file if the prompt is WRITE.
func writing(file string) endpoint.Script {
	return func(n int, r endpoint.Request) endpoint.Content {
		if last := r.Messages[len(r.Messages)-1].Content; !r.IsTitle() && strings.Contains(last[0].Text, "WRITE") {
			return endpoint.Content{endpoint.Text("Writing."), endpoint.Bash(r, "A", "echo x >> "+file, "writes")}
		}
		return endpoint.Plain(n, r)
	}
}

// TestRecordFallback writes the event sequences of hooks/testdata/fallback: a prompt to claude-fake fails, is aborted
// if OpenCode would continue, and a prompt to claude-two follows.
func TestRecordFallback(t *testing.T) {
	if *recordTo == "" {
		t.Skip("-record names no folder")
	}
	for _, version := range []string{"1.1.53", "1.2.27", "1.18.33"} {
		for _, c := range []struct {
			name    string
			prompt  string
			after   string // text in the requests that fail
			answer  http.HandlerFunc
			failure string
			times   int // number of failures
		}{
			{"429", "hello there", "", refuseWith(429, "rate_limit_error", "Number of request tokens has exceeded your rate limit"), `"type":"retry"`, 1},
			{"429-after-write", "WRITE", "tool_result", refuseWith(429, "rate_limit_error", "Number of request tokens has exceeded your rate limit"), `"type":"retry"`, 1},
			{"529", "hello there", "", refuseWith(529, "overloaded_error", "Overloaded", "retry-after", "30"), `"type":"retry"`, 1},
			{"401", "hello there", "", refuseWith(401, "authentication_error", "invalid x-api-key"), `"type":"session.error"`, 1},
			{"empty", "hello there", "", answerNothing, `"type":"message.updated".*"finish":"unknown"`, 6},
		} {
			t.Run(version+"/"+c.name, func(t *testing.T) {
				h, g := fallbackHome(t, version, writing(filepath.Join(t.TempDir(), "out")))
				r := &fallbackRun{T: t, server: h.Serve(), gate: g}
				log := followEvents(t, r.server)
				session := r.newSession()
				g.setIf("claude-fake", c.after, c.answer)
				r.send(session, "claude-fake", c.prompt)
				waitFor(t, "the failure", func() bool { return log.count(c.failure) >= c.times })
				if c.name != "401" {
					callServer(t, r.server, http.MethodPost, "/session/"+session+"/abort", map[string]any{}, nil)
				}
				waitFor(t, "the end of the turn", func() bool {
					return log.count(`"role":"assistant".*"completed"`) > 0 && !r.busy(session)
				})
				time.Sleep(time.Second) // for the last events of 1.18.33
				if got := r.prompt(session, "claude-two", "[go on]"); !slices.Equal(got, []string{"claude-two"}) {
					t.Fatalf("models %q", got)
				}
				log.record(t, version+"-"+c.name)
			})
		}
	}
}

// record writes the events so far into the folder that -record names.
func (l *eventLog) record(t *testing.T, name string) {
	t.Helper()
	if *recordTo == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(*recordTo, name+".jsonl"), l.slim(t), 0o644); err != nil {
		t.Fatal(err)
	}
}

// slim returns the events that package live reads, with the members that it uses, and with short ids.
func (l *eventLog) slim(t *testing.T) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []byte
	for _, text := range l.events {
		var e struct {
			Type       string `json:"type"`
			Properties struct {
				SessionID string          `json:"sessionID,omitempty"`
				Error     json.RawMessage `json:"error,omitempty"`
				Status    json.RawMessage `json:"status,omitempty"`
				Info      *live.Info      `json:"info,omitempty"`
				Part      *live.Part      `json:"part,omitempty"`
			} `json:"properties"`
		}
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(e.Type, "message.") && !slices.Contains([]string{"session.status", "session.idle", "session.error"}, e.Type) {
			continue
		}
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		all = append(append(all, line...), '\n')
	}
	short := map[string]string{}
	return regexp.MustCompile(`(ses|msg|prt)_\w+`).ReplaceAllFunc(all, func(id []byte) []byte {
		kind := string(id[:3])
		if short[string(id)] == "" {
			n := 1
			for other := range short {
				if strings.HasPrefix(other, kind) {
					n++
				}
			}
			short[string(id)] = fmt.Sprintf("%s_%d", kind, n)
		}
		return []byte(short[string(id)])
	})
}

// A fallbackRun is a server that continues turns with other models.
type fallbackRun struct {
	*testing.T
	server *opencode.Server
	gate   *modelGate
	toasts *toastLog
	events string // the file to which another plugin writes the recoveries
}

// runFallback starts a server of a version with mend's plugin.
func runFallback(t *testing.T, version, settings string, script endpoint.Script) *fallbackRun {
	t.Helper()
	h, g := fallbackHome(t, version, script)
	if version == "1.1.53" {
		h.Unpack(archives[version]) // OpenCode creates its store only with the first session
	}
	configure(t, h, settings)
	installPlugin(t, h)
	r := &fallbackRun{T: t, gate: g, events: filepath.Join(t.TempDir(), "events")}
	installOther(t, h, r.events)
	r.server = h.Serve()
	r.toasts = followToasts(t, r.server)
	return r
}

// installOther installs another plugin, which writes the events of recoveries into a file.
func installOther(t *testing.T, h *opencode.Home, file string) {
	t.Helper()
	config, _ := pluginHome(h)
	text := fmt.Sprintf(`import { appendFileSync } from "node:fs"
export const Other = async () => ({
  event: async ({ event: { type, properties } }) => {
    const [name, session] = type === "tui.command.execute" ? properties.command.split(" ") : []
    if (name?.startsWith("mend.recovery.")) appendFileSync(%q, name + " " + session + "\n")
  },
})
`, file)
	if err := os.WriteFile(filepath.Join(config, "opencode", "plugins", "other.js"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (r *fallbackRun) newSession() string {
	var s struct{ ID string }
	callServer(r.T, r.server, http.MethodPost, "/session", map[string]any{}, &s)
	return s.ID
}

// prompt sends a prompt for a model and waits for an answer. It returns the models of the requests, without immediate
// retries.
func (r *fallbackRun) prompt(session, model, text string) []string {
	r.Helper()
	before, _ := r.gate.requests()
	old := len(r.messages(session))
	r.send(session, model, text)
	waitFor(r.T, "the answer", func() bool {
		ms := r.messages(session)
		last := ms[max(0, len(ms)-1):]
		return len(ms) > old && len(last) == 1 && last[0].Info.Role == "assistant" && last[0].Info.Finish == "stop" && !r.busy(session)
	})
	models, _ := r.gate.requests()
	return slices.Compact(models[len(before):])
}

// send sends a prompt with an image, for a model unless that is "".
func (r *fallbackRun) send(session, model, text string) {
	body := map[string]any{
		"agent": "build",
		"parts": []any{
			map[string]any{"type": "text", "text": text},
			map[string]any{"type": "file", "mime": "image/png", "filename": "a.png", "url": "data:image/png;base64," + onePixel},
		},
	}
	if model != "" {
		body["model"] = map[string]any{"providerID": "anthropic", "modelID": model}
	}
	callServer(r.T, r.server, http.MethodPost, "/session/"+session+"/prompt_async", body, nil)
}

// onePixel is a PNG image.
const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func (r *fallbackRun) messages(session string) (ms []live.Message) {
	callServer(r.T, r.server, http.MethodGet, "/session/"+session+"/message", nil, &ms)
	return ms
}

func (r *fallbackRun) busy(session string) bool { return isBusy(r.T, r.server, session) }

func isBusy(t *testing.T, server *opencode.Server, session string) bool {
	var all map[string]struct{ Type string }
	callServer(t, server, http.MethodGet, "/session/status", nil, &all)
	s, ok := all[session]
	return ok && s.Type != "idle"
}

// TestLiveFallbackRefused: a turn is continued with another model if the provider does not know its model or rejects
// the key.
func TestLiveFallbackRefused(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]http.HandlerFunc{
		"an unknown model": refuseWith(404, "not_found_error", "model: claude-fake"), "a rejected key": refuseWith(401, "authentication_error", "invalid x-api-key"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := runFallback(t, "1.18.34", `{"fallbackModels": ["anthropic/claude-five"], "fallbackCooldownSeconds": 0}`, uniqueAnswer)
			r.gate.set("claude-fake", refuse)
			if got := r.prompt(r.newSession(), "claude-fake", "hello there"); !slices.Equal(got, []string{"claude-fake", "claude-five"}) {
				t.Errorf("models %q", got)
			}
		})
	}
}

// TestLiveFallback: a turn of the real program is continued with another model after endless rate limits, after an
// overload, and after it has written a file. The next model gets the prompt with its image once, and no tool runs
// twice. A model that failed a short time ago is not used. Another plugin sees the start and the end of the change.
func TestLiveFallback(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"1.18.33", "1.1.53", "1.2.27"} {
		if testing.Short() && version != "1.18.33" {
			continue
		}
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "out")
			r := runFallback(t, version, `{
					"fallbackModels": ["anthropic/claude-none", "anthropic/claude-five", "anthropic/claude-two"], "fallbackCooldownSeconds": 0,
				}`, writing(file))

			r.gate.set("claude-fake", refuseWith(429, "rate_limit_error", "Number of request tokens has exceeded your rate limit"))
			session := r.newSession()
			if got := r.prompt(session, "claude-fake", "hello there"); !slices.Equal(got, []string{"claude-fake", "claude-five"}) {
				t.Errorf("429: models %q", got)
			}
			_, body := r.gate.requests()
			if strings.Count(body, "hello there") != 1 || strings.Count(body, onePixel) != 1 {
				t.Errorf("the request to the next model: %s", body)
			}
			waitFor(t, "the toast", func() bool {
				return r.toasts.contains("anthropic/claude-fake failed: 429.") && r.toasts.contains("anthropic/claude-five continues the turn.")
			})

			want := fmt.Sprintf("mend.recovery.started %[1]s\nmend.recovery.finished %[1]s\n", session)
			waitFor(t, "the events", func() bool {
				data, err := os.ReadFile(r.events)
				return err == nil && string(data) == want
			})

			r.gate.setIf("claude-three", "tool_result", refuseWith(429, "rate_limit_error", "Number of request tokens has exceeded your rate limit"))
			session = r.newSession()
			if got := r.prompt(session, "claude-three", "WRITE"); !slices.Equal(got, []string{"claude-three", "claude-five"}) {
				t.Errorf("429 after a tool: models %q", got)
			}
			if data, err := os.ReadFile(file); string(data) != "x\n" {
				t.Errorf("the file that the turn wrote: %q, %v", data, err)
			}

			r.gate.set("claude-four", refuseWith(529, "overloaded_error", "Overloaded", "retry-after", "3600"))
			r.gate.set("claude-five", refuseWith(529, "overloaded_error", "Overloaded", "retry-after", "3600"))
			session = r.newSession()
			if got := r.prompt(session, "claude-four", "hello there"); !slices.Equal(got, []string{"claude-four", "claude-five", "claude-two"}) {
				t.Errorf("529 from two models: models %q", got)
			}
			if got := r.prompt(r.newSession(), "claude-four", "hello there"); !slices.Equal(got, []string{"claude-two"}) {
				t.Errorf("a prompt during the cool-down: models %q", got)
			}
		})
	}
}

// TestLiveFallbackChoice: after a model was silent for too long, the next model gets the prompts, then the first model
// again after its cool-down, and always a model that the user chooses.
func TestLiveFallbackChoice(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it waits for two minutes")
	}
	for _, version := range []string{"1.18.33", "1.1.53", "1.2.27"} {
		if testing.Short() && version != "1.18.33" {
			continue
		}
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			const cooldown = 90 * time.Second // on a busy machine
			r := runFallback(t, version, fmt.Sprintf(`{
				"fallbackModels": ["anthropic/claude-two"], "fallbackRestore": true,
				"fallbackSilenceSeconds": 30, "fallbackCooldownSeconds": %d,
			}`, int(cooldown.Seconds())), nil)
			session := r.newSession()
			asked := func(when, model string, want ...string) {
				t.Helper()
				if got := r.prompt(session, model, "hello there"); !slices.Equal(got, want) {
					t.Errorf("%s: models %q, want %q", when, got, want)
				}
			}
			r.gate.set("claude-fake", func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() })
			asked("silence", "claude-fake", "claude-fake", "claude-two")
			failed := time.Now()
			waitFor(t, "the toast", func() bool { return r.toasts.contains("anthropic/claude-fake failed: silent for 30s.") })
			r.gate.set("claude-fake", nil)
			asked("during the cool-down", "", "claude-two")
			time.Sleep(time.Until(failed.Add(cooldown)))
			asked("after the cool-down", "", "claude-fake")

			r.gate.set("claude-fake", refuseWith(429, "rate_limit_error", "Number of request tokens has exceeded your rate limit"))
			asked("a rate limit", "claude-fake", "claude-fake", "claude-two")
			r.gate.set("claude-fake", nil)
			asked("another model by hand", "claude-three", "claude-three")
			asked("that model again", "", "claude-three")
			asked("the failed model by hand", "claude-fake", "claude-fake")
		})
	}
}
