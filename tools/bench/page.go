package main

import (
	"bytes"
	"fmt"
	"image/color"
	"os"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// plotGrowth draws time and memory over size, side by side, with logarithmic axes. Lines of
// databases are dashed.
func plotGrowth(path string, points []point) error {
	if len(points) == 0 {
		return nil
	}
	time, err := panel("milliseconds", points, func(c cost) float64 { return millis(c.wall) })
	if err != nil {
		return err
	}
	memory, err := panel("MB at most", points, func(c cost) float64 { return float64(c.peak) / (1 << 20) })
	if err != nil {
		return err
	}
	time.Legend.Top, time.Legend.Left = true, true
	memory.Legend = plot.NewLegend()
	canvas := vgsvg.New(26*vg.Centimeter, 11*vg.Centimeter)
	both := [][]*plot.Plot{{time, memory}}
	for i, c := range plot.Align(both, draw.Tiles{Rows: 1, Cols: 2, PadX: vg.Centimeter}, draw.New(canvas))[0] {
		both[0][i].Draw(c)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := canvas.WriteTo(f); err != nil {
		f.Close()
		return fmt.Errorf("drawing %s: %w", path, err)
	}
	return f.Close()
}

// panel returns a plot of one value of the costs.
func panel(unit string, points []point, value func(cost) float64) (*plot.Plot, error) {
	p := plot.New()
	p.BackgroundColor = color.White
	p.X.Label.Text, p.Y.Label.Text = "parts", unit
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
	for i, name := range measured {
		var xy plotter.XYs
		for _, at := range points {
			xy = append(xy, plotter.XY{X: float64(at.parts), Y: max(value(at.costs[i]), 0.1)})
		}
		line, dots, err := plotter.NewLinePoints(xy)
		if err != nil {
			return nil, fmt.Errorf("drawing %s: %w", name, err)
		}
		const kinds = len(measured) / 2
		line.Color, dots.Color = plotutil.Color(i%kinds), plotutil.Color(i%kinds)
		if i >= kinds {
			line.Dashes = plotutil.Dashes(1)
		}
		p.Add(line, dots)
		p.Legend.Add(name, line, dots)
	}
	return p, nil
}

// byHand begins the part of the page that stays as it is.
const byHand = "\n## Measured by hand\n"

// writePage writes the page with the table and the picture.
func writePage(path, about string, t *table, points []point, shapes []grown) error {
	var b strings.Builder
	b.WriteString("# Performance\n\nWritten by `make bench`: mend against programs that do no more than the disk has to be asked for\n(`bench/floor`), on stores that `internal/bigstore` makes. " + about + "\n\n")
	b.WriteString(t.String())
	b.WriteString("\n## Growth\n\nRepair and undo are of one part in the newest session. Before the first change of a\ndatabase SQLite checks every page of it (`PRAGMA integrity_check`), since a damaged one is\nnever written: that is what grows with it. A tree of 1,000,000 parts is 1.2 million files,\nwhich the cache of the disk may not keep.\n\n![time and memory over size](performance.svg)\n\n| parts |")
	for _, name := range measured {
		b.WriteString(" " + name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(measured)) + "\n")
	for _, p := range points {
		b.WriteString(p.String() + "\n")
	}
	b.WriteString(shapesTable(shapes))
	if old, err := os.ReadFile(path); err == nil {
		if i := bytes.Index(old, []byte(byHand)); i >= 0 {
			b.Write(old[i:])
		}
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
