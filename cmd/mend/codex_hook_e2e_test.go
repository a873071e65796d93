//go:build e2e

package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mend/internal/test/codex"
	"mend/internal/test/storetest"
	"mend/testdata"
)

var codexVersion = flag.String("codex", codex.Version, "the version of Codex to run")

// TestRealCodexHook: after the user has trusted the hooks, the real Codex shows the message about a damaged session,
// and at the end of a turn the session is copied. A removal leaves no file of the hooks.
func TestRealCodexHook(t *testing.T) {
	storetest.Long(t)
	exe, err := codex.Install(*codexVersion)
	if err != nil {
		t.Skip(err)
	}
	h := codex.NewHome(t, exe)
	if r := h.Prompt(testdata.CodexSession, "zero more"); r.Fate() != "alive" {
		t.Fatalf("the healthy session is %s: %s", r.Fate(), r.Output)
	}
	bin := buildMend(t)
	mend := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), bin, append(args, "--agent", "codex")...)
		cmd.Dir, cmd.Env = h.Work(), h.Command(t.Context()).Env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("mend %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	if out := mend("plugin", "install", "--keep", "--yes"); !strings.Contains(out, "asks whether to trust") {
		t.Errorf("install does not mention that the hooks must be trusted:\n%s", out)
	}
	h.Damage(codex.ByName("answer twice"))
	shown, kill := h.ScreenType(func(shown string) string {
		switch {
		case strings.Contains(shown, "› 2. Trust all"), strings.Contains(shown, "again please"):
			return "\r"
		case strings.Contains(shown, "2. Trust all"):
			return "\x1b[B"
		case strings.Contains(shown, "Ask Codex to do anything"):
			return "again please"
		}
		return ""
	}, func(shown string) bool { return strings.Contains(shown, "mend fix "+testdata.CodexSession) }, "resume", "--no-daemon", testdata.CodexSession)
	kill()
	if !strings.Contains(shown, "Hook · mend: this session is damaged") {
		t.Fatalf("the program does not show the message of the hook:\n%s", shown)
	}
	settings, err := os.ReadFile(filepath.Join(h.Root(), "config.toml"))
	if err != nil || !strings.Contains(string(settings), "trusted_hash") {
		t.Fatalf("the program did not trust the hooks: %v\n%s", err, settings)
	}
	mend("repair", testdata.CodexSession, "--yes")
	if r := h.Prompt(testdata.CodexSession, "one more"); r.Fate() != "alive" {
		t.Fatalf("the repaired session is %s: %s", r.Fate(), r.Output)
	}
	if out := mend("status"); !strings.Contains(out, "1 of 1 session copied") {
		t.Errorf("the end of a turn did not keep the session:\n%s", out)
	}
	mend("plugin", "uninstall", "--yes")
	if _, err := os.Stat(filepath.Join(h.Root(), "hooks.json")); err == nil {
		t.Error("the file of the hooks still exists after the removal")
	}
	if after, err := os.ReadFile(filepath.Join(h.Root(), "config.toml")); err != nil || string(after) != string(settings) {
		t.Errorf("the settings of the program changed: %v\n%s", err, after)
	}
}
