//go:build e2e

package main

import (
	"bytes"
	"net/http"
	"path/filepath"
	"testing"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
)

// TestRealRefusedCompaction: if the provider refuses a compaction, the real program repeats it before each prompt.
// After the repair it answers, and after the undo it does not.
func TestRealRefusedCompaction(t *testing.T) {
	const version, text = "1.18.34", "The request was blocked by the content policy."
	exe, err := opencode.Install(version)
	if err != nil {
		t.Fatal(err)
	}
	api := endpoint.NewStrict(nil, func(body []byte) (rule, message string) {
		if !bytes.Contains(body, []byte(`"tools"`)) {
			return "policy", text
		}
		return "", ""
	})
	t.Cleanup(api.Close)
	h := opencode.New(t, exe, api, false)
	server := h.Serve()
	session := server.NewSession()
	prompt := func(want bool) {
		t.Helper()
		if r := server.Prompt(session, "one more"); (r.Verdict == opencode.Alive) != want {
			t.Fatalf("the program is %s: %.500s", r.Verdict, r.Output)
		}
	}
	prompt(true)
	callServer(t, server, http.MethodPost, "/session/"+session+"/summarize", map[string]any{"providerID": "anthropic", "modelID": "claude-fake"}, nil)
	prompt(false)
	store, journal := filepath.Join(h.DataDir(), "opencode.db"), filepath.Join(t.TempDir(), "journal")
	mend := func(args ...string) {
		t.Helper()
		if code, out := runMend(t, store, journal, args...); code != frame.ExitDone {
			t.Fatalf("mend %q: exit code %d: %s", args, code, out)
		}
	}
	mend("fix", text, "--yes", "--force")
	mend("undo", "--yes", "--force")
	prompt(false)
	mend("fix", session, "--yes", "--force")
	prompt(true)
	prompt(true)
}
