package endpoints

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// A Violation is one broken rule, with the provider's error text.
type Violation struct{ Rule, Message string }

// A rule is one condition of an API. check returns the provider's error text, or "" if the
// request is fine.
type rule[R any] struct {
	code   string
	source string // where the rule was seen
	check  func(R) string
}

// violations returns every rule that the request breaks, once each, in the order of the table.
func violations[R any](rules []rule[R], r R) []Violation {
	var all []Violation
	for _, rule := range rules {
		if m := rule.check(r); m != "" {
			all = append(all, Violation{rule.code, m})
		}
	}
	return all
}

// An api is one of the protocols.
type api interface {
	// parse reads a request to a path below the setting's prefix.
	parse(s *Server, setting, path string, body []byte) (conversation, error)
}

// A conversation is a parsed request.
type conversation interface {
	isTitle() bool // no part of a session: it offers no tools
	prompt() (text string, isResult bool)
	violations() []Violation
	answer(w http.ResponseWriter, s *Server, n int, a Answer)
	refuse(w http.ResponseWriter, v Violation)
}

// settings are the names with which paths begin, and their APIs.
var settings = map[string]api{
	"openai": responsesAPI{}, "chat": chatAPI{}, "kimi": chatAPI{}, "openrouter": chatAPI{}, "copilot": chatAPI{},
	"gemini": geminiAPI{}, "bedrock": bedrockAPI{},
}

// An Answer is what the model answers.
type Answer struct {
	Thinking, Text string
	Calls          []ToolCall
}

// A ToolCall is a call of the bash tool.
type ToolCall struct{ Command, Description string }

func (c ToolCall) input() string {
	data, _ := json.Marshal(map[string]string{"command": c.Command, "description": c.Description}) // strings
	return string(data)
}

// A Call is a request and what became of it.
type Call struct {
	Title      bool // it asks for a title
	Body       []byte
	Violations []Violation // none: it was answered
}

// A Server answers on loopback.
type Server struct {
	URL string

	http *httptest.Server

	mu      sync.Mutex
	calls   []Call
	known   Known
	account string
}

// New starts a Server that knows what it issued earlier, to [FirstAccount].
func New(known Known) *Server {
	s := &Server{known: known.clone(), account: FirstAccount}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	return s
}

// Close stops the server.
func (s *Server) Close() { s.http.Close() }

// Calls returns the requests so far, in the order in which they came.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// SetAccount sets whose credentials the next requests have.
func (s *Server) SetAccount(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.account = name
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	setting, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	api := settings[setting]
	if api == nil || r.Method != http.MethodPost {
		http.Error(w, "not found: "+r.Method+" "+r.URL.Path, http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has disconnected
	}
	c, err := api.parse(s, setting, path, body)
	call := Call{Body: body}
	if err != nil {
		call.Violations = []Violation{{"json", err.Error()}}
	} else {
		call.Title, call.Violations = c.isTitle(), c.violations()
	}
	s.mu.Lock()
	s.calls = append(s.calls, call)
	n := len(s.calls)
	s.mu.Unlock()
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	case len(call.Violations) > 0:
		c.refuse(w, call.Violations[0])
	default:
		c.answer(w, s, n, script(c, n))
	}
}

// script returns the nth answer: a prompt with the word TOOLS is answered with two bash
// calls in one step, one with TOOL with one, a tool result with "Done n.", anything else
// with "Hello n.".
func script(c conversation, n int) Answer {
	if c.isTitle() {
		return Answer{Text: "A title"}
	}
	a := Answer{Thinking: fmt.Sprintf("Considering request %d.", n)}
	switch text, isResult := c.prompt(); {
	case isResult:
		a.Text = fmt.Sprintf("Done %d.", n)
	case strings.Contains(text, "TOOLS"):
		a.Text, a.Calls = "Running two.", []ToolCall{{"echo one", "one"}, {"echo two", "two"}}
	case strings.Contains(text, "TOOL"):
		a.Text, a.Calls = "Running.", []ToolCall{{"echo hi", "says hi"}}
	default:
		a.Text = fmt.Sprintf("Hello %d.", n)
	}
	return a
}

// object is a JSON object.
type object = map[string]any

// events writes server-sent events.
type events struct{ w http.ResponseWriter }

func newEvents(w http.ResponseWriter) events {
	w.Header().Set("Content-Type", "text/event-stream")
	return events{w}
}

// send writes an event. An error means that the client has disconnected.
func (e events) send(name string, v any) {
	data, _ := json.Marshal(v) // of strings and numbers
	if name != "" {
		_, _ = fmt.Fprintf(e.w, "event: %s\n", name)
	}
	_, _ = fmt.Fprintf(e.w, "data: %s\n\n", data)
}

// reply sends a JSON answer.
func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // an error: the client has disconnected
}

// Check returns what a provider that has issued what is known refuses of a request to a setting
// and a model: the codes of all rules, each once.
func Check(setting, model string, body []byte, known Known) ([]string, error) {
	paths := map[string]string{"openai": "responses", "gemini": "models/" + model + ":streamGenerateContent", "bedrock": "model/" + model + "/converse-stream"}
	path, ok := paths[setting]
	if !ok {
		path = "chat/completions"
	}
	c, err := settings[setting].parse(&Server{known: known, account: FirstAccount}, setting, path, body)
	if err != nil {
		return nil, err
	}
	var codes []string
	for _, v := range c.violations() {
		codes = append(codes, v.Rule)
	}
	return codes, nil
}
