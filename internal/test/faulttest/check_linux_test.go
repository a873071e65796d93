package faulttest_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mend/change"
	"mend/internal/test/faulttest"
)

// A cutCase is one run of the verb with a fault, or without.
type cutCase struct {
	*sandbox
	sum   *sweepResult
	run   faulttest.Result
	where string
}

func (c *cutCase) problem(format string, args ...any) {
	c.sum.problem("%s: exit code %d: %s\n%s", c.where, c.run.Code, fmt.Sprintf(format, args...), c.run.Err)
}

// checkFinished checks a run that ended without a fault.
func (c *cutCase) checkFinished() {
	c.where = c.sum.String() + ", no fault"
	if c.run.Code != 0 {
		c.problem("want exit code 0")
	}
	if now := c.snapshot(); !maps.Equal(now, c.after) && (c.half == nil || !maps.Equal(now, c.before)) {
		c.problem("the store is not as after the change")
	}
	c.checkPaths(c.run, c.problem)
	if left := c.leftovers(); len(left) > 0 {
		c.problem("left over: %q", left)
	}
}

// check checks the state after the cut, recovers, and checks again. The result depends only on the bytes in the sandbox, so
// equal states are checked once.
func (c *cutCase) check() {
	c.checkPaths(c.run, c.problem)
	known := len(c.found)
	f := c.inspect()
	c.sum.States += len(c.found) - known
	c.checkReport(f.entries)
	c.add(f.problemList)
	if f.recovered == nil {
		return
	}
	c.add(f.recovered.problemList)
	switch {
	case f.recovered.isBefore:
		c.sum.Before++
	case f.recovered.isAfter:
		c.sum.After++
	default:
		c.sum.Mixed++
	}
	if printed := ids(c.run.Out); !f.recovered.isAfter && (c.run.Code == 0 && c.half == nil || len(printed) > 0) {
		c.sum.Lost++
		c.problem("it reported %q as done, and the change is not made", printed)
	}
}

// checkStructure lets SQLite check the structure of the database.
func (c *cutCase) checkStructure() {
	var r problemList
	r.checkStructure(c.sandbox)
	c.add(r)
}

func (c *cutCase) add(r problemList) {
	c.sum.Torn += r.torn
	for _, p := range r.problems {
		c.problem("%s", p)
	}
}

func undecided(es []change.Entry) bool {
	return slices.ContainsFunc(es, func(e change.Entry) bool { return e.State == change.Pending })
}

func (sb *sandbox) changesRecords() bool {
	return sb.verb[0] != "gc" && sb.verb[0] != "forget" && !sb.makesCopy()
}

func (sb *sandbox) makesCopy() bool { return sb.verb[0] == "keep" }

// checkPaths checks that only files of the store and of mend were opened for writing.
func (sb *sandbox) checkPaths(r faulttest.Result, problem func(format string, args ...any)) {
	for _, call := range r.Calls {
		for _, p := range call.Paths {
			if !strings.HasPrefix(p+"/", sb.live+"/") {
				problem("%v is a call on a file of neither the store nor mend", call)
			}
		}
	}
}

// checkReport checks the exit code of a program that was not killed: 0 means that the change is committed, 6 that it is
// pending, any other that it is not committed. A power cut may have removed the entry since.
func (c *cutCase) checkReport(es []change.Entry) {
	if c.run.Code < 0 || !c.changesRecords() {
		return
	}
	undecided, committed := undecided(es), c.committed(es)
	switch {
	case c.half != nil: // the verb settles the change of an earlier one
		if c.run.Code == 0 && undecided {
			c.problem("exit code 0; the newest entries are %s", states(es))
		}
	case c.run.Code == 0 && (undecided || !committed):
		c.problem("exit code 0; the newest entries are %s", states(es))
	case c.run.Code == 6 && !undecided && !committed && c.disk == nil, c.run.Code != 0 && c.run.Code != 6 && committed:
		c.problem("the newest entries are %s", states(es))
	case c.run.Code != 6 && undecided:
		c.problem("want exit code 6, since an entry is pending: %s", states(es))
	}
}

func states(es []change.Entry) string {
	var s []string
	for _, e := range es {
		s = append(s, e.ID+" "+string(e.State))
	}
	return strings.Join(s, ", ")
}

// committed reports whether the scenario's change is committed.
func (sb *sandbox) committed(es []change.Entry) bool {
	return len(es) > sb.settled && es[0].State == change.Committed
}
