//go:build e2e

package claude_test

import (
	"bytes"
	"cmp"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mend/agent"
	"mend/agent/claude"
	"mend/agent/claude/diagnose"
	"mend/change"
	"mend/internal/mend"
	fixture "mend/internal/test/claude"
	"mend/repair"
)

var (
	version = flag.String("claude", fixture.Versions[0], "the version of Claude Code to run")
	update  = flag.Bool("update", false, "write internal/test/claude/effects.tsv")
)

const prompt = "one more"

func install(t *testing.T) []string {
	t.Helper()
	cmd, err := fixture.Install(*version)
	if err != nil {
		t.Skip(err)
	}
	return cmd
}

// onVersions runs a test with each version of Claude Code, in a home of its own.
func onVersions(t *testing.T, test func(t *testing.T, version string, h *fixture.Home)) {
	t.Helper()
	for _, version := range fixture.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			cmd, err := fixture.Install(version)
			if err != nil {
				t.Skip(err)
			}
			test(t, version, fixture.NewHome(t, cmd))
		})
	}
}

func client(t *testing.T, h *fixture.Home) *mend.Store {
	t.Helper()
	return clientOf(t, h, *version)
}

// clientOf returns a client that expects a version of Claude Code.
func clientOf(t *testing.T, h *fixture.Home, version string) *mend.Store {
	t.Helper()
	dir := t.TempDir()
	c, err := mend.Open(mend.Options{
		Agents: []agent.Agent{claude.Agent{}}, Store: h.Root(), AgentVersion: version,
		Journal: mend.OpenJournal(filepath.Join(dir, "journal")), Cache: filepath.Join(dir, "cache"),
	})
	must(t, err)
	return c
}

// TestRealDamages breaks a transcript, sends a prompt with the real program, repairs the transcript, and sends a prompt
// again. Each time the request is the one that mend expects. After the repair it has all blocks of the healthy request
// that are still in the file. After the undo the transcript is as before. With -update the test writes the result of
// each kind of damage on this version.
func TestRealDamages(t *testing.T) {
	cmd := install(t)
	healthy := map[string]fixture.Reply{}
	now, mu := map[string]fixture.Effect{}, sync.Mutex{}
	for _, d := range fixture.Damages {
		if testing.Short() && !fixture.Everyday(d.Name) {
			continue
		}
		shape := cmp.Or(d.Shape, "baseline")
		if _, ok := healthy[shape]; !ok {
			healthy[shape] = askHealthy(t, cmd, shape)
		}
		want := healthy[shape].Blocks
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			o := realDamage(t, cmd, d, want)
			mu.Lock()
			now[d.Name] = o
			mu.Unlock()
			if recorded, ok := d.On(*version); !*update && (!ok || o != recorded) {
				t.Errorf("%+v, want %+v", o, recorded)
			}
		})
	}
	t.Cleanup(func() {
		if !*update {
			return
		}
		if err := os.WriteFile("../../internal/test/claude/effects.tsv", []byte(fixture.FormatEffects(*version, now)), 0o644); err != nil {
			t.Error(err)
		}
	})
}

func realDamage(t *testing.T, cmd []string, d fixture.Damage, healthy []string) (o fixture.Effect) {
	data := d.Broken()
	h := fixture.NewHome(t, cmd)
	h.Put(fixture.Session, data)
	broken := expectedCase(data)
	before := h.Prompt(fixture.Session, prompt, true)
	compareRequest(t, "before", broken, before)
	o.Before, o.Refused = len(before.Blocks), !before.Answered
	for _, f := range repair.Diagnose(broken) {
		if isBroken(f) {
			o.Rule = cmp.Or(o.Rule, f.Rule)
		}
	}
	if !before.Answered && o.Rule == "" && before.Rule != "R7" { // only the provider can check a signature
		t.Errorf("before: refused with %s and no finding: %s", before.Rule, before.Output)
	}
	h.Put(fixture.Session, data)
	c := client(t, h)
	id, r, err := repairSession(t, c, fixture.Session)
	if err != nil || slices.ContainsFunc(r.Remaining, isBroken) != d.Reported || (id != "") != (o.Rule != "" && !d.Reported) {
		t.Fatalf("Repair = %q, %v, %v", id, r.Remaining, err)
	}
	o.After = o.Before
	if id == "" {
		return o
	}
	repaired := h.Read(fixture.Session)
	after := h.Prompt(fixture.Session, prompt, true)
	compareRequest(t, "after", expectedCase(repaired), after)
	if o.After = len(after.Blocks); !after.Answered || after.Rule != "" {
		t.Errorf("after: answered %t, rule %s: %s", after.Answered, after.Rule, after.Output)
	}
	if before.Answered && before.Rule == "" && o.After <= o.Before && o.After != len(healthy) { // before the repair, compacted content may be sent
		t.Errorf("%s: the repair changes nothing", o.Rule)
	}
	if diff := gocmp.Diff(healthy, after.Blocks); o.After == len(healthy) && isHistory(o.Rule) && diff != "" {
		t.Errorf("after the repair the request differs (-healthy +repaired):\n%s", diff)
	}
	must(t, os.WriteFile(h.File(fixture.Session), repaired, 0o600))
	checkUndo(t, c, h, fixture.Session, id, data)
	return o
}

// checkUndo undoes a repair, and checks that the transcript has its former bytes.
func checkUndo(t *testing.T, c *mend.Store, h *fixture.Home, id, repairID string, want []byte) {
	t.Helper()
	undoEntry(t, c, repairID, false)
	if now := h.Read(id); !bytes.Equal(now, want) {
		t.Errorf("the transcript has %d bytes after the undo, and had %d other bytes before the repair", len(now), len(want))
	}
}

func isBroken(d repair.Diagnosis) bool { return d.Severity == repair.Broken }

// compareRequest compares the request that mend expects with the real one, if one was sent.
func compareRequest(t *testing.T, when string, c *repair.Case, r fixture.Reply) {
	t.Helper()
	if diff := gocmp.Diff(fixture.Expected(diagnose.StateOf(c)), r.Blocks); diff != "" && len(r.Blocks) > 0 {
		t.Errorf("%s: the request differs (-expected +real):\n%s", when, diff)
	}
}

// askHealthy returns the result of a prompt in a healthy transcript.
func askHealthy(t *testing.T, cmd []string, shape string) fixture.Reply {
	t.Helper()
	h := fixture.NewHome(t, cmd)
	h.Put(fixture.Session, fixture.Shape(shape).Bytes())
	r := h.Prompt(fixture.Session, prompt, true)
	if !r.Answered {
		t.Fatalf("the healthy transcript %s: %d blocks; %s", shape, len(r.Blocks), r.Output)
	}
	return r
}

// isHistory reports whether a repair of the rule restores the same blocks, and changes none.
func isHistory(rule string) bool {
	switch rule {
	case "chain_broken", "line_unread", "branch_left_out", "nothing_readable", "R10", "R25":
		return true
	}
	return false
}

func expectedCase(data []byte) *repair.Case {
	ref := change.Ref{Kind: change.KindSession, Project: "-home-user", Session: fixture.Session}
	return diagnose.New(diagnose.Source{Ref: ref, Data: data, Version: *version})
}
