package endpoint

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

type api interface {
	// parse reads a request to a path below the setting's prefix.
	parse(s *Server, setting, path string, body []byte) (parsedRequest, error)
}

type parsedRequest interface {
	IsTitle() bool // not part of a session: it offers no tools
	prompt() (text string, isResult bool)
	violations() []Violation
	answer(w http.ResponseWriter, s *Server, n int)
	refuse(w http.ResponseWriter, v Violation)
}

// settings are the first path elements, with their APIs.
var settings = map[string]api{
	"v1":     messagesAPI{},
	"openai": responsesAPI{}, "chat": chatAPI{}, "kimi": chatAPI{}, "openrouter": chatAPI{}, "copilot": chatAPI{},
	"gemini": geminiAPI{}, "bedrock": bedrockAPI{},
}

// A Server simulates the providers: it checks each request, answers it from its script, and records both. It
// is safe for concurrent use.
type Server struct {
	// URL is the base URL of the APIs, such as http://127.0.0.1:4096; Anthropic's is at
	// URL/v1/messages, the others' begin with the name of a setting.
	URL string

	http   *httptest.Server
	script Script
	extra  func(body []byte) (rule, message string)

	mu       sync.Mutex
	calls    []Call
	known    Known
	account  string
	bindings Bindings
}

// A Call is one request with its answer.
type Call struct {
	N          int         // its number, from 1
	Raw        []byte      // the body
	Title      bool        // it asks for a title
	Violations []Violation // the broken rules, first the one that it is refused for; none: it was answered
	Rule       string      // the rule of the first violation; "json" for a body that is not a request; "" if it was answered
	Message    string      // the provider's message
	Request    Request     // to Anthropic: the parsed body
	Unbound    []string    // to Anthropic: the positions of thinking that is bound to another conversation
	Answer     Content     // of Anthropic: the answer
}

// New starts a server on a free port of loopback. The script answers the requests to Anthropic; nil is
// [Plain], which the other APIs always use. It panics if there is no free port, as httptest does.
func New(script Script) *Server { return NewStrict(script, nil) }

// NewStrict is New with one more check of each body: extra returns the rule that it breaks and
// the provider's message, "" if it breaks none. extra may be nil.
func NewStrict(script Script, extra func(body []byte) (rule, message string)) *Server {
	return start(&Server{script: script, extra: extra, known: Known{}.clone()})
}

// NewKnown is New with the content that the server issued earlier to [FirstAccount].
func NewKnown(script Script, known Known) *Server {
	return start(&Server{script: script, known: known.clone()})
}

func start(s *Server) *Server {
	if s.script == nil {
		s.script = Plain
	}
	s.account, s.bindings = FirstAccount, Bindings{}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	return s
}

// Close stops the server after it has sent pending answers.
func (s *Server) Close() { s.http.Close() }

// Calls returns the requests so far, in order.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// SetAccount sets the account of the next requests.
func (s *Server) SetAccount(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.account = name
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	setting, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	api := settings[setting]
	if api == nil || r.Method != http.MethodPost || setting == "v1" && path != "messages" {
		refuse(w, http.StatusNotFound, "not_found_error", "Not found: "+r.Method+" "+r.URL.Path)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has disconnected
	}
	request, err := api.parse(s, setting, path, body)
	n, broken := s.record(setting, body, request, err)
	switch {
	case err != nil:
		refuse(w, http.StatusBadRequest, "invalid_request_error", err.Error())
	case len(broken) > 0:
		request.refuse(w, broken[0])
	default:
		request.answer(w, s, n)
	}
}

// record records a body before anything is sent, so that a client that has the answer finds its call in
// Calls. It returns the call's number and its violations.
func (s *Server) record(setting string, body []byte, request parsedRequest, err error) (int, []Violation) {
	call := Call{Raw: body}
	if err != nil {
		call.Violations = []Violation{{"json", err.Error()}}
	} else {
		call.Title, call.Violations = request.IsTitle(), request.violations()
	}
	if r, ok := request.(conversation); ok {
		call.Request = r.Request
		for _, b := range r.unbound {
			call.Unbound = append(call.Unbound, b.path())
		}
	}
	if v, half := halfPair(setting, body); half {
		call.Violations = slices.Insert(call.Violations, 0, v)
	}
	if s.extra != nil {
		if rule, message := s.extra(body); rule != "" {
			call.Violations = slices.Insert(call.Violations, 0, Violation{rule, message})
		}
	}
	if len(body) > largestRequest {
		call.Violations = slices.Insert(call.Violations, 0, Violation{tooLarge, "Request exceeds the maximum size"})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	call.N = len(s.calls) + 1
	if len(call.Violations) > 0 {
		call.Rule, call.Message = call.Violations[0].Rule, call.Violations[0].Message
	}
	s.calls = append(s.calls, call)
	return call.N, call.Violations
}

// answers returns Anthropic's answers so far.
func (s *Server) answers() []Content {
	s.mu.Lock()
	defer s.mu.Unlock()
	var previous []Content
	for _, c := range s.calls {
		previous = append(previous, c.Answer)
	}
	return previous
}

// largestRequest is the maximum number of bytes of a request, and tooLarge the code of that rule.
const (
	largestRequest = 32 << 20
	tooLarge       = "R26"
)

// Refused returns the codes of all rules, each once, that make a provider refuse a request to a setting and a model.
// known is what the provider has issued.
func Refused(setting, model string, body []byte, known Known) ([]string, error) {
	paths := map[string]string{"openai": "responses", "gemini": "models/" + model + ":streamGenerateContent", "bedrock": "model/" + model + "/converse-stream"}
	path, ok := paths[setting]
	if !ok {
		path = "chat/completions"
	}
	request, err := settings[setting].parse(&Server{known: known, account: FirstAccount}, setting, path, body)
	if err != nil {
		return nil, err
	}
	var codes []string
	if v, half := halfPair(setting, body); half {
		codes = append(codes, v.Rule)
	}
	for _, v := range request.violations() {
		codes = append(codes, v.Rule)
	}
	return codes, nil
}

type object = map[string]any

// refuse answers with an error in Anthropic's form.
func refuse(w http.ResponseWriter, status int, kind, message string) {
	reply(w, status, object{"type": "error", "error": object{"type": kind, "message": message}})
}

// reply sends a JSON answer.
func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // an error: the client has disconnected
}

// events writes server-sent events.
type events struct{ w http.ResponseWriter }

func newEvents(w http.ResponseWriter) events {
	w.Header().Set("Content-Type", "text/event-stream")
	return events{w}
}

// send writes an event. An error means that the client has disconnected.
func (e events) send(name string, v any) {
	data, _ := json.Marshal(v) // decoded JSON, strings and numbers
	if name != "" {
		_, _ = fmt.Fprintf(e.w, "event: %s\n", name)
	}
	_, _ = fmt.Fprintf(e.w, "data: %s\n\n", data)
}
