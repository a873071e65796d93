// Bench measures mend against floors: small programs that do no more than the
// disk has to be asked for. It makes its stores and programs in a folder that it
// keeps, runs everything interleaved, prints a table of the medians with goals,
// and writes it to a page of the documentation, with a plot of how costs grow.
//
//	go run . [-parts N] [-rounds N] [-grow N,N,…] [-shapes=false] [-work DIR] [-docs DIR]
//
// Its first run takes minutes to make the stores, and 4 GB. With a store of
// 1,000,000 parts it needs 10 GB more until that is measured:
//
//	go run . -grow 1000,10000,100000,300000,1000000
//
// Only the growth of one session with each dimension, printed and not written:
//
//	go run . -parts 0 -grow "" -docs ""
//
// As root it also empties the disk cache of the whole machine, three times a
// command, to measure without it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

func main() {
	var o options
	flag.IntVar(&o.parts, "parts", 100_000, "parts of the stores that the table is about; 0 for no table")
	flag.IntVar(&o.rounds, "rounds", 3, "how often each command is run")
	flag.StringVar(&o.grow, "grow", "1000,10000,100000,300000", "parts of the stores that the plot is about; \"\" for none")
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
	parts, rounds    int
	grow, work, docs string
	shapes           string
}

func run(o options) (err error) {
	work, err := filepath.Abs(o.work)
	if err != nil {
		return err
	}
	l, err := newLab(work)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.clean()) }()
	t := &table{}
	if o.parts > 0 {
		if t, err = l.table(o.parts, o.rounds); err != nil {
			return err
		}
	}
	points, err := l.growths(o.grow, min(o.rounds, 3))
	if err != nil {
		return err
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
	t.memoryRows(points)
	if o.parts > 0 {
		fmt.Print(t)
	}
	if o.docs == "" {
		return nil
	}
	about := fmt.Sprintf("Medians of %d interleaved runs, %d parts, warm cache unless said, process start included.", o.rounds, o.parts)
	return errors.Join(plotGrowth(filepath.Join(o.docs, "performance.svg"), points), writePage(filepath.Join(o.docs, "performance.md"), about, t, points, all))
}

// growths measures stores of the sizes that are listed.
func (l *lab) growths(list string, rounds int) (points []point, err error) {
	for n := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' }) {
		parts, err := strconv.Atoi(n)
		if err != nil {
			return nil, fmt.Errorf("reading -grow: %w", err)
		}
		p, err := l.growth(parts, rounds)
		if err != nil {
			return nil, err
		}
		fmt.Println(p)
		points = append(points, p)
	}
	return points, nil
}
