//go:build e2e

package main

import (
	"maps"
	"os"
	"strings"
	"testing"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/damage"
	"mend/internal/test/opencode"
)

// TestSessionRow: for each value of each column in the row of a session, mend scan reports broken if the real program
// fails, mend fix repairs it, and mend undo restores the store. -update writes the table.
func TestSessionRow(t *testing.T) {
	cells := damage.Cells()
	for i, version := range damage.Versions {
		t.Run(version, func(t *testing.T) {
			var w agentPool
			for n := range cells {
				c := &cells[n]
				if c.Version != version || testing.Short() && c.Column != "directory" {
					continue
				}
				if w.benches == nil {
					w = newAgentPool(t, i, 1)
				}
				t.Run(c.Column+" "+c.Value, func(t *testing.T) { w.runCell(newTestStore(t, i), c) })
			}
		})
	}
	if *update {
		var b strings.Builder
		for _, c := range cells {
			b.WriteString(strings.Join([]string{c.Version, c.Column, c.Value, c.Want}, "\t") + "\n")
		}
		if err := os.WriteFile("../../internal/test/damage/sessionrow.tsv", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// promptListed requests the page of the session and sends a prompt to a copy of the session.
func (c *trial) promptListed() opencode.Result {
	c.Helper()
	bench := <-c.agents.benches
	defer func() { c.agents.benches <- bench }()
	r, err := bench.TryListed(c.data)
	if err != nil {
		c.Fatal(err)
	}
	return r
}

func (w agentPool) runCell(ts *testStore, cell *damage.Cell) {
	ts.Helper()
	damage.SQL(ts, ts.path)(cell.Statement())
	c := &trial{testStore: ts, agents: w, damaged: ts.snapshot()}
	c.before = c.promptListed()
	if real := c.before.Verdict; real != cell.Want {
		if !*update {
			c.Errorf("the real program is %s, the table says %s; its reply:\n%.800s", real, cell.Want, c.before.Output)
		}
		cell.Want = real
	}
	if said := c.scan(); (said.severity == "broken") != (cell.Want != damage.Alive) {
		c.Errorf("mend scan says %s, the real program is %s:\n%s", said.severity, cell.Want, said.out)
	}
	if cell.Want == damage.Alive {
		c.checkUntouched()
		return
	}
	if !c.repair() {
		c.Errorf("mend fix changed nothing")
	}
	if r := c.promptListed(); r.Verdict != damage.Alive {
		c.Errorf("after the repair the real program is %s, before it was %s; its reply:\n%.800s", r.Verdict, cell.Want, r.Output)
	}
	if code, out := c.mend("undo", "--yes", "--session", c.session); code != frame.ExitDone {
		c.Fatalf("mend undo: exit code %d:\n%s", code, out)
	}
	if !maps.Equal(c.damaged, c.snapshot()) {
		c.Errorf("undo did not restore the store")
	}
}
