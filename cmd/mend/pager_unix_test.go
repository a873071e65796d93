//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"mend/cmd/mend/internal/frame"
)

// TestNoPager: a diff is printed if the pager does not exist.
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

// TestPagers: long output is shown in the user's pager, also if the pager does not exist or ends early. For a file no
// pager is started.
func TestPagers(t *testing.T) {
	ts := newTestStore(t, 0)
	ts.damage(ts.kind("blank answer"))
	if code, out := ts.mend("repair", "--yes"); code != frame.ExitDone {
		t.Fatalf("repair: exit code %d\n%s", code, out)
	}
	dir := t.TempDir()
	script := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	mine := script("mine", `echo "mine: $* LESS=$LESS"; cat; echo the last line`)
	early := script("early", `head -n 1; exit 3`)
	verbs := []struct {
		args []string
		last string // end of the output
	}{
		{[]string{"log"}, "A title"},
		{[]string{"explain"}, "shows one of these in full."},
		{[]string{"scan"}, "1 session: healthy."},
	}
	show := func(t *testing.T, args []string, last string) string {
		s := newScreen(t)
		done := s.run(ts, args...)
		if last != "" {
			s.wait(last)
		}
		if got := <-done; got != frame.ExitDone {
			t.Errorf("mend %q: exit code %d, want 0\n%s", args, got, s.shown())
		}
		if _, err := s.tty.WriteString("(the end)"); err != nil {
			t.Fatal(err)
		}
		s.wait("(the end)")
		return strings.ReplaceAll(ansi.Strip(s.shown()), "\r", "")
	}
	for _, v := range verbs {
		t.Run(v.args[0], func(t *testing.T) {
			t.Setenv("LESS", "")
			for pager, want := range map[string]string{mine + "  -x ": "mine: -x LESS=FRX\n", mine: "mine:  LESS=FRX\n"} {
				t.Setenv("PAGER", pager)
				if got := show(t, v.args, "the last line"); !strings.HasPrefix(got, want) || !strings.Contains(got, v.last) {
					t.Errorf("PAGER=%q shows\n%s\nwant %q before, %q", pager, got, want, v.last)
				}
			}
			plain := ""
			for _, none := range []string{"", "  ", filepath.Join(dir, "nothing")} {
				t.Setenv("PAGER", none)
				got := show(t, v.args, v.last)
				if plain = got; !strings.Contains(got, v.last) || strings.Contains(got, "mine:") {
					t.Errorf("PAGER=%q shows\n%s", none, got)
				}
			}
			t.Setenv("PAGER", early)
			first, _, _ := strings.Cut(plain, "\n")
			if got := show(t, v.args, ""); got != first+"\n(the end)" {
				t.Errorf("a pager that ends after a line shows\n%s\nwant %q", got, first)
			}
			t.Setenv("PAGER", mine)
			if _, out := ts.mend(v.args...); strings.Contains(out, "mine:") || !strings.Contains(out, v.last) {
				t.Errorf("a pager was started without a terminal:\n%s", out)
			}
			if _, out := ts.mend(append(v.args, "--json")...); !strings.HasPrefix(out, "{") {
				t.Errorf("--json prints\n%s", out)
			}
		})
	}
}

// TestPagerQuitEarly: unread output is not an error when the user quits less.
func TestPagerQuitEarly(t *testing.T) {
	if _, err := exec.LookPath("less"); err != nil {
		t.Skip(err)
	}
	t.Setenv("PAGER", "less")
	t.Setenv("LESS", "")
	t.Setenv("TERM", "xterm")
	ts := newTestStore(t, 0)
	cmd := func(args ...string) (*screen, <-chan int) {
		s := newScreen(t)
		return s, s.run(ts, args...)
	}
	s, done := cmd("scan") // fits on the screen: less ends by itself
	s.wait("1 session: healthy.")
	if got := <-done; got != frame.ExitDone {
		t.Errorf("scan: exit code %d", got)
	}
	s, done = cmd("explain")
	s.wait("Severities")
	s.press("q")
	if got := <-done; got != frame.ExitDone || strings.Contains(s.shown(), "shows one of these in full") {
		t.Errorf("explain: exit code %d\n%s", got, s.shown())
	}
}
