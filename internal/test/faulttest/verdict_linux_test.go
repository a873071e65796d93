package faulttest_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"mend/change"
	"mend/internal/test/damage"
	"mend/internal/test/faulttest"
)

// A problemList has the problems that a check has found.
type problemList struct {
	problems []string
	torn     int
}

func (r *problemList) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// A cutState is the result of checking a state after a cut.
type cutState struct {
	problemList
	entries   []change.Entry  // of the journal, before recovery
	recovered *recoveredState // nil: recovery failed
}

// A recoveredState is the result of checking a state after recovery.
type recoveredState struct {
	problemList
	isBefore, isAfter bool
}

// inspect checks the sandbox and recovers it, or returns the result for an equal sandbox.
func (sb *sandbox) inspect() *cutState {
	sb.Helper()
	key := sb.state().digest()
	if f := sb.found[key]; f != nil {
		return f
	}
	f := &cutState{}
	sb.found[key] = f
	f.checkRecords(sb)
	f.entries = sb.entries()
	r := sb.run(faulttest.Fault{}, "recover")
	sb.checkPaths(r, f.problem)
	if r.Code != 0 {
		f.problem("recover: exit code %d:\n%s%s", r.Code, r.Out, r.Err)
	} else {
		f.recovered = sb.inspectRecovered()
	}
	return f
}

// inspectRecovered checks the sandbox after a recovery, or returns the result for an equal sandbox.
func (sb *sandbox) inspectRecovered() *recoveredState {
	sb.Helper()
	key := sb.state().digest()
	if e := sb.ended[key]; e != nil {
		return e
	}
	e := &recoveredState{}
	sb.ended[key] = e
	e.checkSecondRecovery(sb)
	now := sb.snapshot()
	e.isBefore, e.isAfter = maps.Equal(now, sb.before), maps.Equal(now, sb.after)
	if !e.isBefore && !e.isAfter {
		e.problem("the store is neither as before nor as after the change:\n%s", differences(sb.before, sb.after, now))
	}
	if committed := e.outcome(sb); sb.changesRecords() && committed != e.isAfter {
		e.problem("the entry is committed: %t; the store is as after the change: %t", committed, e.isAfter)
	}
	left := slices.DeleteFunc(sb.leftovers(), func(p string) bool { // the next keep removes it
		return sb.makesCopy() && filepath.Base(p) == "keep.db.new"
	})
	if len(left) > 0 {
		e.problem("left over: %q", left)
	}
	if err := sb.verify(); err != nil {
		e.problem("the journal: %v", err)
	}
	e.checkStructure(sb)
	e.checkUsable(sb)
	return e
}

// checkRecords checks before a recovery that each file has its content from before or after the change. checkStructure checks
// a database.
func (r *problemList) checkRecords(sb *sandbox) {
	if !sb.kind.isFiles() {
		return
	}
	now := sb.snapshot()
	names := slices.Collect(maps.Keys(now))
	for _, name := range slices.AppendSeq(slices.AppendSeq(names, maps.Keys(sb.before)), maps.Keys(sb.after)) {
		if now[name] != sb.before[name] && now[name] != sb.after[name] {
			r.torn++
			r.problem("before recovery %s holds %.80q, want %.80q or %.80q", name, now[name], sb.before[name], sb.after[name])
			return
		}
	}
}

// checkSecondRecovery checks that a second recovery reports that nothing is pending, and changes nothing.
func (r *problemList) checkSecondRecovery(sb *sandbox) {
	once := sb.state()
	code, out := sb.runUnfiltered("recover")
	if code != 0 || !strings.Contains(out, "No repair was pending.") {
		r.problem("a second recover: exit code %d:\n%s", code, out)
	}
	if twice := sb.state(); twice.digest() != once.digest() {
		r.problem("a second recover changes %q", once.differing(twice))
	}
}

// outcome reports whether the change is committed after a recovery. No entry may be undecided.
func (r *problemList) outcome(sb *sandbox) bool {
	es := sb.entries()
	for _, e := range es {
		if e.State == change.Pending || e.State == change.Conflicted {
			r.problem("after recovery entry %s is %s", e.ID, e.State)
		}
	}
	return sb.committed(es)
}

// checkStructure lets SQLite check the structure of the database.
func (r *problemList) checkStructure(sb *sandbox) {
	if sb.kind.isFiles() || sb.pages && maps.Equal(sb.bytes(), sb.damaged) {
		return
	}
	rows := damage.SQL(sb.T, sb.store)("PRAGMA integrity_check")
	if len(rows) != 1 || rows[0]["integrity_check"] != "ok" {
		r.torn++
		r.problem("the database is damaged: %v", rows)
	}
}

// checkUsable checks that a change that was not made can be made, and that a change that was made can be undone.
func (e *recoveredState) checkUsable(sb *sandbox) {
	verb, want := sb.change(), sb.after
	if e.isAfter && sb.back != nil {
		verb, want = sb.back, sb.before
	}
	if code, out := sb.runUnfiltered(verb...); code != 0 {
		e.problem("then mend %s: exit code %d:\n%s", strings.Join(verb, " "), code, out)
		return
	}
	if now := sb.snapshot(); !maps.Equal(now, want) {
		e.problem("then mend %s: the store differs:\n%s", strings.Join(verb, " "), differences(want, want, now))
	}
	if left := sb.leftovers(); len(left) > 0 {
		e.problem("then mend %s: left over: %q", strings.Join(verb, " "), left)
	}
}
