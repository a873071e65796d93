package main

import (
	"fmt"
	"strings"
	"time"
)

// A row is a figure about a command, most often against another one, and what it
// should be.
type row struct {
	work    string // of mend
	measure string // what the figure is, as in "÷ C: read all"
	is, of  int    // the commands, by their places among those measured
	figure  figure
	goal    float64
}

// A figure says how two costs make a number, and in which direction it is good.
type figure struct {
	of      func(is, of cost) float64
	format  string
	atLeast bool // the goal
}

// The figures.
var (
	ratio    = figure{of: func(is, of cost) float64 { return float64(is.wall) / float64(of.wall) }, format: "%.2f"}
	gain     = figure{of: func(is, of cost) float64 { return float64(of.wall) / float64(is.wall) }, format: "%.2f", atLeast: true}
	cpuRatio = figure{of: func(is, of cost) float64 { return float64(is.cpu) / float64(of.cpu) }, format: "%.2f"}
	cpuGain  = figure{of: func(is, of cost) float64 { return float64(of.cpu) / float64(is.cpu) }, format: "%.2f", atLeast: true}
	over     = figure{of: func(is, of cost) float64 { return millis(is.wall - of.wall) }, format: "%.1f ms"}
	memory   = figure{of: func(is, _ cost) float64 { return float64(is.peak) / (1 << 20) }, format: "%.0f MB"}
)

func millis(d time.Duration) float64 { return d.Seconds() * 1000 }

// A table is text in Markdown.
type table struct{ lines strings.Builder }

// add adds the row with the costs of its commands.
func (t *table) add(r row, is, of cost) {
	if missing := is.missing + of.missing; missing != "" {
		fmt.Fprintf(&t.lines, "| %s | %s | %s | %s | – | | not measured: %s |\n", r.work, r.measure, is.cells(), of.cells(), missing)
		return
	}
	t.line(r.work, r.measure, is, of, r.figure, r.figure.of(is, of), r.goal)
}

// line adds a row with a figure of that value.
func (t *table) line(work, measure string, is, of cost, f figure, value, goal float64) {
	bound, met := "≤ ", value <= goal
	if f.atLeast {
		bound, met = "≥ ", value >= goal
	}
	verdict := "yes"
	if !met { // also if there is no number
		verdict = "**no**"
	}
	fmt.Fprintf(&t.lines, "| %s | %s | %s | %s | %s | %s | %s |\n", work, measure, is.cells(), of.cells(), fmt.Sprintf(f.format, value), bound+fmt.Sprintf(f.format, goal), verdict)
}

// cells returns the wall time, the processor time and the peak of memory.
func (c cost) cells() string {
	if c.wall == 0 {
		return "– | – | –"
	}
	return fmt.Sprintf("%s | %s | %d", short(c.wall), short(c.cpu), c.peak>>20)
}

// short returns the time in milliseconds, with as many digits as are significant.
func short(d time.Duration) string {
	if ms := millis(d); ms < 20 {
		return fmt.Sprintf("%.1f", ms)
	}
	return fmt.Sprintf("%.0f", millis(d))
}

func (t *table) String() string {
	return "| work | measure | ms | CPU ms | peak MB | against: ms | CPU ms | peak MB | figure | goal | met |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|\n" + t.lines.String()
}
