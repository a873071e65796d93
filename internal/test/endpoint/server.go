package endpoint

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
)

// A Server is the provider: it checks each request, answers it from its script, and records
// both. It is safe for concurrent use.
type Server struct {
	// URL is the base URL of the API, such as http://127.0.0.1:4096; the Messages API is at
	// URL/v1/messages.
	URL string

	http   *httptest.Server
	script Script
	extra  func(body []byte) (rule, message string)

	mu    sync.Mutex
	calls []Call
}

// A Call is one request with its answer.
type Call struct {
	N       int     // its number, from 1
	Raw     []byte  // the body as it was sent
	Request Request // the body, read
	Rule    string  // the rule it broke, "json" if it is no request at all, or ""
	Message string  // the provider's message for that
	Answer  Content // if it broke none
}

// New starts a server on a free port of loopback; a nil script is [Plain].
// It panics if there is no such port, as httptest does.
func New(script Script) *Server { return NewStrict(script, nil) }

// NewStrict is New with one more check of each body: extra returns the rule that it breaks and
// the provider's message, "" if it breaks none. extra may be nil.
func NewStrict(script Script, extra func(body []byte) (rule, message string)) *Server {
	if script == nil {
		script = Plain
	}
	s := &Server{script: script, extra: extra}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.messages)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "not_found_error", "Not found: "+r.Method+" "+r.URL.Path)
	})
	s.http = httptest.NewServer(mux)
	s.URL = s.http.URL
	return s
}

// Close stops the server after it has sent pending answers.
func (s *Server) Close() { s.http.Close() }

// Calls returns the requests so far, in the order they came.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// messages answers POST /v1/messages.
func (s *Server) messages(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has disconnected
	}
	call := s.respond(body)
	switch {
	case call.Rule == tooLarge:
		refuse(w, http.StatusRequestEntityTooLarge, "request_too_large", call.Message)
	case call.Rule != "":
		refuse(w, http.StatusBadRequest, "invalid_request_error", call.Message)
	case call.Request.Stream:
		w.Header().Set("Content-Type", "text/event-stream")
		_ = stream(w, call.N, call.Request.Model, call.Answer) // an error: the client has disconnected
	default:
		reply(w, http.StatusOK, message(call.N, call.Request.Model, call.Answer))
	}
}

// respond checks a body and records it with its answer before anything is sent: a client
// that has the answer finds its call in Calls. While the script blocks, the call is there
// without its answer.
func (s *Server) respond(body []byte) Call {
	call := s.record(body)
	if call.Rule != "" {
		return call
	}
	call.Answer = s.script(call.N, call.Request)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[call.N-1] = call
	return call
}

// record records a body with the rule that it breaks.
func (s *Server) record(body []byte) Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	call := Call{N: len(s.calls) + 1, Raw: body}
	switch {
	case len(body) > largestRequest:
		call.Rule, call.Message = tooLarge, "Request exceeds the maximum size"
	case s.extra != nil:
		call.Rule, call.Message = s.extra(body)
	}
	var err error
	if call.Request, err = Parse(body); call.Rule != "" {
	} else if err != nil {
		call.Rule, call.Message = "json", err.Error()
	} else {
		call.Rule, call.Message = Check(call.Request, s.answersLocked()...)
	}
	s.calls = append(s.calls, call)
	return call
}

// answersLocked returns the answers so far. The caller holds s.mu.
func (s *Server) answersLocked() []Content {
	var previous []Content
	for _, c := range s.calls {
		previous = append(previous, c.Answer)
	}
	return previous
}

// largestRequest is the number of bytes of the largest request, and tooLarge the rule that says so.
const (
	largestRequest = 32 << 20
	tooLarge       = "R26"
)

// refuse answers with an error in the provider's form.
func refuse(w http.ResponseWriter, status int, kind, message string) {
	reply(w, status, object{"type": "error", "error": object{"type": kind, "message": message}})
}

// reply sends a JSON answer.
func reply(w http.ResponseWriter, status int, answer object) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // an error: the client has disconnected
}
