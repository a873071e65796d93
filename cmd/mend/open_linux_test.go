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

// TestAskOpen checks that a session that Claude Code has open is repaired after a separate question, and
// reloaded there. Without a terminal, with --yes, and after "no" it stays unchanged.
func TestAskOpen(t *testing.T) {
	for _, c := range []struct {
		in, says string
		args     []string
		want     int
		repaired bool
	}{
		{"y\ny\n", "Next: type /resume " + claude.Session + " there", []string{"fix", claude.Session}, frame.ExitDone, true},
		{"y\ny\n", "Next: type /resume " + claude.Session + " there", []string{"fix"}, frame.ExitDone, true},
		{"n\n", "cancelled; nothing was changed", []string{"fix", claude.Session}, frame.ExitRefused, false},
		{"n\n", "cancelled; nothing was changed", []string{"fix"}, frame.ExitRefused, false},
		{"", "or use --force and then type /resume " + claude.Session + " there", []string{"fix", claude.Session, "--yes"}, frame.ExitRefused, false},
	} {
		root := t.TempDir()
		file := filepath.Join(root, "projects", "-home-user-project", claude.Session+".jsonl")
		running := filepath.Join(root, "sessions", fmt.Sprintf("%d.json", os.Getpid()))
		broken := claude.ByName("parent unknown").Broken()
		for path, data := range map[string][]byte{file: broken, running: fmt.Appendf(nil, `{"pid":%d,"sessionId":%q}`, os.Getpid(), claude.Session)} {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		ts := &testStore{T: t, path: root, journal: t.TempDir()}
		code, out, errs := ts.asking(c.in, 0, c.args...)
		now, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		asked := strings.Contains(errs, fmt.Sprintf("Claude Code (process %d) has it open. Repair it now, then type /resume", os.Getpid()))
		if code != c.want || asked == (c.in == "") || strings.Contains(out, "Nothing is broken") || !strings.Contains(out+errs, c.says) || (string(now) != string(broken)) != c.repaired {
			t.Errorf("%q %v: exit code %d, want %d; asked: %t\n%s%s", c.in, c.args, code, c.want, asked, out, errs)
		}
	}
}
