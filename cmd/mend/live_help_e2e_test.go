//go:build e2e

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"mend/internal/test/damage"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
	"mend/testdata"
)

var archives = map[string][]byte{"1.1.53": testdata.OpenCode1153, "1.18.33": testdata.OpenCode11833}

// onVersions runs a test with each version of OpenCode in archives. With -short it runs only the sample, if one is set.
func onVersions(t *testing.T, sample string, test func(t *testing.T, version string)) {
	t.Helper()
	for version := range archives {
		if testing.Short() && sample != "" && version != sample {
			continue
		}
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, version)
		})
	}
}

// A gate is a proxy of the provider that refuses requests with its own error texts.
type gate struct {
	mu     sync.Mutex
	refuse func(body string) (message string)
}

func (g *gate) set(refuse func(body string) string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refuse = refuse
}

// refuseIf refuses requests that contain a text, with the error message.
func refuseIf(text, message string) func(string) string {
	return func(body string) string {
		if strings.Contains(body, text) {
			return message
		}
		return ""
	}
}

// open puts the gate before a provider.
func (g *gate) open(t *testing.T, api *endpoint.Server) {
	t.Helper()
	target, err := url.Parse(api.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		g.mu.Lock()
		refuse := g.refuse
		g.mu.Unlock()
		if req, err := endpoint.Parse(body); refuse != nil && err == nil && !req.IsTitle() {
			if message := refuse(string(body)); message != "" {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				_ = json.NewEncoder(w).Encode(map[string]any{"type": "error", "error": map[string]any{"type": "invalid_request_error", "message": message}})
				return
			}
		}
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(string(body))), int64(len(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	api.URL = front.URL
}

// home returns a home with the fixture of a version, and a gate before its provider.
func home(t *testing.T, version string, thinking bool) (h *opencode.Home, session string, g *gate) {
	t.Helper()
	install, make, archive := opencode.Install, opencode.New, archives[version]
	if version == *kiloVersion {
		install, make, archive = opencode.InstallKilo, opencode.NewKilo, archives["1.18.33"]
	}
	exe, err := install(version)
	if err != nil {
		t.Fatal(err)
	}
	api := endpoint.New(nil)
	t.Cleanup(api.Close)
	g = &gate{}
	g.open(t, api)
	h = make(t, exe, api, thinking)
	return h, h.Unpack(archive), g
}

// damageSession applies a row of [damage.Table] to the session.
func damageSession(t *testing.T, h *opencode.Home, session, name string) {
	t.Helper()
	damage.ByName(t, name)(h.Store(session))
}

// A toastLog records the toasts of a server.
type toastLog struct {
	mu     sync.Mutex
	toasts []string
}

// followToasts records toasts until the test ends.
func followToasts(t *testing.T, server *opencode.Server) *toastLog {
	t.Helper()
	s := &toastLog{}
	followPayloads(t, server, func(payload json.RawMessage) {
		var e struct {
			Type       string
			Properties struct{ Message string }
		}
		if json.Unmarshal(payload, &e) == nil && e.Type == "tui.toast.show" {
			s.mu.Lock()
			s.toasts = append(s.toasts, e.Properties.Message)
			s.mu.Unlock()
		}
	})
	return s
}

// followPayloads calls accept for each event of a server until the test ends.
func followPayloads(t *testing.T, server *opencode.Server, accept func(payload json.RawMessage)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/global/event", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		defer resp.Body.Close()
		for lines := bufio.NewReader(resp.Body); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			var e struct{ Payload json.RawMessage }
			if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &e) == nil && len(e.Payload) > 0 {
				accept(e.Payload)
			}
		}
	}()
}

func (s *toastLog) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.toasts...)
}

// contains reports whether a toast with the text was shown.
func (s *toastLog) contains(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(strings.Join(s.toasts, "\n"), text)
}

// waitTimeout limits a wait on a busy machine.
const waitTimeout = 3 * time.Minute

// waitFor waits until done returns true.
func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(waitTimeout); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited too long for %s", what)
		}
	}
}

// mendExe returns the path of the mend that the stories run.
func mendExe() (string, error) { return exec.LookPath("mend") }

// mendCommand returns a command that runs mend on the store of a home, with its own
// journal and configuration.
func mendCommand(t *testing.T, h *opencode.Home, state string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := mendExe()
	if err != nil {
		t.Fatalf("finding mend: %v", err)
	}
	cmd := exec.Command(exe, append(args, "--store", h.DataDir())...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+state, "XDG_CACHE_HOME="+state, "XDG_CONFIG_HOME="+state)
	cmd.Stderr = t.Output()
	return cmd
}

func runJSON(t *testing.T, h *opencode.Home, state string, into any, args ...string) {
	t.Helper()
	out, err := mendCommand(t, h, state, append(args, "--json")...).Output()
	if err != nil {
		t.Fatalf("mend %v: %v: %s", args, err, out)
	}
	if err := json.Unmarshal(out, into); err != nil {
		t.Fatalf("mend %v: %v: %s", args, err, out)
	}
}
