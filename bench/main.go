// Bench measures mend against floors: small programs that do no more than the
// disk has to be asked for. It makes its stores and programs in a folder that it
// keeps, runs everything interleaved, prints a table of the medians with goals,
// and writes it to a page of the documentation, with a plot of how costs grow.
//
//	go run . [-parts N] [-rounds N] [-grow N,N,…] [-work DIR] [-docs DIR]
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func main() {
	var o options
	flag.IntVar(&o.parts, "parts", 100_000, "parts of the stores that the table is about")
	flag.IntVar(&o.rounds, "rounds", 7, "how often each command is run")
	flag.StringVar(&o.grow, "grow", "1000,10000,100000", "parts of the stores that the plot is about")
	flag.StringVar(&o.work, "work", "../bin/bench", "folder for stores and programs, kept")
	flag.StringVar(&o.docs, "docs", "../docs", "folder of performance.md; \"\" to write nothing")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	parts, rounds    int
	grow, work, docs string
}

func run(o options) error {
	work, err := filepath.Abs(o.work)
	if err != nil {
		return err
	}
	l, err := newLab(work)
	if err != nil {
		return err
	}
	table, err := l.table(o.parts, o.rounds)
	if err != nil {
		return err
	}
	fmt.Print(table)
	var points []point
	for n := range strings.SplitSeq(o.grow, ",") {
		parts, err := strconv.Atoi(n)
		if err != nil {
			return fmt.Errorf("reading -grow: %w", err)
		}
		p, err := l.growth(parts, min(o.rounds, 3))
		if err != nil {
			return err
		}
		fmt.Println(p)
		points = append(points, p)
	}
	if o.docs == "" {
		return nil
	}
	return cmp.Or(plotGrowth(filepath.Join(o.docs, "performance.svg"), points), writePage(filepath.Join(o.docs, "performance.md"), table, points))
}
