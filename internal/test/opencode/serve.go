package opencode

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// listenLine finds the address in the output of "opencode serve".
var listenLine = regexp.MustCompile(`listening on (http://127\.0\.0\.1:[0-9]+)`)

// A Server is a running "opencode serve".
type Server struct {
	URL string // its HTTP API, without a path

	// NameModel makes prompts name the agent and the model, as the TUI does.
	NameModel bool

	home *Home
	dir  string // the folder of each request; "" for the folder that the server was started in
	stop func()
}

// In returns the same server for requests about another folder.
func (s *Server) In(dir string) *Server {
	other := *s
	other.dir = dir
	return &other
}

// NewSession creates a session in the folder.
func (s *Server) NewSession() (id string) { return s.newSession(map[string]any{}) }

// NewChild creates a session in the folder, as the session of a subagent of another session.
func (s *Server) NewChild(parent string) (id string) {
	return s.newSession(map[string]any{"parentID": parent})
}

func (s *Server) newSession(with map[string]any) (id string) {
	s.home.t.Helper()
	with["title"] = "A title" // otherwise the program writes one at any time
	status, reply := s.post(s.home.t.Context(), "/session", with)
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(reply), &made); err != nil || made.ID == "" {
		s.home.t.Fatalf("a new session: %d %s", status, reply)
	}
	return made.ID
}

// Listed returns the ids of the sessions that the program lists for the folder, without archived ones.
func (s *Server) Listed() (ids []string) {
	s.home.t.Helper()
	status, reply := s.do(s.home.t.Context(), http.MethodGet, "/session", nil)
	var all []struct {
		ID   string
		Time struct{ Archived float64 }
	}
	if err := json.Unmarshal([]byte(reply), &all); err != nil {
		s.home.t.Fatalf("the list of sessions: %d %s", status, reply)
	}
	for _, one := range all {
		if one.Time.Archived == 0 {
			ids = append(ids, one.ID)
		}
	}
	return ids
}

// Archive archives a session.
func (s *Server) Archive(id string) {
	s.home.t.Helper()
	body := `{"time":{"archived":1764000000000}}`
	if status, reply := s.do(s.home.t.Context(), http.MethodPatch, "/session/"+id, strings.NewReader(body)); status != http.StatusOK {
		s.home.t.Fatalf("archiving session %s: %d %s", id, status, reply)
	}
}

// Children returns the ids and the folders of the sessions of a session's subagents.
func (s *Server) Children(id string) map[string]string {
	s.home.t.Helper()
	status, reply := s.do(s.home.t.Context(), http.MethodGet, "/session/"+id+"/children", nil)
	var all []struct{ ID, Directory string }
	if err := json.Unmarshal([]byte(reply), &all); err != nil {
		s.home.t.Fatalf("the children of session %s: %d %s", id, status, reply)
	}
	folders := map[string]string{}
	for _, one := range all {
		folders[one.ID] = one.Directory
	}
	return folders
}

// startTimeout is the limit for the server's start, and then for its first prompt; on a quiet machine it
// takes two seconds.
const startTimeout = 3 * time.Minute

// Serve starts OpenCode's server on a free port of loopback and waits until it listens. It ends with the
// test, or with Close. OpenCode's default port might be used by another server.
func (h *Home) Serve() *Server { return h.ServeAt("") }

// ServeAt is Serve on a given port of loopback. It retries for a while, because the port may be in use.
func (h *Home) ServeAt(port string) *Server {
	h.t.Helper()
	for end := time.Now().Add(2 * timeout); ; time.Sleep(500 * time.Millisecond) {
		s, output := h.serve(cmp.Or(port, h.freePort()))
		if s != nil {
			return s
		}
		if time.Now().After(end) {
			h.t.Fatalf("opencode serve did not listen; it wrote: %s", output)
		}
	}
}

// freePort returns an unused port of loopback.
func (h *Home) freePort() string {
	h.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatalf("finding a free port: %v", err)
	}
	defer func() { _ = l.Close() }()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// serve starts a server, and returns its output if it does not listen.
func (h *Home) serve(port string) (s *Server, wrote string) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, w := io.Pipe()
	cmd := h.command(ctx, "serve", "--hostname", "127.0.0.1", "--port", port)
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		cancel()
		h.t.Fatalf("starting opencode serve: %v", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.CloseWithError(cmd.Wait())
	}()
	s = &Server{home: h, stop: sync.OnceFunc(func() { cancel(); <-done })}
	h.t.Cleanup(s.Close)

	timer := time.AfterFunc(startTimeout, s.Close)
	defer timer.Stop()
	var output strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		output.WriteString(lines.Text() + "\n")
		if m := listenLine.FindStringSubmatch(lines.Text()); m != nil {
			s.URL = m[1]
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return s, ""
		}
	}
	s.Close()
	return nil, output.String()
}

// Close kills the server and its children, and waits for its end.
func (s *Server) Close() { s.stop() }

// Prompt sends a prompt in a session and waits for the answer. Output is the
// server's reply, Code its HTTP status or -1 if there was none.
func (s *Server) Prompt(session, prompt string) Result { return s.prompt(session, prompt, timeout) }

func (s *Server) prompt(session, prompt string, wait time.Duration) Result {
	h := s.home
	h.t.Helper()
	before := len(h.api.Calls())
	ctx, cancel := context.WithTimeout(h.t.Context(), wait)
	defer cancel()
	body := map[string]any{"parts": []any{map[string]any{"type": "text", "text": prompt}}}
	if s.NameModel {
		body["agent"], body["model"] = "build", map[string]any{"providerID": "anthropic", "modelID": "claude-fake"}
	}
	status, reply := s.post(ctx, "/session/"+session+"/message", body)
	r := h.resultSince(before)
	r.Session, r.Output, r.Code, r.TimedOut = session, reply, status, ctx.Err() != nil
	return r
}

// post sends a JSON body and returns the reply, or the error as text.
func (s *Server) post(ctx context.Context, path string, body any) (status int, reply string) {
	s.home.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		s.home.t.Fatalf("encoding request: %v", err)
	}
	return s.do(ctx, http.MethodPost, path, bytes.NewReader(data))
}

// postFor is like post, but gives up after a time.
func (s *Server) postFor(wait time.Duration, path string, body any) (status int, reply string) {
	ctx, cancel := context.WithTimeout(s.home.t.Context(), wait)
	defer cancel()
	return s.post(ctx, path, body)
}

// do sends a request and returns the reply, or the error as text.
func (s *Server) do(ctx context.Context, method, path string, body io.Reader) (status int, reply string) {
	if s.dir != "" {
		path += "?directory=" + url.QueryEscape(s.dir)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, body)
	if err != nil {
		return -1, err.Error()
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return -1, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return -1, err.Error()
	}
	return resp.StatusCode, string(text)
}
