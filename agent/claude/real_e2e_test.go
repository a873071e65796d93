//go:build e2e

package claude_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mend"
	"mend/agent"
	"mend/agent/claude"
	fixture "mend/internal/claude"
	"mend/internal/storetest"
	"mend/repair"
)

var version = flag.String("claude", fixture.Versions[0], "the version of Claude Code to run")

const prompt = "one more"

func install(t *testing.T) []string {
	t.Helper()
	cmd, err := fixture.Install(*version)
	if err != nil {
		t.Skip(err)
	}
	return cmd
}

func client(t *testing.T, h *fixture.Home) *mend.Client {
	t.Helper()
	dir := t.TempDir()
	c, err := mend.Open(mend.Options{
		Agents: []agent.Agent{claude.Agent{}}, Store: h.Root(), AgentVersion: *version,
		Journal: filepath.Join(dir, "journal"), Cache: filepath.Join(dir, "cache"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRealDamages breaks a transcript, asks the real program, repairs it, and asks again: the
// request then has the blocks of the healthy one, as far as they are in the file. After the
// undo the transcript is as before.
func TestRealDamages(t *testing.T) {
	cmd := install(t)
	if *version != fixture.Versions[0] {
		t.Skip("the table has what becomes of each damage on " + fixture.Versions[0])
	}
	h := fixture.NewHome(t, cmd)
	h.Put(fixture.Session, fixture.Baseline)
	healthy := h.Prompt(fixture.Session, prompt, true)
	if !healthy.Answered || len(healthy.Blocks) != fixture.Blocks {
		t.Fatalf("the healthy transcript: %d blocks, want %d; %s", len(healthy.Blocks), fixture.Blocks, healthy.Output)
	}
	for i, d := range fixture.Damages {
		if testing.Short() && !storetest.Includes(i, 7) {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			broken := fixture.New()
			d.Apply(broken)
			data := broken.Bytes()
			h := fixture.NewHome(t, cmd)
			h.Put(fixture.Session, data)
			before := h.Prompt(fixture.Session, prompt, true)
			if before.Answered == d.Refused {
				t.Errorf("before: answered %t, rule %s, want refused %t: %s", before.Answered, before.Rule, d.Refused, before.Output)
			}
			if d.Before > 0 && len(before.Blocks) != d.Before {
				t.Errorf("before: %d blocks, want %d", len(before.Blocks), d.Before)
			}
			h.Put(fixture.Session, data)
			c := client(t, h)
			id, r, err := c.Repair(t.Context(), fixture.Session, repair.Request{})
			if err != nil || len(r.Remaining) > 0 || (id != "") != (d.Rule != "") {
				t.Fatalf("Repair = %q, %v, %v", id, r.Remaining, err)
			}
			repaired := h.Read(fixture.Session)
			after := h.Prompt(fixture.Session, prompt, true)
			if !after.Answered || after.Rule != "" && d.Rule != "" || len(after.Blocks) != d.After {
				t.Errorf("after: answered %t, rule %s, %d blocks, want %d: %s", after.Answered, after.Rule, len(after.Blocks), d.After, after.Output)
			}
			if d.Rule != "" && d.After == fixture.Blocks && isHistory(d.Rule) {
				if diff := cmp.Diff(healthy.Blocks, after.Blocks); diff != "" {
					t.Errorf("after the repair the request differs (-healthy +repaired):\n%s", diff)
				}
			}
			if id == "" {
				return
			}
			if err := os.WriteFile(h.File(fixture.Session), repaired, 0o600); err != nil {
				t.Fatal(err)
			}
			p, err := c.ProposeUndo(t.Context(), mend.UndoRequest{ID: id})
			if err == nil {
				_, err = c.Apply(t.Context(), p)
			}
			if now := h.Read(fixture.Session); err != nil || !bytes.Equal(now, data) {
				t.Errorf("undone: %v, %d bytes, want those before", err, len(now))
			}
		})
	}
}

// isHistory reports whether a repair of the rule gives back the same blocks, and changes none.
func isHistory(rule string) bool {
	switch rule {
	case "chain_broken", "line_unread", "marked_sidechain", "uuid_repeated", "branch_left_out", "R10", "R25":
		return true
	}
	return false
}
