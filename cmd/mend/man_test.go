package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mend/cmd/mend/internal/frame"
	"mend/internal/term"
	"mend/internal/test/storetest"
)

// TestMan: the program for packagers writes a page for every verb.
func TestMan(t *testing.T) {
	storetest.NeedAllCases(t) // it builds a second program
	dir := t.TempDir()
	if out, err := exec.Command("go", "run", "-tags", "man", ".", "man", dir).CombinedOutput(); err != nil {
		t.Fatalf("writing the manual pages: %v\n%s", err, out)
	}
	for _, cmd := range newRoot(&frame.Env{Terminal: &term.Terminal{}}).Commands() {
		name := cmd.Name()
		if cmd.Hidden {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "mend-"+name+".1")); err != nil {
			t.Errorf("the page of %s: %v", name, err)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "mend-recover.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{"--keep", "--back", "--forward"} {
		if !strings.Contains(string(page), ".TP\n\\fB"+row+"\\fP\n") {
			t.Errorf("the page of recover has no separate row for %s:\n%s", row, page)
		}
	}
}
