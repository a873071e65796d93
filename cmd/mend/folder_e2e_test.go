//go:build e2e

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/internal/endpoint"
	"mend/internal/opencode"
)

// TestRealFolder compares mend scan with the real program where the session's folder does not
// exist, and does what mend says.
func TestRealFolder(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute; TestStories/folder is the sample")
	}
	for i, version := range []string{"1.1.53", "1.2.27", "1.18.33"} {
		t.Run(version, func(t *testing.T) {
			exe, err := opencode.Install(version)
			if err != nil {
				t.Fatal(err)
			}
			api := endpoint.New(uniqueAnswer)
			t.Cleanup(api.Close)
			h := opencode.New(t, exe, api, false)
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
			if said.has("folder") != (r.Verdict != opencode.Alive) {
				t.Fatalf("mend says %+v, the real program is %s: %s", said.diagnoses, r.Verdict, r.Output)
			}
			if r.Verdict == opencode.Alive {
				return
			}
			// The program has stored the prompt and an unfinished answer.
			code, out := runMend(t, store, journal, "repair", session, "--latent", "--yes", "--force", "--agent-version", version)
			if command := "mkdir -p -- '" + strings.ReplaceAll(gone, "'", `'\''`) + "'"; code != 0 || !strings.Contains(strings.Join(strings.Fields(out), " "), command) {
				t.Errorf("mend repair: exit code %d, want 0 and the command %s: %s", code, command, out)
			}
			if err := os.Mkdir(gone, 0o755); err != nil {
				t.Fatal(err)
			}
			if said, r := ask(), h.Continue(session, "once more"); said.has("folder") || r.Verdict != opencode.Alive {
				t.Errorf("with the folder mend says %+v, the real program is %s (exit code %d, timed out: %t): %s", said.diagnoses, r.Verdict, r.Code, r.TimedOut, r.Output)
			}
		})
	}
}
