package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"mend/internal/bigstore"
)

// steps are the verbs that are measured on each shape of a session.
var steps = [...]string{"scan", "repair", "undo"}

// grown has the costs of the steps on one shape, at each of its sizes.
type grown struct {
	name  string
	kind  string // of the store: tree or db
	sizes [4]int
	costs [4][len(steps)]cost
	bytes [4]int64 // of the session
}

// shapes measures how the steps grow with every dimension of a session, in a tree and in
// a database.
func (l *lab) shapes(rounds int) (all []grown, err error) {
	for _, shape := range bigstore.Shapes() {
		for _, kind := range [...]string{"tree", "db"} {
			g := grown{name: shape.Name, kind: kind, sizes: shape.Sizes}
			for i, n := range shape.Sizes {
				if g.bytes[i], g.costs[i], err = l.shape(kind, shape.Name, n, rounds); err != nil {
					return nil, err
				}
			}
			fmt.Print(g)
			all = append(all, g)
		}
	}
	return all, nil
}

// shape measures the steps on one session, whose repair is undone each time.
func (l *lab) shape(kind, name string, n, rounds int) (bytes int64, costs [len(steps)]cost, err error) {
	dir := l.path("grown-" + kind + "-" + strings.NewReplacer(" ", "-", ",", "").Replace(name) + fmt.Sprint("-", n))
	if err := l.makeOnce(dir, l.path("make"), "grown-"+kind, name, fmt.Sprint(n)); err != nil {
		return 0, costs, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	id, err := os.ReadFile(filepath.Join(dir, "session"))
	if err != nil {
		return 0, costs, err
	}
	size, err := os.ReadFile(filepath.Join(dir, "bytes"))
	if err == nil {
		bytes, err = strconv.ParseInt(string(size), 10, 64)
	}
	if err != nil {
		return 0, costs, err
	}
	mend, state := []string{l.path("mend"), "--store", filepath.Join(dir, "opencode")}, filepath.Join(dir, "state")
	measured, err := l.measure(rounds, []command{
		{args: append(mend, "scan")},
		{args: append(mend, "repair", string(id), "--latent", "--force", "--yes"), state: state, until: "Repaired"},
		{args: append(mend, "undo", "--session", string(id), "--yes"), state: state, until: "Restored"},
	})
	copy(costs[:], measured)
	return bytes, costs, err
}

// String returns rows of Markdown, one for each step: the processor time at each size, the factor
// of the worst doubling, and the memory compared with its bound.
func (g grown) String() string {
	var b strings.Builder
	for s, step := range steps {
		fmt.Fprintf(&b, "| %s, %s | %d to %d | %s |", g.name, g.kind, g.sizes[0], g.sizes[len(g.sizes)-1], step)
		worst, memory := 0.0, 0.0 // memory in parts of what is allowed
		for i := range g.sizes {
			c := g.costs[i][s]
			fmt.Fprintf(&b, " %s |", short(c.cpu))
			if i > 0 {
				worst = max(worst, float64(c.cpu)/float64(g.costs[i-1][s].cpu))
			}
			if memoryShare[s] > 0 {
				memory = max(memory, float64(c.peak)/float64(64<<20+memoryShare[s]*g.bytes[i]))
			}
		}
		allowed, verdict := "–", "yes"
		if memory > 0 {
			allowed = fmt.Sprintf("%.0f %%", 100*memory)
		}
		if worst > 2.5 || memory > 1 {
			verdict = "**no**"
		}
		fmt.Fprintf(&b, " %.1f | %.0f | %s | %s |\n", worst, float64(g.costs[len(g.costs)-1][s].peak)/(1<<20), allowed, verdict)
	}
	return b.String()
}

// memoryShare is how many times the session each step may take, beside 64 MB; 0 for a step
// without a bound.
var memoryShare = [len(steps)]int64{0, 6, 4}

// shapesTable returns the part of the page about the growth of sessions.
func shapesTable(all []grown) string {
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n## Growth of one session\n\nEach row is a session that grows in one dimension, to twice, four and eight times its size\n" +
		"(`internal/bigstore` makes them). The goal is that no doubling takes more than 2.5 times the processor\n" +
		"time, and that a repair takes at most 64 MB of memory and 6 times the session, an undo 4 times.\n\n" +
		"| dimension | from, to | verb | CPU ms | × 2 | × 4 | × 8 | worst doubling | peak MB at × 8 | of the memory allowed | met |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, g := range all {
		b.WriteString(g.String())
	}
	return b.String()
}
