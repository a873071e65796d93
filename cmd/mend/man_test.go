package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"mend/internal/storetest"
)

// TestMan checks that the program for packagers writes a page for every verb.
func TestMan(t *testing.T) {
	storetest.NeedAllCases(t) // it builds a second program
	dir := t.TempDir()
	if out, err := exec.Command("go", "run", "-tags", "man", ".", "man", dir).CombinedOutput(); err != nil {
		t.Fatalf("writing the manual pages: %v\n%s", err, out)
	}
	for _, cmd := range (&app{}).root().Commands() {
		name := cmd.Name()
		if cmd.Hidden {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "mend-"+name+".1")); err != nil {
			t.Errorf("the page of %s: %v", name, err)
		}
	}
}
