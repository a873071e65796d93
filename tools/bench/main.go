// Bench measures mend against floors: small programs that do no more than the
// disk has to be asked for. It makes its stores and programs in a folder that it
// keeps, runs everything interleaved, prints a table of the medians with goals,
// and writes it to a page of the documentation.
//
//	go run . [-parts N] [-rounds N] [-shapes REGEXP] [-work DIR] [-docs DIR]
//
// Its first run takes minutes to make the stores, and 4 GB. Only the growth of one session with each
// dimension, printed and not written:
//
//	go run . -parts 0 -docs ""
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

func main() {
	var o options
	flag.IntVar(&o.parts, "parts", 100_000, "parts of the stores that the table is about; 0 for no table")
	flag.IntVar(&o.rounds, "rounds", 3, "how often each command is run")
	flag.StringVar(&o.shapes, "shapes", ".", `measure how the cost grows with the dimensions of one session that this regular expression matches, such as "^depth, tree"; "" for none`)
	flag.StringVar(&o.work, "work", "../../bin/bench", "folder for stores and programs, kept")
	flag.StringVar(&o.docs, "docs", "../../docs", "folder of performance.md; \"\" to write nothing")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	parts, rounds      int
	shapes, work, docs string
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
	t := &table{}
	if o.parts > 0 {
		if t, err = l.table(o.parts, o.rounds); err != nil {
			return err
		}
	}
	var all []grown
	if o.shapes != "" {
		match, err := regexp.Compile(o.shapes)
		if err != nil {
			return fmt.Errorf("reading -shapes: %w", err)
		}
		if all, err = l.shapes(match, o.rounds); err != nil {
			return err
		}
	}
	if o.parts > 0 {
		fmt.Print(t)
	}
	if o.docs == "" {
		return nil
	}
	about := fmt.Sprintf("Medians of %d interleaved runs, %d parts, warm cache, process start included.", o.rounds, o.parts)
	return writePage(filepath.Join(o.docs, "performance.md"), about, t, all)
}
