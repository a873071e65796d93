package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// A bench is the lab with the commands, by their places.
type bench struct {
	*lab
	all [commands]command
}

// table measures the commands and returns the rows.
func (l *lab) table(parts, rounds int) (*table, error) {
	b := bench{lab: l}
	for _, add := range []func(int) error{b.trees, b.databases, b.transcripts} {
		if err := add(parts); err != nil {
			return nil, err
		}
	}
	costs, err := l.measure(rounds, b.all[:])
	if err != nil {
		return nil, err
	}
	t := &table{}
	for _, r := range rows {
		t.add(r, costs[r.is], costs[r.of])
	}
	return t, b.measured(t)
}

// scans returns the commands that scan a store, and that scan it again. It runs the second once.
func (b *bench) scans(name, store string) (scan, again command, err error) {
	args := []string{b.path("mend"), "--store", store, "scan"}
	scan, again = command{args: args}, command{args: args, cache: b.path("cache-" + name)}
	_, err = b.run(again)
	return scan, again, err
}

func (b *bench) trees(parts int) (err error) {
	data, err := b.store("tree", parts)
	if err != nil {
		return err
	}
	storage := filepath.Join(data, "storage")
	read := []string{b.path("readall"), storage, "2"}
	b.all[readTree] = command{args: read, before: once(read)}
	b.all[statTree] = command{args: append(read, "stat")}
	b.all[bunTree] = b.bun("floor/tree.ts", storage, "1")
	b.all[scanTree], b.all[againTree], err = b.scans("tree", data)
	return err
}

func (b *bench) databases(parts int) (err error) {
	data, err := b.store("db", parts)
	if err != nil {
		return err
	}
	read := []string{b.path("readall"), filepath.Dir(data), "1"}
	b.all[readDB] = command{args: read, before: once(read)}
	b.all[bunDB] = b.bun("floor/scan.ts", filepath.Join(data, "opencode.db"))
	b.all[empty] = command{args: []string{b.path("empty")}, repeat: 5}
	b.all[scanDB], b.all[againDB], err = b.scans("db", data)
	b.all[againDB].repeat = 5
	state := b.path("state-keep")
	b.all[keepDB] = command{
		args: []string{b.path("mend"), "--store", data, "keep"}, state: state, until: "Kept",
		before: func() error { return os.RemoveAll(state) },
	}
	return err
}

// transcripts adds commands on sessions of Claude Code, one for each ten parts of the other stores.
func (b *bench) transcripts(parts int) (err error) {
	dir := b.path(fmt.Sprintf("transcripts-%d", parts/10))
	if err := b.makeOnce(dir, b.path("make"), "transcripts", strconv.Itoa(parts/10)); err != nil {
		return err
	}
	root := filepath.Join(dir, ".claude")
	read := []string{b.path("readall"), root, "2", "walk"}
	b.all[readTranscripts] = command{args: read, before: once(read)}
	b.all[bunTranscripts] = b.bun("floor/transcripts.ts", filepath.Join(root, "projects"))
	b.all[statTranscripts] = command{args: []string{b.path("readall"), root, "2", "stat"}}
	b.all[scanTranscripts], b.all[againTranscripts], err = b.scans("transcripts", root)
	return err
}

// once runs a command without measuring it, so that what it reads is in the cache.
func once(args []string) func() error {
	return func() error { return exec.Command(args[0], args[1:]...).Run() }
}

// measured adds rows about what benchmarks of mend measure. Each is run once.
func (b *bench) measured(t *table) error {
	outs := map[string]string{}
	for _, m := range measured {
		out, ok := outs[m.benchmark]
		if !ok {
			cmd := exec.Command("go", "test", "-run", "^$", "-bench", m.benchmark, "-benchtime", "30x", "./internal/mend")
			cmd.Dir, cmd.Stderr = "../..", os.Stderr
			printed, err := cmd.Output()
			if out = string(printed); err != nil {
				return fmt.Errorf("running the benchmark %s: %w: %s", m.benchmark, err, out)
			}
			outs[m.benchmark] = out
		}
		value, err := benchmarkFigure(out, m.name, m.unit)
		if err != nil {
			return err
		}
		t.line(m.work+", "+strings.ReplaceAll(m.name, "_", " "), m.measure, cost{}, cost{}, ratio, value, m.goal)
	}
	return nil
}

// benchmarkFigure returns the figure of that unit that the benchmark of that name printed.
func benchmarkFigure(out, name, unit string) (float64, error) {
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) == 0 || !strings.Contains(fields[0], name) {
			continue
		}
		for i, f := range fields[1:] {
			if f == unit {
				return strconv.ParseFloat(fields[i], 64)
			}
		}
	}
	return 0, fmt.Errorf("the benchmark %s printed no %s: %s", name, unit, out)
}
