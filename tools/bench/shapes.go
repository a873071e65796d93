package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"mend/internal/test/bigstore"
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

// shapes measures how the steps grow with every dimension of a session whose name and kind of
// store match, as in "depth, tree".
func (l *lab) shapes(match *regexp.Regexp, rounds int) (all []grown, err error) {
	for _, shape := range bigstore.Shapes() {
		for _, kind := range [...]string{"tree", "db"} {
			g := grown{name: shape.Name, kind: kind, sizes: shape.Sizes}
			if !match.MatchString(g.title()) {
				continue
			}
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

// shape measures the steps on one session, whose repair is undone each time: the least processor
// time of the rounds, which other work on the machine changes least, and the most memory.
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
	commands := [len(steps)]command{
		{args: append(mend, "scan")},
		{args: append(mend, "repair", string(id), "--latent", "--force", "--yes"), state: state, until: "Repaired"},
		{args: append(mend, "undo", "--session", string(id), "--yes"), state: state, until: "Undone"},
	}
	for round := range rounds {
		for i, c := range commands {
			took, err := l.run(c)
			if err != nil {
				return 0, costs, err
			}
			if round == 0 || took.cpu < costs[i].cpu {
				costs[i].cpu = took.cpu
			}
			costs[i].peak = max(costs[i].peak, took.peak)
		}
	}
	return bytes, costs, nil
}

func (g grown) title() string { return g.name + ", " + g.kind }

// String returns a row of Markdown: for each step the processor time at each size, the factor of
// the worst doubling, and, where it has a bound, the memory at the largest size and how much of
// the bound is used at most.
func (g grown) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | %d to %d, %.1f MB |", g.title(), g.sizes[0], g.sizes[3], float64(g.bytes[3])/(1<<20))
	met := true
	for s := range steps {
		var all []string
		worst, memory := 0.0, 0.0 // memory in parts of what is allowed
		for i := range g.sizes {
			c := g.costs[i][s]
			all = append(all, short(c.cpu))
			if i > 0 {
				worst = max(worst, float64(c.cpu)/float64(g.costs[i-1][s].cpu))
			}
			if memoryShare[s] > 0 {
				memory = max(memory, float64(c.peak)/float64(64<<20+memoryShare[s]*g.bytes[i]))
			}
		}
		met = met && worst <= 2.5 && memory <= 1
		fmt.Fprintf(&b, " %s | %.1f |", strings.Join(all, ", "), worst)
		if memory > 0 {
			fmt.Fprintf(&b, " %d, %.0f %% |", g.costs[3][s].peak>>20, 100*memory)
		}
	}
	verdict := "yes"
	if !met {
		verdict = "**no**"
	}
	return b.String() + " " + verdict + " |\n"
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
	b.WriteString(growthHeading + "\nEach row is a damaged session that grows in one dimension, to twice, four and eight times its size\n" +
		"(`internal/test/bigstore` makes them). The goal is that no doubling takes more than 2.5 times the processor\n" +
		"time, and that a repair takes at most 64 MB of memory and 6 times the session, an undo 4 times. Times are\n" +
		"CPU ms at the four sizes, process start included, the least of the runs; \"× 2\" is the worst doubling;\n" +
		"memory is the peak in MB at the largest size, the most of the runs, and the largest share of the bound.\n\n" +
		"| session | from, to | scan | × 2 | repair | × 2 | memory | undo | × 2 | memory | met |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, g := range all {
		b.WriteString(g.String())
	}
	return b.String()
}
