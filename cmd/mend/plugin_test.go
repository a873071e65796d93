package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"mend/agent"
	"mend/agent/opencode"
)

// TestPluginRestarts: if a hook ends at any moment, the plugin loses no error of a session, and restarts the hook only
// a limited number of times. testdata/plugin has the cases.
func TestPluginRestarts(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skipf("the plugin is JavaScript: %v", err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "plugin"))); err != nil {
		t.Fatal(err)
	}
	text, err := opencode.Agent{}.Installer().Install(nil, agent.Setup{Program: "mend"})
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte(`"node:child_process"`), []byte(`"./spawn.mjs"`))
	if err := os.WriteFile(filepath.Join(dir, "plugin.mjs"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, "--test", filepath.Join(dir, "plugin.test.mjs"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("node --test: %v\n%s", err, out)
	}
}
