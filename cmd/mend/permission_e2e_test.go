//go:build e2e

package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/opencode"
)

// TestRealPermission: without the permission rules of a session, the real program offers the model a tool that they
// deny, and mend reports that loss.
func TestRealPermission(t *testing.T) {
	if testing.Short() {
		t.Skip("three prompts")
	}
	const version = "1.18.33" // 1.2.27 offers the tool in any case, and denies the call
	h := newAnswered(t, version)
	session := h.Unpack(fixtures[2])
	h.SQL("update session set directory = ?", h.Project())
	offered := func() bool {
		t.Helper()
		r := h.Continue(session, "one more")
		if r.Verdict != opencode.Alive || len(r.Calls) == 0 {
			t.Fatalf("the prompt = %s: %s", r.Verdict, r.Output)
		}
		return bytes.Contains(r.Calls[0].Raw, []byte(`"name":"webfetch"`))
	}
	const deny = `[{"permission":"webfetch","pattern":"*","action":"deny"}]`
	h.SQL("update session set permission = ?", deny)
	if offered() {
		t.Fatal("a tool that the session denies is offered")
	}
	h.SQL("update session set permission = ?", deny[:30])
	code, out := runMend(t, filepath.Join(h.DataDir(), "opencode.db"), filepath.Join(t.TempDir(), "journal"), "repair", session, "--yes", "--force", "--agent-version", version)
	if says := strings.Contains(strings.Join(strings.Fields(out), " "), "may allow what a lost rule denied"); code != frame.ExitDone || !says || !offered() {
		t.Errorf("mend fix: exit code %d, the loss is reported: %t, or the tool is not offered: %s", code, says, out)
	}
}
