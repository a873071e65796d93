package faulttest_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mend/change"
	"mend/internal/faulttest"
	"mend/internal/wound"
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
	c.inside()
	if left := c.litter(); len(left) > 0 {
		c.problem("left over: %q", left)
	}
}

// check looks what the cut left, recovers, and looks again.
func (c *cutCase) check() {
	c.inside()
	c.whole()
	es := c.entries()
	c.told(es)
	if c.thorough() || undecided(es) || len(c.litter()) > 0 {
		if code, out := c.plain("recover"); code != 0 {
			c.problem("recover: exit code %d:\n%s", code, out)
			return
		}
	}
	now := c.snapshot()
	committed := c.outcome(c.entries())
	switch {
	case maps.Equal(now, c.before):
		c.sum.Before++
	case maps.Equal(now, c.after):
		c.sum.After++
	default:
		c.sum.Mixed++
		c.problem("neither before nor after:\n%s", differences(c.before, c.after, now))
	}
	isAfter := maps.Equal(now, c.after)
	if printed := ids(c.run.Out); !isAfter && (c.run.Code == 0 && c.half == nil || len(printed) > 0) {
		c.sum.Lost++
		c.problem("it said done %q, and it is not", printed)
	}
	if c.changes() && committed != isAfter {
		c.problem("the journal says committed: %t; the store holds what is after: %t", committed, isAfter)
	}
	if left := c.litter(); len(left) > 0 {
		c.problem("left over: %q", left)
	}
	if err := c.verify(); err != nil {
		c.problem("the journal: %v", err)
	}
	if c.thorough() {
		c.sound()
		c.goOn(isAfter)
	}
}

// thorough reports whether everything is looked at: in the tests that always run,
// at every fourth cut.
func (c *cutCase) thorough() bool { return level() != "" || c.sum.Cuts%4 == 0 }

func undecided(es []change.Entry) bool {
	return slices.ContainsFunc(es, func(e change.Entry) bool { return e.State == change.Pending })
}

// changes reports whether the verb is one that changes records.
func (c *cutCase) changes() bool { return c.verb[0] != "gc" && c.verb[0] != "forget" }

// inside checks that nothing was opened for writing but the store and what is
// mend's own (I8).
func (c *cutCase) inside() {
	for _, call := range c.run.Calls {
		for _, p := range call.Paths {
			if !strings.HasPrefix(p+"/", c.live+"/") {
				c.problem("%v is neither the store's nor mend's", call)
			}
		}
	}
}

// whole checks, before any recovery, that each file holds what it held or what it
// shall hold (I5). A database tells that only when it is opened, see sound.
func (c *cutCase) whole() {
	if c.kind != tree {
		return
	}
	now := c.records()
	names := slices.Collect(maps.Keys(now))
	for _, name := range slices.AppendSeq(slices.AppendSeq(names, maps.Keys(c.before)), maps.Keys(c.after)) {
		if now[name] != c.before[name] && now[name] != c.after[name] {
			c.sum.Torn++
			c.problem("before recovery %s holds %.80q, want %.80q or %.80q", name, now[name], c.before[name], c.after[name])
			return
		}
	}
}

// sound lets SQLite check the structure of the database.
func (c *cutCase) sound() {
	if c.kind == tree {
		return
	}
	rows := wound.SQL(c.T, c.store)("PRAGMA integrity_check")
	if len(rows) != 1 || rows[0]["integrity_check"] != "ok" {
		c.sum.Torn++
		c.problem("the database is damaged: %v", rows)
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
func (c *cutCase) committed(es []change.Entry) bool {
	return len(es) > c.settled && es[0].State == change.Committed
}

// outcome is committed after recovery, when nothing may be undecided.
func (c *cutCase) outcome(es []change.Entry) bool {
	for _, e := range es {
		if e.State == change.Pending || e.State == change.Conflicted {
			c.problem("after recovery entry %s is %s", e.ID, e.State)
		}
	}
	return c.committed(es)
}

// goOn checks that mend works as ever: what was not done can be done now, and
// what was done can be taken back (I7).
func (c *cutCase) goOn(isAfter bool) {
	verb, want := c.change(), c.after
	if isAfter && c.back != nil {
		verb, want = c.back, c.before
	}
	if code, out := c.plain(verb...); code != 0 {
		c.problem("then mend %s: exit code %d:\n%s", strings.Join(verb, " "), code, out)
		return
	}
	if now := c.snapshot(); !maps.Equal(now, want) {
		c.problem("then mend %s: the store is not as it should be:\n%s", strings.Join(verb, " "), differences(want, want, now))
	}
	if left := c.litter(); len(left) > 0 {
		c.problem("then mend %s: left over: %q", strings.Join(verb, " "), left)
	}
}
