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
	reason  string // what there is to say if the goal is missed
}

// A figure says how two costs make a number, and in which direction it is good.
type figure struct {
	of      func(is, of cost) float64
	format  string
	atLeast bool // the goal
}

// The figures.
var (
	ratio   = figure{of: func(is, of cost) float64 { return float64(is.wall) / float64(of.wall) }, format: "%.2f"}
	gain    = figure{of: func(is, of cost) float64 { return float64(of.wall) / float64(is.wall) }, format: "%.1f", atLeast: true}
	over    = figure{of: func(is, of cost) float64 { return millis(is.wall - of.wall) }, format: "%.1f ms"}
	share   = figure{of: func(is, _ cost) float64 { return 100 * float64(is.first) / float64(is.wall) }, format: "%.1f %%"}
	flushes = figure{of: func(is, _ cost) float64 { return float64(is.flushes) }, format: "%.0f"}
	memory  = figure{of: func(is, _ cost) float64 { return float64(is.peak) / (1 << 20) }, format: "%.0f MB"}
)

func millis(d time.Duration) float64 { return d.Seconds() * 1000 }

// A table is text in Markdown, with what there is to say about missed goals.
type table struct{ lines, reasons strings.Builder }

// add puts a row in.
func (t *table) add(r row, is, of cost) {
	bound, value, verdict := "≤ ", "–", ""
	if r.figure.atLeast {
		bound = "≥ "
	}
	if missing := is.missing + of.missing; missing != "" {
		verdict = "not measured: " + missing
	} else {
		v := r.figure.of(is, of)
		value, verdict = fmt.Sprintf(r.figure.format, v), "yes"
		if r.figure.atLeast && !(v >= r.goal) || !r.figure.atLeast && !(v <= r.goal) { // not the other way round: there may be no number
			verdict = "**no**"
			t.explain(r)
		}
	}
	fmt.Fprintf(&t.lines, "| %s | %s | %s | %s | %s | %s | %s |\n", r.work, r.measure, is.cells(), of.cells(), value, bound+fmt.Sprintf(r.figure.format, r.goal), verdict)
}

func (t *table) explain(r row) {
	if r.reason != "" {
		fmt.Fprintf(&t.reasons, "- *%s, %s*: %s\n", r.work, r.measure, r.reason)
	}
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
	const head = "| work | measure | ms | CPU ms | peak MB | against: ms | CPU ms | peak MB | figure | goal | met |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|\n"
	text := head + t.lines.String()
	if t.reasons.Len() > 0 {
		text += "\nGoals that are not met:\n\n" + t.reasons.String()
	}
	return text
}
