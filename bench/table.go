package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A row compares two commands, by their places among those measured.
type row struct {
	work, floor string
	is, of      int
	goal        float64
}

// The commands that the table is made of.
const (
	readTree = iota
	statTree
	readDB
	statDB
	nothing
	scanTree
	againTree
	changedTree
	scanDB
	againDB
	status
)

var rows = []row{
	{"full scan of the tree", "C: read all, 2 threads", scanTree, readTree, 1.8},
	{"scan the tree again, nothing changed", "C: stat all, 2 threads", againTree, statTree, 1.3},
	{"scan the tree again, one session changed", "the same with nothing changed", changedTree, againTree, 1.05},
	{"full scan of the database", "C: read the file once", scanDB, readDB, 2.5},
	{"scan the database again, nothing changed", "Go: stat of the file and its -wal", againDB, statDB, 1.5},
}

// table measures and tells, as Markdown.
func (l *lab) table(parts, rounds int) (string, error) {
	tree, err := l.store("tree", parts)
	if err != nil {
		return "", err
	}
	db, err := l.store("db", parts)
	if err != nil {
		return "", err
	}
	commands, err := l.commands(tree, db)
	if err != nil {
		return "", err
	}
	costs, err := l.measure(rounds, commands)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Medians of %d interleaved runs, %d parts, warm cache, process start included.\n\n", rounds, parts)
	b.WriteString("| work | ms | CPU ms | peak MB | ÷ | floor ms | CPU ms | ratio | of CPU | goal |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		is, of := costs[r.is], costs[r.of]
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %s | %d | %d | %.2f | %.2f | %.2f |\n", r.work, is.wall.Milliseconds(), is.cpu.Milliseconds(), is.peak>>20,
			r.floor, of.wall.Milliseconds(), of.cpu.Milliseconds(), float64(is.wall)/float64(of.wall), float64(is.cpu)/float64(of.cpu), r.goal)
	}
	over := costs[status].wall - costs[nothing].wall
	fmt.Fprintf(&b, "\n`mend status` takes %.1f ms more than an empty Go program; the goal is 15 ms.\n", over.Seconds()*1000)
	return b.String(), nil
}

func (l *lab) commands(tree, db string) ([]command, error) {
	warm := filepath.Join(l.dir, "cache")
	readall, mend := l.program("readall"), l.program("mend")
	storage := filepath.Join(tree, "storage")
	changed, err := firstPart(storage)
	if err != nil {
		return nil, err
	}
	touch := func() error {
		data, err := os.ReadFile(changed)
		return errors.Join(err, os.WriteFile(changed, data, 0o644))
	}
	all := make([]command, status+1)
	all[readTree] = command{args: []string{readall, storage, "2"}}
	all[statTree] = command{args: []string{readall, storage, "2", "stat"}}
	all[readDB] = command{args: []string{readall, filepath.Dir(db), "1"}}
	all[statDB] = command{args: []string{l.program("stat"), filepath.Join(db, "opencode.db"), filepath.Join(db, "opencode.db-wal")}}
	all[nothing] = command{args: []string{l.program("empty")}}
	all[scanTree] = command{args: []string{mend, "scan", "--store", tree}}
	all[againTree] = command{args: all[scanTree].args, cache: warm}
	all[changedTree] = command{args: all[scanTree].args, cache: warm + "-changed", before: touch}
	all[scanDB] = command{args: []string{mend, "scan", "--store", db}}
	all[againDB] = command{args: all[scanDB].args, cache: warm}
	all[status] = command{args: []string{mend, "status", "--store", tree}, cache: warm}
	for _, i := range []int{againTree, changedTree, againDB} { // what was scanned before
		if _, err := l.run(all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// firstPart is a part of the first session of a tree.
func firstPart(storage string) (string, error) {
	all, err := filepath.Glob(filepath.Join(storage, "part", "*"))
	if err != nil || len(all) == 0 {
		return "", fmt.Errorf("no parts in %s: %w", storage, err)
	}
	parts, err := filepath.Glob(filepath.Join(all[0], "*.json"))
	if err != nil || len(parts) == 0 {
		return "", fmt.Errorf("no parts in %s: %w", all[0], err)
	}
	return parts[0], nil
}
