package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	_ "gonum.org/v1/plot/vg/vgsvg" // the format of the picture
)

// A point is what a store of some size costs.
type point struct {
	parts int
	costs [len(measured)]cost
}

// measured is what is measured of each store, in this order.
var measured = [...]string{"scan, tree", "scan again, tree", "scan, database", "scan again, database"}

func (p point) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %d |", p.parts)
	for _, c := range p.costs {
		fmt.Fprintf(&b, " %d ms, %d MB |", c.wall.Milliseconds(), c.peak>>20)
	}
	return b.String()
}

// growth measures stores of so many parts.
func (l *lab) growth(parts, rounds int) (point, error) {
	p := point{parts: parts}
	var commands []command
	warm := filepath.Join(l.dir, fmt.Sprintf("cache-of-%d", parts))
	for _, kind := range []string{"tree", "db"} {
		store, err := l.store(kind, parts)
		if err != nil {
			return p, err
		}
		scan := []string{l.program("mend"), "scan", "--store", store}
		again := command{args: scan, cache: warm}
		if _, err := l.run(again); err != nil {
			return p, err
		}
		commands = append(commands, command{args: scan}, again)
	}
	costs, err := l.measure(rounds, commands)
	copy(p.costs[:], costs)
	return p, err
}

// plotGrowth draws time over size, both by their logarithms.
func plotGrowth(path string, points []point) error {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "parts", "milliseconds"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.Left = true, true
	var lines []any
	for i, name := range measured {
		var xy plotter.XYs
		for _, at := range points {
			xy = append(xy, plotter.XY{X: float64(at.parts), Y: max(at.costs[i].wall.Seconds()*1000, 0.1)})
		}
		lines = append(lines, name, xy)
	}
	if err := plotutil.AddLinePoints(p, lines...); err != nil {
		return fmt.Errorf("drawing %s: %w", path, err)
	}
	return p.Save(16*vg.Centimeter, 10*vg.Centimeter, path)
}

// writePage writes the page with the table and the picture.
func writePage(path, table string, points []point) error {
	var b strings.Builder
	b.WriteString("# Performance\n\nWritten by `make bench`: mend against small programs that do no more than the disk has to be asked for\n(`bench/floor`), on stores that `internal/bigstore` makes.\n\n")
	b.WriteString(table)
	b.WriteString("\n## Growth\n\n![time over size](performance.svg)\n\n| parts |")
	for _, name := range measured {
		b.WriteString(" " + name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(measured)) + "\n")
	for _, p := range points {
		b.WriteString(p.String() + "\n")
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
