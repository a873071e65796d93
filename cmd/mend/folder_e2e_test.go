//go:build e2e

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/internal/test/opencode"
)

// TestRealFolder: mend scan reports a session with a missing folder as broken if the real program does not answer in
// it, and the session works after the command that mend names.
func TestRealFolder(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute; TestStories/folder is the sample")
	}
	for i, version := range []string{"1.1.53", "1.2.27", "1.18.34"} {
		t.Run(version, func(t *testing.T) {
			h := newAnswered(t, version)
			session := h.Unpack(fixtures[i])
			gone := filepath.Join(filepath.Dir(h.Project()), "it's gone")
			store := filepath.Join(h.DataDir(), "opencode.db")
			if i == 0 {
				store = filepath.Join(h.DataDir(), "storage")
			} else {
				h.SQL("update session set directory = ?", gone)
			}
			journal := filepath.Join(t.TempDir(), "journal")
			ask := func() scanResult {
				_, out := runMend(t, store, journal, "scan", session, "--json", "--agent-version", version)
				var answer struct {
					Sessions []struct{ Diagnoses []diagnosis }
				}
				if err := json.Unmarshal([]byte(out), &answer); err != nil || len(answer.Sessions) != 1 {
					t.Fatalf("mend scan: %v: %s", err, out)
				}
				return scanResult{diagnoses: answer.Sessions[0].Diagnoses}
			}
			said, r := ask(), h.Continue(session, "one more")
			if said.hasBroken("folder") != (r.Verdict != opencode.Alive) {
				t.Fatalf("mend says %+v, the real program is %s: %s", said.diagnoses, r.Verdict, r.Output)
			}
			if r.Verdict == opencode.Alive {
				return
			}
			// The program has stored the prompt and an unfinished answer.
			_, out := runMend(t, store, journal, "repair", session, "--yes", "--force", "--agent-version", version)
			out = strings.Join(strings.Fields(out), " ")
			create := "mkdir -p -- '" + strings.ReplaceAll(gone, "'", `'\''`) + "'"
			if !strings.Contains(out, "mend move '") {
				t.Errorf("mend fix does not name mend move: %s", out)
			}
			for _, c := range []struct{ in, command string }{{h.Project(), create}} {
				if !strings.Contains(out, c.command) {
					t.Fatalf("mend fix does not name %s: %s", c.command, out)
				}
				if out, err := h.Shell(c.in, c.command); err != nil {
					t.Fatalf("%s: %v: %s", c.command, err, out)
				}
				server := h.Serve() // "opencode run" from another folder does not see the end of the answer
				said, r := ask(), server.Prompt(session, "once more")
				server.Close()
				if said.hasRule("folder") || r.Verdict != opencode.Alive {
					t.Errorf("%s: mend says %+v, the real program is %s (exit code %d, timed out: %t): %s", c.command, said.diagnoses, r.Verdict, r.Code, r.TimedOut, r.Output)
				}
				if err := os.RemoveAll(gone); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
