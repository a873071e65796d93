//go:build e2e

package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/claude"
	"mend/internal/test/damage"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
)

// TestNewcomer: a user who pastes only the error that the real program prints gets the session repaired, without naming
// it.
func TestNewcomer(t *testing.T) {
	for _, c := range []struct {
		name, version string
		apply         func(damage.Store)
		other         bool   // another session breaks the rule, too
		says          string // why mend chooses the session
	}{
		{"a blank answer", "1.18.33", damage.Text(damage.Hello, " \n"), false, "its next request breaks this rule (R11) at messages.5.content.1."},
		{"a signature", "1.18.33", damage.ByName(t, "altered signature"), false, "its newest answer failed with this error."},
		{"a prompt cut in half", "1.18.33", damage.ByName(t, "prompt truncated"), false, "the agent fails on it with this error"},
		{"a prompt cut in half in a tree", "1.1.53", damage.ByName(t, "prompt truncated"), false, "the agent fails on it with this error"},
		{"a call without a result", "1.18.33", damage.ByName(t, "reasoning after tool"), false, "its next request breaks this rule (R1)"},
		{"a call in reasoning that is killed", "1.18.33", damage.ByName(t, "killed after reasoning"), false, "its next request breaks this rule (R10)"},
		{"a repeated call", "1.18.33", damage.ByName(t, "one callID in two messages"), false, "its next request breaks this rule (R17)"},
		{"a call without an id", "1.18.33", damage.ByName(t, "empty callID"), false, "its next request breaks this rule (R13)"},
		{"an input that is no object", "1.18.33", damage.ByName(t, "input a string"), false, "its next request breaks this rule (R14)"},
		{"a large image", "1.18.33", damage.ByName(t, "large image in a prompt"), false, "its next request breaks this rule (R15)"},
		{"an image that is none", "1.18.33", damage.ByName(t, "image that is a text attached"), false, "its next request breaks this rule (R18)"},
		{"no first prompt", "1.18.33", damage.ByName(t, "first prompt gone"), false, "its next request breaks this rule (R16)"},
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
			if code != frame.ExitDone || !strings.Contains(out, session+` "A title": `+c.says) {
				t.Fatalf("mend fix: exit code %d, want that it chooses %s: %s\n%s", code, session, c.says, out)
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

// TestNewcomerClaude: the same holds for the real Claude Code, for each rule of its provider that damage breaks.
func TestNewcomerClaude(t *testing.T) {
	cmd, err := claude.Install(claude.Versions[0])
	if err != nil {
		t.Skip(err)
	}
	for _, name := range []string{
		"call in a record of the user", "empty text in a result", "thinking after the text", "call id with a colon", "input a string",
		"large image in an early prompt", "summary lost", "image data a number", "unknown block", "name with a space", "foreign field",
	} {
		t.Run(name, func(t *testing.T) {
			h := claude.NewHome(t, cmd)
			h.Put(claude.Session, claude.ByName(name).Broken())
			failed := h.Prompt(claude.Session, "one more", true)
			if failed.Answered {
				t.Fatalf("the session is not broken; output:\n%s", failed.Output)
			}
			t.Logf("on the screen:\n%s", failed.Output)

			t.Setenv("CLAUDE_CONFIG_DIR", h.Root())
			t.Setenv("XDG_DATA_HOME", t.TempDir())
			t.Chdir(filepath.Join(h.Dir(), "work"))
			code, out := runMendHere(t, strings.NewReader(failed.Output), filepath.Join(t.TempDir(), "journal"), "fix", "--yes", "-")
			if code != frame.ExitDone || !strings.Contains(out, claude.Session) {
				t.Fatalf("mend fix: exit code %d, want that it chooses the session:\n%s", code, out)
			}
			t.Logf("mend fix:\n%s", out)
			if r := h.Prompt(claude.Session, "and on", true); !r.Answered || r.Rule != "" {
				t.Errorf("after the repair: answered %t, rule %s:\n%s", r.Answered, r.Rule, r.Output)
			}
		})
	}
}
