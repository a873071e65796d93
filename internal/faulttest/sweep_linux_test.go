package faulttest_test

import (
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// sweep does the fault to the scenario's verb at every call, or at those of [cuts], and
// looks each time that all is well again after recovery.
func (w *world) sweep(t trouble) *tally {
	w.Helper()
	sum := &tally{What: t.name, Store: w.kind, Verb: w.name}
	if w.disk != nil {
		sum.What += " on " + w.disk.name
	}
	for k := range w.cuts(sum) {
		w.begin()
		f := t.fault(w, k)
		f.At = k
		r := w.run(f, w.verb...)
		c := &cutCase{world: w, sum: sum, run: r}
		if !r.Hit {
			c.finished()
			return sum
		}
		if w.disk != nil {
			w.disk.restart()
		}
		sum.Cuts++
		c.where = fmt.Sprintf("%v, call %d (%s)", sum, k, strings.ReplaceAll(r.Calls[k-1].String(), w.live, ""))
		c.check()
	}
	return sum
}

// cuts are the calls to be cut at: each, but of a sample, and in a run of all tests,
// every fifth, which are others each day. A mend that is wrong on purpose is cut at
// each, until that is seen.
func (w *world) cuts(sum *tally) iter.Seq[int] {
	first, step := 1, 1
	if (level() == "" || level() == "sample") && !w.wrong {
		step = 5
		first += int(time.Now().Unix()/(24*60*60)) % step
	}
	return func(yield func(int) bool) {
		for k := first; !w.exposed(sum) && yield(k); k += step {
		}
	}
}

// exposed reports whether a mend that is wrong on purpose was seen to be.
func (w *world) exposed(sum *tally) bool { return w.wrong && len(sum.problems) > 0 }

var printedID = regexp.MustCompile(`as repair ([a-z]+)\. `)

// ids are the repairs that mend said were done.
func ids(out string) []string {
	var found []string
	for _, m := range printedID.FindAllStringSubmatch(out, -1) {
		found = append(found, m[1])
	}
	return found
}

// differences lists the names that do not hold what a wants, nor what b wants.
func differences(a, b, now snapshot) string {
	var out strings.Builder
	all := maps.Clone(now)
	maps.Copy(all, a)
	maps.Copy(all, b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if now[name] != a[name] || now[name] != b[name] {
			fmt.Fprintf(&out, "%s\n\tbefore %.90q\n\tafter  %.90q\n\tnow    %.90q\n", name, a[name], b[name], now[name])
		}
	}
	return out.String()
}
