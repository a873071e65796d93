//go:build e2e

package main

import (
	"flag"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"mend/internal/test/damage"
	"mend/internal/test/opencode"
	"mend/internal/test/storetest"
)

var everything = flag.Bool("everything", false, "every damage on every version; else a quarter of them, others each day, on one version in turn, and on all those whose fate differs")

// agentsPerVersion is the number of instances of the real program of each version.
const agentsPerVersion = 2

// TestMatrix applies each damage to the store of each version. It checks that mend scan
// reports broken if and only if the real program is refused or fails, with the same rule; that
// after mend repair the real program answers; and that after mend undo the store is identical
// and the real program fails as before.
func TestMatrix(t *testing.T) {
	var m matrix
	t.Run("on", func(t *testing.T) {
		for i, version := range damage.Versions {
			t.Run(version, func(t *testing.T) {
				t.Parallel()
				w := newAgentPool(t, i, agentsPerVersion)
				for n, c := range damage.Table {
					differs := c.Want[0] != c.Want[1] || c.Want[1] != c.Want[2]
					if *everything || (n+storetest.Today())%8 == 0 && (n/8%len(damage.Versions) == i || differs) {
						t.Run(c.Name, func(t *testing.T) {
							t.Parallel()
							run := w.run
							if damage.AddsFile(c.Name) {
								run = w.runFile
							}
							m.put(c.Name, i, run(newTestStore(t, i), c.Apply, c.Want[i]))
						})
					}
				}
			})
		}
	})
	m.checkPage(t)
}

// run tests one damage and returns a short description of the outcome.
func (w agentPool) run(ts *testStore, apply func(damage.Store), want string) string {
	ts.Helper()
	whole := ts.records()
	damage.Edit(ts, ts.path, ts.session, apply)
	return w.try(ts, whole, want)
}

// try tests a damaged store whose records were other ones before.
func (w agentPool) try(ts *testStore, whole []damage.Record, want string) string {
	ts.Helper()
	c := w.start(ts)
	real := c.before.Verdict
	if real != want {
		c.Errorf("the real program is %s, the table says %s; its reply:\n%.800s", real, want, c.before.Output)
	}
	c.checkPrediction()
	if real == opencode.Alive {
		c.checkUntouched()
		c.repairUntilAlive(0, "--latent")
		c.checkUndo()
		return real
	}
	if unknowable(real) {
		c.checkSuspects(changedIDs(whole, ts.records()))
	}
	outcome := real + ", fixed"
	if now := c.repairUntilAlive(2); now != opencode.Alive {
		outcome = real + ", not fixed"
	}
	c.checkUndo()
	return outcome
}

// runFile is run for a file that OpenCode takes for a record: mend reports and does not move it.
func (w agentPool) runFile(ts *testStore, apply func(damage.Store), want string) string {
	ts.Helper()
	damage.Edit(ts, ts.path, ts.session, apply)
	c := w.start(ts)
	real := c.before.Verdict
	if real != want {
		c.Errorf("the real program is %s, the table says %s; its reply:\n%.800s", real, want, c.before.Output)
	}
	if real == opencode.Alive {
		return real
	}
	if said := c.scan(); !said.hasBroken("beside") {
		c.Errorf("mend scan says %s, the real program is %s:\n%s", said.severity, real, said.out)
	}
	return real + ", reported"
}

// changedIDs returns the ids of the records that the damage changed.
func changedIDs(whole, damaged []damage.Record) []string {
	var ids []string
	for _, r := range whole {
		if !slices.Contains(damaged, r) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// A matrix has the outcome of each damage on each version.
type matrix struct {
	mu    sync.Mutex
	cells map[string][len(damage.Versions)]string
}

func (m *matrix) put(name string, version int, outcome string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cells == nil {
		m.cells = map[string][len(damage.Versions)]string{}
	}
	row := m.cells[name]
	row[version] = outcome
	m.cells[name] = row
}

// merge returns the table of docs/verified.md, with the cells of m instead of its own,
// and the cells that differ.
func (m *matrix) merge(readme string) (table string, differ []string) {
	had := map[string][]string{}
	for line := range strings.Lines(readme) {
		if cells := strings.Split(strings.Trim(line, "| \n"), " | "); len(cells) == 1+len(damage.Versions) {
			had[cells[0]] = cells[1:]
		}
	}
	var b strings.Builder
	b.WriteString("| damage | " + strings.Join(damage.Versions[:], " | ") + " |\n|---|---|---|---|\n")
	for _, w := range damage.Table {
		row := m.cells[w.Name]
		for i, cell := range row {
			was := "not run"
			if len(had[w.Name]) > 0 {
				was = had[w.Name][i]
			}
			if cell == "" {
				row[i] = was
			} else if cell != was {
				differ = append(differ, w.Name+" on "+damage.Versions[i]+": "+cell+", the page: "+was)
			}
		}
		b.WriteString("| " + w.Name + " | " + strings.Join(row[:], " | ") + " |\n")
	}
	return b.String(), differ
}

// The lines around the matrix in docs/verified.md.
const (
	matrixBegin = "<!-- matrix: written by TestMatrix -update -->\n"
	matrixEnd   = "<!-- end of matrix -->\n"
)

// checkPage compares the cells that were tested with docs/verified.md. With -update it writes
// them.
func (m *matrix) checkPage(t *testing.T) {
	t.Helper()
	const page = "../../docs/verified.md"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, begins := strings.Cut(string(data), matrixBegin)
	was, tail, ends := strings.Cut(rest, matrixEnd)
	if !begins || !ends {
		t.Fatal("docs/verified.md has no place for the matrix")
	}
	table, differ := m.merge(was)
	switch {
	case *update:
		if err := os.WriteFile(page, []byte(head+matrixBegin+"\n"+table+"\n"+matrixEnd+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	case len(differ) > 0:
		t.Errorf("the matrix in docs/verified.md is not what was found; -update writes it:\n%s", strings.Join(differ, "\n"))
	}
}
