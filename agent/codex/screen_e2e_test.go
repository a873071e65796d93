//go:build e2e

package codex_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	fixture "mend/internal/test/codex"
	"mend/internal/test/storetest"
	"mend/repair"
	"mend/testdata"
)

// TestRealScreen: after a repair the picker lists a session that its row had hidden. mend changes nothing in a session
// that Codex has open.
func TestRealScreen(t *testing.T) {
	storetest.Long(t)
	h := newHome(t)
	lists := func(shown string) bool { return strings.Contains(shown, "please TOOL") }
	picker := func() string {
		shown, kill := h.Screen(lists, "resume", "--no-daemon", "--all", "--include-non-interactive")
		kill()
		return shown
	}
	if shown := picker(); !lists(shown) {
		t.Fatalf("the picker does not list the healthy session:\n%s", shown)
	}
	h.SQL("UPDATE threads SET first_user_message = '', preview = '', title = ''")
	if shown := picker(); lists(shown) {
		t.Errorf("the picker lists a session whose row has no first message:\n%s", shown)
	}
	c := open(t, h, t.TempDir())
	r, err := c.ProposeRepair(t.Context(), session(t, c), repair.Request{})
	if err != nil || len(r.Plan.Ops) != 1 {
		t.Fatalf("the plan has %d ops, error %v", len(r.Plan.Ops), err)
	}
	apply(t, c, r.Plan)
	if shown := picker(); !lists(shown) {
		t.Errorf("after the repair the picker does not list the session:\n%s", shown)
	}
	h.Damage(fixture.ByName("an ordinal twice"))
	lock := filepath.Join(h.Root(), "thread-writer-locks", testdata.CodexSession+".lock")
	_, kill := h.Screen(func(string) bool { _, err := os.Stat(lock); return err == nil }, "resume", "--no-daemon", testdata.CodexSession)
	defer kill()
	head := session(t, c)
	if r, err = c.ProposeRepair(t.Context(), head, repair.Request{Latent: true, Force: true}); err != nil || len(r.Plan.Ops) == 0 {
		t.Fatalf("the plan has %d ops, error %v", len(r.Plan.Ops), err)
	}
	before := files(t, h)
	if _, err := c.Apply(t.Context(), r.Plan); err == nil {
		t.Error("a session was changed that Codex has open")
	}
	if now := files(t, h); now[h.Rollout()] != before[h.Rollout()] {
		t.Error("the rollout was changed")
	}
	kill()
	r, err = c.ProposeRepair(t.Context(), session(t, c), repair.Request{Latent: true})
	must(t, err)
	apply(t, c, r.Plan)
	if r := h.Prompt(testdata.CodexSession, "one more"); r.Fate() != "alive" {
		t.Errorf("after the repair the session is %s: %s", r.Fate(), r.Output)
	}
}
