//go:build e2e

package codex_test

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mend/internal/test/storetest"
	"mend/repair"
	"mend/testdata"
)

// TestRealTrimTurns sets aside all turns except the newest: Codex sends the first prompt with a note, and none of the
// other turns. The screen shows the next prompts. An undo restores each byte.
func TestRealTrimTurns(t *testing.T) {
	storetest.Long(t)
	h := newHome(t)
	restore := h.Save()
	long := h.Prompt(testdata.CodexSession, "one more")
	restore()
	c, before := open(t, h, t.TempDir()), files(t, h)
	trimmed, err := c.ProposeTrim(t.Context(), session(t, c), repair.TrimRequest{Hard: true, Goal: 1, KeepTurns: 1})
	if err != nil || len(trimmed.Turns) < 2 {
		t.Fatalf("set aside: %+v, %v", trimmed.Turns, err)
	}
	id := apply(t, c, trimmed.Plan)
	undo(t, c, id)
	if diff := gocmp.Diff(before, files(t, h)); diff != "" {
		t.Errorf("after the undo: %s", diff)
	}
	if trimmed, err = c.ProposeTrim(t.Context(), session(t, c), repair.TrimRequest{Hard: true, Goal: 1, KeepTurns: 1}); err != nil {
		t.Fatal(err)
	}
	apply(t, c, trimmed.Plan)
	short := h.Prompt(testdata.CodexSession, "one more")
	sent := strings.Join(short.Items, "\n")
	if short.Fate() != "alive" || len(short.Items) >= len(long.Items) || !strings.Contains(sent, "taken out of this conversation") {
		t.Errorf("the session is %s: %d items, before %d:\n%s", short.Fate(), len(short.Items), len(long.Items), sent)
	}
	for _, turn := range trimmed.Turns[1:] {
		if strings.Contains(sent, strings.TrimSuffix(turn.Prompt, "…")) {
			t.Errorf("the prompt %q is still sent", turn.Prompt)
		}
	}
	next := ""
	for _, next = range []string{"two more", "three more"} {
		if got := h.Prompt(testdata.CodexSession, next); got.Fate() != "alive" {
			t.Fatalf("the session is %s: %s", got.Fate(), got.Output)
		}
	}
	all := func(shown string) bool {
		return strings.Contains(shown, "one more") && strings.Contains(shown, "two more") && strings.Contains(shown, next)
	}
	shown, kill := h.Screen(all, "resume", "--no-daemon", testdata.CodexSession)
	kill()
	if !all(shown) {
		t.Errorf("the screen lacks a prompt:\n%s", shown)
	}
}
