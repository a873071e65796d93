//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDelta checks that a patch is a diff of git if git's pager is delta.
func TestDelta(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	delta := filepath.Join(t.TempDir(), "delta")
	if err := os.WriteFile(delta, []byte("#!/bin/sh\necho as delta \"$@\" shows it\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "core.pager")
	t.Setenv("GIT_CONFIG_VALUE_0", delta+" --dark")
	t.Setenv("PAGER", "false")
	ts := newTestStore(t, 0)
	ts.damage(ts.kind("text behind tool"))
	ts.damage(ts.kind("reasoning last"))
	code, out, errs := ts.asking("", 80, "repair", ts.session, "--dry-run", "-p")
	if code != exitDone {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	for _, want := range []string{
		"as delta --dark shows it\n", "diff --git a/msg_", "\nnew file mode 100644\n--- /dev/null\n+++ b/msg_", "\n@@ -0,0 +1,6 @@\n+{\n", "\nsimilarity index 100%\nrename from msg_",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in\n%s", want, out)
		}
	}
	patch := out[strings.Index(out, "diff --git"):]
	patch = patch[:strings.Index(patch, "After the repair it works with")]
	cmd := exec.Command("git", "apply", "--stat", "-")
	cmd.Stdin = strings.NewReader(strings.TrimSpace(patch) + "\n")
	if stat, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("git does not read the patch: %v\n%s\n%s", err, stat, patch)
	}
}

// TestNoPager checks that a patch is printed if there is no such pager.
func TestNoPager(t *testing.T) {
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "core.pager")
	t.Setenv("GIT_CONFIG_VALUE_0", "")
	for _, pager := range []string{"", filepath.Join(t.TempDir(), "nothing")} {
		t.Setenv("PAGER", pager)
		ts := newTestStore(t, 0)
		ts.damage(ts.kind("blank answer"))
		if _, out, _ := ts.asking("", 80, "repair", ts.session, "--dry-run", "-p"); !strings.Contains(out, `+  "text": "[user interrupted]"`) {
			t.Errorf("PAGER=%q shows no patch:\n%s", pager, out)
		}
	}
}
