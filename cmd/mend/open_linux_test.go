package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/claude"
)

// TestAskOpen: a session that Claude Code has open is repaired only after a second question, and the answer says how to
// reload the session there. With --yes and after "no" it is not repaired.
func TestAskOpen(t *testing.T) {
	for _, c := range []struct {
		in, shows string
		args      []string
		want      int
		repaired  bool
	}{
		{"y\ny\n", "Next: type /resume " + claude.Session + " there", []string{"fix", claude.Session}, frame.ExitDone, true},
		{"y\ny\n", "Next: type /resume " + claude.Session + " there", []string{"fix"}, frame.ExitDone, true},
		{"n\n", "cancelled; nothing was changed", []string{"fix", claude.Session}, frame.ExitRefused, false},
		{"n\n", "cancelled; nothing was changed", []string{"fix"}, frame.ExitRefused, false},
		{"", "or use --force and then type /resume " + claude.Session + " there", []string{"fix", claude.Session, "--yes"}, frame.ExitRefused, false},
	} {
		broken := claude.ByName("parent unknown").Broken()
		root, file := writeOpen(t, broken)
		ts := &testStore{T: t, path: root, journal: t.TempDir()}
		code, out, errs := ts.asking(c.in, 0, c.args...)
		now, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		asked := strings.Contains(errs, fmt.Sprintf("Claude Code (process %d) has it open. Repair it now, then type /resume", os.Getpid()))
		if code != c.want || asked == (c.in == "") || strings.Contains(out, "Nothing is broken") || !strings.Contains(out+errs, c.shows) || (string(now) != string(broken)) != c.repaired {
			t.Errorf("%q %v: exit code %d, want %d; asked: %t\n%s%s", c.in, c.args, code, c.want, asked, out, errs)
		}
	}
}

// writeOpen writes a transcript that this process has open, as Claude Code shows it, and returns the folder and the
// transcript.
func writeOpen(t *testing.T, transcript []byte) (root, file string) {
	t.Helper()
	root = t.TempDir()
	file = filepath.Join(root, "projects", "-home-user-project", claude.Session+".jsonl")
	running := filepath.Join(root, "sessions", fmt.Sprintf("%d.json", os.Getpid()))
	for path, data := range map[string][]byte{file: transcript, running: fmt.Appendf(nil, `{"pid":%d,"sessionId":%q}`, os.Getpid(), claude.Session)} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root, file
}

// TestWatchOnceOpen checks that "mend watch --once" reports a broken session that Claude Code has open, but not a
// healthy one.
func TestWatchOnceOpen(t *testing.T) {
	for want, transcript := range map[string][]byte{
		"It is left unchanged: Claude Code":               claude.ByName("parent unknown").Broken(),
		"There is nothing to repair in the sessions used": claude.Baseline,
	} {
		root, _ := writeOpen(t, transcript)
		ts := &testStore{T: t, path: root, journal: t.TempDir()}
		if code, out, errs := ts.asking("", 0, "watch", "--once"); code != frame.ExitDone || !strings.Contains(out, want) {
			t.Errorf("exit code %d, want 0 and %q:\n%s%s", code, want, out, errs)
		}
	}
}
