package faulttest_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mend/change"
	"mend/internal/faulttest"
)

// A cutCase is one cut.
type cutCase struct {
	*world
	sum   *tally
	run   faulttest.Result
	where string
}

func (c *cutCase) problem(format string, args ...any) {
	c.sum.problem("%s: exit code %d: %s\n%s", c.where, c.run.Code, fmt.Sprintf(format, args...), c.run.Err)
}

// finished checks the run that no fault came to.
func (c *cutCase) finished() {
	c.where = c.sum.String() + ", no fault"
	if c.run.Code != 0 {
		c.problem("want exit code 0")
	}
	if now := c.snapshot(); !maps.Equal(now, c.after) && (c.half == nil || !maps.Equal(now, c.before)) {
		c.problem("the store is not as it should be")
	}
	c.inside(c.run, c.problem)
	if left := c.litter(); len(left) > 0 {
		c.problem("left over: %q", left)
	}
}

// check looks what the cut left, recovers, and looks again. What it sees after
// the run depends on nothing but what the world holds then, to the byte, so
// equal states are looked at once.
func (c *cutCase) check() {
	c.inside(c.run, c.problem)
	known := len(c.found)
	f := c.look()
	c.sum.States += len(c.found) - known
	c.told(f.entries)
	c.take(f.remarks)
	if f.ending == nil {
		return
	}
	c.take(f.ending.remarks)
	switch {
	case f.ending.isBefore:
		c.sum.Before++
	case f.ending.isAfter:
		c.sum.After++
	default:
		c.sum.Mixed++
	}
	if printed := ids(c.run.Out); !f.ending.isAfter && (c.run.Code == 0 && c.half == nil || len(printed) > 0) {
		c.sum.Lost++
		c.problem("it said done %q, and it is not", printed)
	}
}

// sound lets SQLite check the structure of the database.
func (c *cutCase) sound() {
	var r remarks
	r.sound(c.world)
	c.take(r)
}

// take makes what is wrong with the state a problem of this cut.
func (c *cutCase) take(r remarks) {
	c.sum.Torn += r.torn
	for _, p := range r.problems {
		c.problem("%s", p)
	}
}

func undecided(es []change.Entry) bool {
	return slices.ContainsFunc(es, func(e change.Entry) bool { return e.State == change.Pending })
}

// changes reports whether the verb is one that changes records.
func (w *world) changes() bool { return w.verb[0] != "gc" && w.verb[0] != "forget" }

// inside checks that nothing was opened for writing but the store and what is
// mend's own (I8).
func (w *world) inside(r faulttest.Result, problem func(format string, args ...any)) {
	for _, call := range r.Calls {
		for _, p := range call.Paths {
			if !strings.HasPrefix(p+"/", w.live+"/") {
				problem("%v is neither the store's nor mend's", call)
			}
		}
	}
}

// told checks what a program that ended by itself has said (I3): done only if it
// is done, failed only if it is not, and else that recovery has to tell; a disk
// may since have lost what there was to tell.
func (c *cutCase) told(es []change.Entry) {
	if c.run.Code < 0 || !c.changes() {
		return
	}
	undecided, committed := undecided(es), c.committed(es)
	switch {
	case c.half != nil: // what is decided is not what the verb was asked for
		if c.run.Code == 0 && undecided {
			c.problem("it said done; the newest entries are %s", states(es))
		}
	case c.run.Code == 0 && (undecided || !committed):
		c.problem("it said done; the newest entries are %s", states(es))
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

// committed reports whether the change that the scenario is about is committed.
func (w *world) committed(es []change.Entry) bool {
	return len(es) > w.settled && es[0].State == change.Committed
}
