//go:build e2e

package main

import (
	"slices"
	"strings"
	"testing"

	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
	"mend/testdata"
)

// TestLiveScreen: if a session is damaged between two prompts that the user types, the user sees the answer, and no
// error.
func TestLiveScreen(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the TUI takes long")
	}
	exe, err := opencode.Install("1.18.33")
	if err != nil {
		t.Fatal(err)
	}
	api := endpoint.New(uniqueAnswer)
	t.Cleanup(api.Close)
	h := opencode.New(t, exe, api, true)
	session := h.Unpack(testdata.OpenCode11833)
	installPlugin(t, h)
	configure(t, h, `{"preflightMs": 20000}`) // on a busy machine
	s := h.Open("--session", session)
	waitFor(t, "the session on the screen", func() bool { return strings.Contains(s.Shown(), "Hello 7.") })
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last screen:\n%s", s.Shown())
		}
	})
	prompt := func(name, note string) {
		t.Helper()
		shown := ""
		before := len(api.Calls())
		s.Type("say hello")
		waitFor(t, "the answer after "+name, func() bool {
			shown = s.Shown()
			return strings.Contains(shown, note) && slices.ContainsFunc(api.Calls()[before:], func(c endpoint.Call) bool {
				return !c.Request.IsTitle() && len(c.Answer) > 0 && strings.Contains(shown, c.Answer[len(c.Answer)-1].Text)
			})
		})
		t.Logf("%s:\n%s", name, shown)
		for _, bad := range []string{"messages:", "messages.", "Error", "must contain", "JSON"} {
			if strings.Contains(shown, bad) {
				t.Errorf("%s: the screen shows %q:\n%s", name, bad, shown)
			}
		}
	}
	prompt("no damage", "")
	for n, name := range []string{"blank answer", "reasoning last", "part of no bytes", "empty callID", "completed without output"} {
		damageSession(t, h, session, name)
		prompt(name, "Repaired before sending.")
		if got := countRepaired(h); got != n+1 {
			t.Errorf("%s: %d repairs, want %d; log:\n%s", name, got, n+1, readHookLogs(h))
		}
	}
}
