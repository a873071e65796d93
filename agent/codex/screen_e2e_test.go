//go:build e2e

package codex_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mend/agent"
	"mend/change"
	fixture "mend/internal/test/codex"
	"mend/internal/test/endpoint"
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

// TestRealMove: after a move the sandbox of Codex lets commands write to the new folder, not to the old one.
func TestRealMove(t *testing.T) {
	storetest.Long(t)
	h := newHome(t)
	before, after := h.In("before"), h.In("after")
	must(t, os.MkdirAll(before.Work(), 0o755))
	h.Write("config.toml", fmt.Appendf([]byte("sandbox_mode = \"workspace-write\"\n"), "%s\n[projects.%q]\ntrust_level = \"trusted\"\n", h.Config(), after.Work()))
	out, err := before.Command(t.Context(), "exec", "--skip-git-repo-check", "begin here").CombinedOutput()
	m := regexp.MustCompile(`session id: ([0-9a-f-]{36})`).FindSubmatch(out)
	if err != nil || m == nil {
		t.Fatalf("%v: %s", err, out)
	}
	must(t, os.Rename(before.Work(), after.Work()))
	s, err := openStore(h)
	must(t, err)
	c := open(t, h, t.TempDir())
	head, err := c.Session(t.Context(), string(m[1]))
	must(t, err)
	must(t, s.Move(t.Context(), []agent.Relocation{{Head: head, To: after.Work()}}, func(p change.Plan) error {
		apply(t, c, p)
		return nil
	}))
	keys := []string{"", "hello there", "\r"}
	typed := func(shown string) (next string) {
		if len(keys) > 0 && strings.Contains(shown, "begin here") {
			next, keys = keys[0], keys[1:]
		}
		return next
	}
	sent := len(h.API.Calls())
	shown, kill := after.ScreenType(typed, func(string) bool { return len(h.API.Calls()) > sent }, "resume", "--no-daemon", head.ID)
	kill()
	calls := h.API.Calls()
	roots := regexp.MustCompile(`<workspace_roots><root>([^<]*)`).FindAllStringSubmatch(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(calls[len(calls)-1].Raw)), -1)
	if len(roots) == 0 || roots[len(roots)-1][1] != after.Work() {
		t.Errorf("the folders are %q:\n%s", roots, shown)
	}
}

// TestRealRewind: after the user went back to an earlier prompt, mend predicts the request, also without the index.
func TestRealRewind(t *testing.T) {
	storetest.Long(t)
	h := newHome(t)
	keys := []string{"\x1b", "\x1b", "h", "\r", " instead", "\r"}
	typed := func(shown string) (next string) {
		if len(keys) > 0 && (len(keys) < 6 || strings.Contains(shown, "zero more")) {
			next, keys = keys[0], keys[1:]
		}
		return next
	}
	answered := func(string) bool {
		all, _ := filepath.Glob(filepath.Join(h.Root(), "sessions/*/*/*/*_*.jsonl"))
		if len(all) == 0 {
			return false
		}
		data, err := os.ReadFile(all[0])
		return err == nil && strings.Contains(string(data), "task_complete")
	}
	shown, kill := h.ScreenType(typed, answered, "resume", "--no-daemon", testdata.CodexSession)
	kill()
	if !answered("") {
		t.Fatalf("going back began no rollout:\n%s", shown)
	}
	restore := h.Save()
	moved, before := h.In("moved"), files(t, h)
	must(t, os.MkdirAll(moved.Work(), 0o755))
	s, err := openStore(h)
	must(t, err)
	c := open(t, h, t.TempDir())
	lists := func(in *fixture.Home) bool {
		shown, kill := in.Screen(func(shown string) bool { return strings.Contains(shown, " 1 / 1 ") }, "resume", "--no-daemon", "--include-non-interactive")
		kill()
		return strings.Contains(shown, " 1 / 1 ")
	}
	must(t, s.Move(t.Context(), []agent.Relocation{{Head: session(t, c), To: moved.Work()}}, func(p change.Plan) error {
		id := apply(t, c, p)
		want, undone := expectedItems(t, c, session(t, c)), h.Save()
		for _, removed := range []string{"none", "state_5.sqlite"} {
			undone()
			for _, suffix := range []string{"", "-wal", "-shm"} {
				must(t, os.RemoveAll(filepath.Join(h.Root(), removed+suffix)))
			}
			if !lists(moved) || lists(h) {
				t.Errorf("after the move, without %s, the picker does not list the session in the new folder alone", removed)
			}
			got := moved.Prompt("--last", "moved")
			if diff := gocmp.Diff(want, short(got.Items)); diff != "" || got.Fate() != "alive" {
				t.Errorf("after the move, without %s, the session is %s; the request differs (-predicted +seen):\n%s", removed, got.Fate(), diff)
			}
		}
		undone()
		undo(t, c, id)
		if diff := gocmp.Diff(before, files(t, h)); diff != "" {
			t.Errorf("after the undo: %s", diff)
		}
		return nil
	}))
	restore()
	h.API.SetAccount("another") // which cannot read the reasoning from before the user went back
	refused := h.Prompt(testdata.CodexSession, "refused")
	restore()
	c = open(t, h, t.TempDir())
	e := c.ParseAPIError([]byte(refused.Message))
	r, err := c.ProposeRepair(t.Context(), session(t, c), repair.Request{Error: &e, All: true})
	must(t, err)
	id := apply(t, c, r.Plan)
	repaired, want := h.Save(), expectedItems(t, c, session(t, c))
	got := h.Prompt(testdata.CodexSession, "repaired")
	if diff := gocmp.Diff(want, short(got.Items)); refused.Rule != "O8" || got.Fate() != "alive" || diff != "" {
		t.Errorf("refused with %s, after the repair the session is %s: %s; the request differs (-predicted +seen):\n%s", refused.Rule, got.Fate(), got.Output, diff)
	}
	repaired()
	undo(t, c, id)
	if diff := gocmp.Diff(before, files(t, h)); diff != "" {
		t.Errorf("after the undo of the repair: %s", diff)
	}
	h.API.SetAccount(endpoint.FirstAccount)
	for _, prompt := range []string{"with the index", "without it"} {
		if prompt == "without it" {
			must(t, os.Remove(filepath.Join(h.Root(), "state_5.sqlite")))
		}
		c := open(t, h, t.TempDir())
		want := expectedItems(t, c, session(t, c))
		got := h.Prompt(testdata.CodexSession, prompt)
		if diff := gocmp.Diff(want, short(got.Items)); diff != "" || got.Fate() != "alive" || !strings.Contains(strings.Join(want, "\n"), "instead") {
			t.Errorf("%s the session is %s; the request differs (-predicted +seen):\n%s", prompt, got.Fate(), diff)
		}
	}
}
