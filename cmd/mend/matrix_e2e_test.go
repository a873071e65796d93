//go:build e2e

package main

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"testing"

	"mend/internal/test/damage"
	"mend/internal/test/opencode"
)

// agentsPerVersion is the number of instances of the real program of each version.
const agentsPerVersion = 2

// TestMatrix: for each kind of damage and version, mend scan reports broken if and only if the real program fails, with
// the same rule. After mend fix the real program answers. After mend undo the store is identical, and the real program
// fails as before. A short run has [damage.Everyday], and of 1.2.27 three of them and what differs from 1.18.33.
func TestMatrix(t *testing.T) {
	m := cellTable{title: "damage", columns: damage.Versions[:]}
	for _, c := range damage.Table {
		m.rows = append(m.rows, c.Name)
	}
	t.Run("on", func(t *testing.T) {
		for i, version := range damage.Versions {
			t.Run(version, func(t *testing.T) {
				t.Parallel()
				w := newAgentPool(t, i, agentsPerVersion)
				for _, c := range damage.Table {
					again := i == 1 && c.Want[1] == c.Want[2] && !slices.Contains([]string{"none", "empty answer", "tool running"}, c.Name)
					if !testing.Short() || damage.Everyday(c.Name) && !again {
						t.Run(c.Name, func(t *testing.T) {
							t.Parallel()
							run := w.run
							if damage.AddsFile(c.Name) {
								run = w.runFile
							}
							m.put(c.Name, version, run(newTestStore(t, i), c.Apply, c.Want[i]))
						})
					}
				}
			})
		}
	})
	checkTable(t, matrixBegin, matrixEnd, m.merge)
}

// run tests one damage and returns a short description of the result.
func (w agentPool) run(ts *testStore, apply func(damage.Store), want string) string {
	ts.Helper()
	healthy := ts.records()
	damage.Edit(ts, ts.path, ts.session, apply)
	return w.try(ts, healthy, want)
}

// try tests a damaged store. healthy has the records before the damage.
func (w agentPool) try(ts *testStore, healthy []damage.Record, want string) string {
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
		c.checkSuspects(changedIDs(healthy, ts.records()))
	}
	outcome := real + ", fixed"
	if now := c.repairUntilAlive(2); now != opencode.Alive {
		outcome = real + ", not fixed"
	}
	c.checkUndo()
	return outcome
}

// runFile tests damage that adds a file which OpenCode reads as a record: mend reports the file and does not move it.
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

func changedIDs(healthy, damaged []damage.Record) []string {
	var ids []string
	for _, r := range healthy {
		if !slices.Contains(damaged, r) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// A cellTable has the results for some rows and columns of a table in testdata/found.md.
type cellTable struct {
	title         string
	rows, columns []string // in their order

	mu    sync.Mutex
	cells map[[2]string]string // by row and column
}

func (m *cellTable) put(row, column, cell string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cells == nil {
		m.cells = map[[2]string]string{}
	}
	m.cells[[2]string{row, column}] = cell
}

// merge returns the table with the new results in place of its cells, and the cells that differ.
func (m *cellTable) merge(was string) (table string, differ []string) {
	had, columns := map[[2]string]string{}, []string(nil)
	for line := range strings.Lines(was) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if columns == nil && len(cells) > 1 {
			columns = cells
		}
		for i := 1; i < min(len(cells), len(columns)); i++ {
			had[[2]string{cells[0], columns[i]}] = cells[i]
		}
	}
	var b strings.Builder
	b.WriteString("\n| " + m.title + " | " + strings.Join(m.columns, " | ") + " |\n|" + strings.Repeat("---|", 1+len(m.columns)) + "\n")
	for _, row := range m.rows {
		b.WriteString("| " + row)
		for _, column := range m.columns {
			at := [2]string{row, column}
			was := cmp.Or(had[at], "not run")
			cell := cmp.Or(m.cells[at], was)
			if cell != was {
				differ = append(differ, row+" on "+column+": "+cell+", the page: "+was)
			}
			b.WriteString(" | " + cell)
		}
		b.WriteString(" |\n")
	}
	return b.String() + "\n", differ
}

// The marks around the matrix in testdata/found.md.
const (
	matrixBegin = "<!-- matrix: written by TestMatrix -update -->\n"
	matrixEnd   = "<!-- end of matrix -->\n"
)
