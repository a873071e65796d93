package opencode

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"mend/internal/test/endpoint"
)

// TestNew: the configuration names the endpoint and whether the model thinks. The environment has no variable of the
// test.
func TestNew(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "a secret")
	api := endpoint.New(nil)
	t.Cleanup(api.Close)
	for _, thinking := range []bool{true, false} {
		h := New(t, "opencode", api, thinking)
		data, err := os.ReadFile(h.path(".config/opencode/opencode.json"))
		if err != nil || !json.Valid(data) {
			t.Fatalf("configuration: %v: %s", err, data)
		}
		if !strings.Contains(string(data), `"`+api.URL+`/v1"`) || strings.Contains(string(data), `"budgetTokens"`) != thinking {
			t.Errorf("configuration with thinking %t: %s", thinking, data)
		}
		if env := strings.Join(h.env(), "\n"); strings.Contains(env, "secret") || !strings.Contains(env, "HOME="+h.dir+"\n") {
			t.Errorf("environment: %s", env)
		}
	}
}

// TestResultSince: the verdict is the result of the last request that is not for a title, after the given number of
// requests.
func TestResultSince(t *testing.T) {
	const (
		good  = `{"tools":[{}],"messages":[{"role":"user","content":"hi"}]}`
		bad   = `{"tools":[{}],"messages":[{"role":"user","content":" "}]}`
		title = `{"messages":[{"role":"user","content":"hi"}]}`
	)
	for _, c := range []struct {
		name, want string
		bodies     []string
	}{
		{"nothing", Dead, nil},
		{"a title alone", Dead, []string{title}},
		{"accepted", Alive, []string{title, good, title}},
		{"refused", "R11", []string{good, bad, title}},
		{"accepted at last", Alive, []string{bad, good}},
		{"no request", "json", []string{good, "{"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := endpoint.New(nil)
			t.Cleanup(api.Close)
			h := New(t, "opencode", api, false)
			for _, body := range append([]string{bad}, c.bodies...) {
				resp, err := http.Post(api.URL+"/v1/messages", "application/json", strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
			}
			if got := h.resultSince(1); got.Verdict != c.want {
				t.Errorf("resultSince = %s, want %s", got.Verdict, c.want)
			}
		})
	}
}
