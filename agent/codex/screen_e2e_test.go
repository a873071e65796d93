//go:build e2e

package codex_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/agent"
	fixture "mend/internal/test/codex"
	"mend/internal/test/storetest"
	"mend/repair"
	"mend/testdata"
)

// TestRealScreen shows that the picker lists a session again that its row hides, and that nothing is changed of a session that
// the program has open.
func TestRealScreen(t *testing.T) {
	storetest.InTurn(t, 0)
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
	for _, d := range fixture.Damages() {
		if d.Name == "an ordinal twice" {
			h.Damage(d)
		}
	}
	lock := filepath.Join(h.Root(), "thread-writer-locks", testdata.CodexSession+".lock")
	_, kill := h.Screen(func(string) bool { _, err := os.Stat(lock); return err == nil }, "resume", "--no-daemon", testdata.CodexSession)
	defer kill()
	head := session(t, c)
	if r, err = c.ProposeRepair(t.Context(), head, repair.Request{Latent: true, Force: true}); err != nil || len(r.Plan.Ops) == 0 {
		t.Fatalf("the plan has %d ops, error %v", len(r.Plan.Ops), err)
	}
	before := files(t, h)
	if _, err := c.Apply(t.Context(), r.Plan); err == nil {
		t.Error("a session was changed that the program has open")
	}
	if now := files(t, h); now[h.Rollout()] != before[h.Rollout()] {
		t.Error("the rollout was changed")
	}
	kill()
	r, err = c.ProposeRepair(t.Context(), session(t, c), repair.Request{Latent: true})
	if err != nil {
		t.Fatal(err)
	}
	apply(t, c, r.Plan)
	if r := h.Prompt(testdata.CodexSession, "one more"); r.Fate() != "alive" {
		t.Errorf("it is %s: %s", r.Fate(), r.Output)
	}
}

// TestRealMove shows that the newest session of a folder is the one that was moved there.
func TestRealMove(t *testing.T) {
	storetest.InTurn(t, 2)
	h := newHome(t)
	c := open(t, h, t.TempDir())
	head := session(t, c)
	to := filepath.Join(h.Root(), "../elsewhere")
	if err := os.Mkdir(to, 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := openStore(h)
	if err != nil {
		t.Fatal(err)
	}
	plans, err := s.Move(t.Context(), []agent.Relocation{{Head: head, To: to}})
	if err != nil || len(plans) != 1 {
		t.Fatalf("%d plans, error %v", len(plans), err)
	}
	apply(t, c, plans[0])
	if is := session(t, c).Directory; is != to {
		t.Errorf("the session is of %s, want %s", is, to)
	}
	if rows := h.Rows(); !strings.Contains(rows, "cwd=\""+to+"\"") {
		t.Errorf("the row is %s", rows)
	}
	r := h.In("elsewhere").Prompt("--last", "one more")
	if r.Fate() != "alive" || !strings.Contains(r.Output, testdata.CodexSession) {
		t.Errorf("the newest session of the folder is another one: %s", r.Output)
	}
}
