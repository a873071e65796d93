//go:build e2e

package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mend/internal/endpoint"
	"mend/internal/opencode"
	"mend/internal/wound"
	"mend/testdata"
)

// mendHome runs mend on the store of a scratch home, with a journal of its own,
// and returns the exit code and what it printed.
func mendHome(t *testing.T, h *opencode.Home, journal string, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	a := &app{terminal: terminal{in: &bytes.Buffer{}, out: &out, err: &out}}
	root := a.root()
	a.opt.Journal, a.opt.Cache = journal, t.TempDir()
	root.SetArgs(append(args, "--store", h.DataDir()))
	return a.report(root.ExecuteContext(t.Context())), out.String()
}

// Each wound of the four classes is cut into the store of the real program,
// which then refuses or fails; mend repairs it, and the program goes on; undo
// gives every byte back, and the program fails as before.
func TestRealProgram(t *testing.T) {
	exe, err := opencode.Install("1.1.53")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		wound  string
		args   []string // of repair, besides the session
		before string   // what becomes of a prompt: opencode.Alive, or the rule
	}{
		{"tool running", []string{"--latent"}, opencode.Alive},
		{"tool pending", []string{"--class", "tool_result_missing"}, opencode.Alive},
		{"reasoning behind tool", nil, "R1"},
		{"reasoning last", nil, "R10"},
		{"blank answer", nil, "R11"},
		{"blank prompt", nil, "R11"},
		{"blank text beside tool", nil, "R11"},
		{"empty answer", nil, "R10"},
		{"answer of reasoning only", nil, "R10"},
		{"last answer of reasoning only", nil, "R10"},
		{"first prompt lost its parts", nil, "R16"},
		{"altered reasoning", []string{"--class", "thinking_disabled_violation"}, "R7"},
	} {
		t.Run(c.wound, func(t *testing.T) {
			t.Parallel()
			api := endpoint.New(nil)
			t.Cleanup(api.Close)
			h := opencode.New(t, exe, api, true)
			session := h.Unpack(testdata.OpenCode1153)
			i := slices.IndexFunc(wound.Table, func(w wound.Wound) bool { return w.Name == c.wound })
			wound.Table[i].Cut(h.Store(session))
			journal := filepath.Join(t.TempDir(), "journal")
			storage := filepath.Join(h.DataDir(), "storage")

			prompt := func(when, want string) {
				t.Helper()
				if r := h.Continue(session, "one more"); r.Verdict != want {
					t.Fatalf("a prompt %s = %s, want %s; output:\n%s", when, r.Verdict, want, r.Output)
				}
			}
			run := func(args ...string) {
				t.Helper()
				if code, out := mendHome(t, h, journal, args...); code != exitDone {
					t.Fatalf("mend %v: exit code %d:\n%s", args, code, out)
				}
			}
			prompt("before the repair", c.before)
			wounded, err := wound.Snapshot(storage)
			if err != nil {
				t.Fatal(err)
			}
			run(append([]string{"repair", session}, c.args...)...)
			run("undo", "--session", session)
			if restored, err := wound.Snapshot(storage); err != nil || !cmp.Equal(wounded, restored) {
				t.Fatalf("undo did not restore the store: %v\n%s", err, cmp.Diff(wounded, restored))
			}
			prompt("after undo", c.before)
			run(append([]string{"repair", session}, c.args...)...)
			prompt("after the repair", opencode.Alive)
			run("verify")
		})
	}
}
