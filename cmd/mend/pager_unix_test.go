//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestNoPager checks that a patch is printed if there is no such pager.
func TestNoPager(t *testing.T) {
	for _, pager := range []string{"", filepath.Join(t.TempDir(), "nothing")} {
		t.Setenv("PAGER", pager)
		ts := newTestStore(t, 0)
		ts.damage(ts.kind("blank answer"))
		if _, out, _ := ts.asking("", 80, "repair", ts.session, "--dry-run", "-p"); !strings.Contains(out, `+text: "[user interrupted]"`) {
			t.Errorf("PAGER=%q shows no patch:\n%s", pager, out)
		}
	}
}
