package faulttest_test

import (
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// sweep runs the verb with the fault at each call of cuts, and checks each time that a recovery leaves a correct state.
func (sb *sandbox) sweep(t sweepFault) *sweepResult {
	sb.Helper()
	sum := &sweepResult{What: t.name, Store: sb.kind, Verb: sb.name}
	if sb.disk != nil {
		sum.What += " on " + sb.disk.name
	}
	for k := range sb.cuts(sum) {
		sb.begin()
		f := t.fault(sb, k)
		f.At = k
		r := sb.run(f, sb.verb...)
		c := &cutCase{sandbox: sb, sum: sum, run: r}
		if !r.Hit {
			c.checkFinished()
			return sum
		}
		if sb.disk != nil {
			sb.disk.restart()
		}
		sum.Cuts++
		c.where = fmt.Sprintf("%v, call %d (%s)", sum, k, strings.ReplaceAll(r.Calls[k-1].String(), sb.live, ""))
		c.check()
	}
	return sum
}

// cuts yields the calls to cut at: in a sample every sixtieth, otherwise every call. A mend with a deliberate bug is cut at
// every call until a problem is found.
func (sb *sandbox) cuts(sum *sweepResult) iter.Seq[int] {
	step := 1
	if !sb.wrong && level() == "sample" {
		step = 60
	}
	return func(yield func(int) bool) {
		for k := 1; !sb.exposed(sum) && yield(k); k += step {
		}
	}
}

// exposed reports whether a deliberate bug was found.
func (sb *sandbox) exposed(sum *sweepResult) bool { return sb.wrong && len(sum.problems) > 0 }

var printedID = regexp.MustCompile(` \(([a-z]+)\)\. Undo: `)

// ids returns the repairs that mend reported as done.
func ids(out string) []string {
	var found []string
	for _, m := range printedID.FindAllStringSubmatch(out, -1) {
		found = append(found, m[1])
	}
	return found
}

// differences lists the names whose content differs from a or from b.
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
