package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fatih/color"
	"github.com/google/go-cmp/cmp"

	"mend/internal/damage"
	"mend/testdata"
)

// TestScreens compares what a user sees with testdata/screens, at 80 and 120 columns, with
// colours and without. -update writes them.
func TestScreens(t *testing.T) {
	if testing.Short() {
		t.Skip("scans stores")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"DATA", "STATE", "CACHE", "CONFIG"} {
		t.Setenv("XDG_"+name+"_HOME", "")
	}
	for _, name := range []string{"OPENCODE_CONFIG_DIR", "NO_COLOR"} {
		t.Setenv(name, "")
	}
	t.Chdir(home)
	screens := func(names ...string) {
		for _, name := range names {
			for _, width := range []int{80, 120} {
				for _, colored := range []bool{false, true} {
					checkScreen(t, home, name, width, colored)
				}
			}
		}
	}
	screens("mend", "mend help", "mend help exit-codes", "mend explain R11", "mend explain latent", "mend explain tool_result_missing",
		"mend config autoResume placeholderText")
	data := filepath.Join(home, ".local", "share")
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	id, err := testdata.Unpack(testdata.OpenCode1153, data)
	if err != nil {
		t.Fatal(err)
	}
	damage.Edit(t, filepath.Join(data, "opencode", "storage"), id, damage.ByName(t, "blank answer"))
	if _, code := runLine("mend scan"); code != exitProblems {
		t.Fatalf("mend scan: exit code %d, want %d", code, exitProblems)
	}
	screens("mend status")
}

// checkScreen compares the output of a command line with its golden file.
func checkScreen(t *testing.T, home, line string, width int, colored bool) {
	t.Helper()
	t.Setenv("COLUMNS", fmt.Sprint(width))
	color.NoColor = !colored
	defer func() { color.NoColor = true }()
	out, code := runLine(line)
	if code != exitDone {
		t.Errorf("%s: exit code %d\n%s", line, code, out)
	}
	out = strings.ReplaceAll(out, home, "$HOME")
	for _, v := range volatile {
		out = v.pattern.ReplaceAllString(out, v.with)
	}
	name := fmt.Sprintf("%s.%d", strings.ReplaceAll(line, " ", "_"), width)
	if colored {
		name += ".color"
		out = strings.ReplaceAll(out, "\x1b", "^[")
	}
	path := filepath.Join(screensDir, name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out); diff != "" {
		t.Errorf("%s at %d columns, colours %t (-want +got):\n%s", line, width, colored, diff)
	}
}

// screensDir is absolute because the test runs in a folder of its own.
var screensDir = func() string {
	path, err := filepath.Abs("testdata/screens")
	if err != nil {
		panic(err)
	}
	return path
}()
