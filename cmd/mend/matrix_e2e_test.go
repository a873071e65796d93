//go:build e2e

package main

import (
	"flag"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mend/internal/opencode"
	"mend/internal/wound"
)

var everything = flag.Bool("everything", false, "every wound on every version; else each on one, in turn, and on all those whose fate differs")

// beds is how often the real program of each version runs.
const beds = 2

// Each wound is cut into the store of each version. Three things are shown: mend
// scan says broken when, and only when, the real program is refused or dies, and
// names the same rule; after mend repair the real program answers; after mend undo
// the store is identical and the real program fails as before.
func TestMatrix(t *testing.T) {
	var m matrix
	t.Run("on", func(t *testing.T) {
		for i, version := range wound.Versions {
			t.Run(version, func(t *testing.T) {
				t.Parallel()
				w := newWard(t, i, beds)
				for n, c := range wound.Table {
					if *everything || n%len(wound.Versions) == i || c.Want[0] != c.Want[1] || c.Want[1] != c.Want[2] {
						t.Run(c.Name, func(t *testing.T) {
							t.Parallel()
							m.put(c.Name, i, w.take(newPatient(t, i), c.Cut, c.Want[i]))
						})
					}
				}
			})
		}
	})
	m.end(t)
}

// take takes one wound through all, and says in a few words what became of it.
func (w ward) take(p *patient, cut func(wound.Store), want string) string {
	p.Helper()
	whole := p.records()
	wound.Into(p, p.path, p.session, cut)
	c := w.admit(p)
	real := c.before.Verdict
	if real != want {
		c.Errorf("the real program is %s, the table says %s; its reply:\n%.800s", real, want, c.before.Output)
	}
	c.predict()
	if real == opencode.Alive {
		c.untouched()
		c.cure(0, "--latent")
		c.back()
		return real
	}
	if unknowable(real) {
		c.find(hurt(whole, p.records()))
	}
	outcome := real + ", cured"
	if now := c.cure(2); now != opencode.Alive {
		outcome = real + ", not cured"
	}
	c.back()
	return outcome
}

// hurt is the ids of the records that the wound changed.
func hurt(whole, wounded []wound.Record) []string {
	var ids []string
	for _, r := range whole {
		if !slices.Contains(wounded, r) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// A matrix is what became of each wound on each version.
type matrix struct {
	mu    sync.Mutex
	cells map[string][len(wound.Versions)]string
}

func (m *matrix) put(name string, version int, outcome string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cells == nil {
		m.cells = map[string][len(wound.Versions)]string{}
	}
	row := m.cells[name]
	row[version] = outcome
	m.cells[name] = row
}

// table is the matrix in Markdown, and whether every cell was tried.
func (m *matrix) table() (text string, whole bool) {
	var b strings.Builder
	b.WriteString("| wound | " + strings.Join(wound.Versions[:], " | ") + " |\n|---|---|---|---|\n")
	whole = true
	for _, w := range wound.Table {
		row := m.cells[w.Name]
		b.WriteString("| " + w.Name + " | " + strings.Join(row[:], " | ") + " |\n")
		whole = whole && !slices.Contains(row[:], "")
	}
	return b.String(), whole
}

// What stands around the matrix in README.md.
const (
	matrixBegin = "<!-- matrix: written by TestMatrix -update -->\n"
	matrixEnd   = "<!-- end of matrix -->\n"
)

// end prints the matrix. If every cell was tried it is compared with the one in
// the README, or written there.
func (m *matrix) end(t *testing.T) {
	t.Helper()
	table, whole := m.table()
	t.Logf("what becomes of a prompt:\n%s", table)
	if !whole {
		return
	}
	const readme = "../../README.md"
	data, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, begins := strings.Cut(string(data), matrixBegin)
	was, tail, ends := strings.Cut(rest, matrixEnd)
	if !begins || !ends {
		t.Fatal("README.md has no place for the matrix")
	}
	if *update {
		if err := os.WriteFile(readme, []byte(head+matrixBegin+"\n"+table+"\n"+matrixEnd+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.TrimSpace(was), strings.TrimSpace(table)); diff != "" {
		t.Errorf("the matrix in README.md is not what was found; -update writes it (-README +found):\n%s", diff)
	}
}
