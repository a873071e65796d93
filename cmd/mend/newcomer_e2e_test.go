//go:build e2e

package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mend/internal/test/damage"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
)

// TestNewcomer goes the way of a user who has nothing but an error on the screen: a session breaks
// in the real program, its error is pasted as it was printed, and the session goes on. No step
// names a session.
func TestNewcomer(t *testing.T) {
	for _, c := range []struct {
		name, version string
		apply         func(damage.Store)
		other         bool   // another session breaks the rule, too
		says          string // why mend takes the session
	}{
		{"a blank answer", "1.18.33", damage.Text(damage.Hello, " \n"), false, "its next request breaks this rule (R11) at messages.5.content.1."},
		{"a signature", "1.18.33", damage.ByName(t, "altered signature"), false, "its newest answer failed with this error."},
		{"a prompt cut in half", "1.18.33", damage.ByName(t, "prompt truncated"), false, "the agent fails on it with this error"},
		{"a prompt cut in half in a tree", "1.1.53", damage.ByName(t, "prompt truncated"), false, "the agent fails on it with this error"},
		{"one of two trees", "1.1.53", damage.Text(damage.Hello, " \n"), true, "its next request breaks this rule (R11) at messages.5.content.1, and its newest answer failed with this error."},
	} {
		t.Run(c.name, func(t *testing.T) {
			exe, err := opencode.Install(c.version)
			if err != nil {
				t.Fatal(err)
			}
			api := endpoint.New(nil)
			t.Cleanup(api.Close)
			h := opencode.New(t, exe, api, true)
			session := h.Unpack(fixtures[indexOf(t, c.version)])
			c.apply(h.Store(session))
			if c.other {
				damage.Text(1, " \n")(h.Store(h.Run("say Hello").Session))
			}

			failed := h.ContinueOnScreen(session, "one more")
			if failed.Verdict == opencode.Alive {
				t.Fatalf("the session is not broken; output:\n%s", failed.Output)
			}
			t.Logf("on the screen:\n%s", failed.Output)

			t.Setenv("XDG_DATA_HOME", filepath.Dir(h.DataDir()))
			t.Chdir(h.Project())
			began := time.Now()
			code, out := runMendHere(t, strings.NewReader(failed.Output), filepath.Join(t.TempDir(), "journal"), "fix", "--yes", "-")
			t.Logf("mend fix took %v:\n%s", time.Since(began), out)
			if code != exitDone || !strings.Contains(out, session+` "A title": `+c.says) {
				t.Fatalf("mend fix: exit code %d, want one that takes %s: %s\n%s", code, session, c.says, out)
			}
			if r := h.Continue(session, "and on"); r.Verdict != opencode.Alive {
				t.Errorf("after the repair the session is %s:\n%s", r.Verdict, r.Output)
			}
		})
	}
}

func indexOf(t *testing.T, version string) int {
	t.Helper()
	for i, v := range damage.Versions {
		if v == version {
			return i
		}
	}
	t.Fatalf("no fixture of %s", version)
	return 0
}
