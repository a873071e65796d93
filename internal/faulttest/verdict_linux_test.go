package faulttest_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mend/change"
	"mend/internal/damage"
	"mend/internal/faulttest"
)

// remarks are what is wrong with a state.
type remarks struct {
	problems []string
	torn     int
}

func (r *remarks) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// A finding is what was seen in a state that a cut left.
type finding struct {
	remarks
	entries []change.Entry // of the journal, before recovery
	ending  *ending        // nil: recovery failed
}

// An ending is what was seen in a state that recovery left.
type ending struct {
	remarks
	isBefore, isAfter bool
}

// look looks at what the world holds, and recovers it; or remembers what came of
// that in a world that held the same.
func (w *world) look() *finding {
	w.Helper()
	key := w.state().digest()
	if f := w.found[key]; f != nil {
		return f
	}
	f := &finding{}
	w.found[key] = f
	f.whole(w)
	f.entries = w.entries()
	r := w.run(faulttest.Fault{}, "recover")
	w.inside(r, f.problem)
	if r.Code != 0 {
		f.problem("recover: exit code %d:\n%s%s", r.Code, r.Out, r.Err)
	} else {
		f.ending = w.end()
	}
	return f
}

// end looks at the world after recovery, in the same way.
func (w *world) end() *ending {
	w.Helper()
	key := w.state().digest()
	if e := w.ended[key]; e != nil {
		return e
	}
	e := &ending{}
	w.ended[key] = e
	e.again(w)
	now := w.snapshot()
	e.isBefore, e.isAfter = maps.Equal(now, w.before), maps.Equal(now, w.after)
	if !e.isBefore && !e.isAfter {
		e.problem("neither before nor after:\n%s", differences(w.before, w.after, now))
	}
	if committed := e.outcome(w); w.changes() && committed != e.isAfter {
		e.problem("the journal says committed: %t; the store holds what is after: %t", committed, e.isAfter)
	}
	if left := w.litter(); len(left) > 0 {
		e.problem("left over: %q", left)
	}
	if err := w.verify(); err != nil {
		e.problem("the journal: %v", err)
	}
	e.sound(w)
	e.goOn(w)
	return e
}

// whole checks, before any recovery, that each file holds what it held or what it
// shall hold (I5). A database tells that only when it is opened, see sound.
func (r *remarks) whole(w *world) {
	if w.kind != tree {
		return
	}
	now := w.records()
	names := slices.Collect(maps.Keys(now))
	for _, name := range slices.AppendSeq(slices.AppendSeq(names, maps.Keys(w.before)), maps.Keys(w.after)) {
		if now[name] != w.before[name] && now[name] != w.after[name] {
			r.torn++
			r.problem("before recovery %s holds %.80q, want %.80q or %.80q", name, now[name], w.before[name], w.after[name])
			return
		}
	}
}

// again checks that a second recovery has nothing to do, says so, and does
// nothing (I4).
func (r *remarks) again(w *world) {
	once := w.state()
	code, out := w.plain("recover")
	if code != 0 || !strings.Contains(out, "Nothing was pending.") {
		r.problem("a second recover: exit code %d:\n%s", code, out)
	}
	if twice := w.state(); twice.digest() != once.digest() {
		r.problem("a second recover changes %q", once.differing(twice))
	}
}

// outcome is whether the change is committed after recovery, when nothing may be
// undecided.
func (r *remarks) outcome(w *world) bool {
	es := w.entries()
	for _, e := range es {
		if e.State == change.Pending || e.State == change.Conflicted {
			r.problem("after recovery entry %s is %s", e.ID, e.State)
		}
	}
	return w.committed(es)
}

// sound lets SQLite check the structure of the database.
func (r *remarks) sound(w *world) {
	if w.kind == tree {
		return
	}
	rows := damage.SQL(w.T, w.store)("PRAGMA integrity_check")
	if len(rows) != 1 || rows[0]["integrity_check"] != "ok" {
		r.torn++
		r.problem("the database is damaged: %v", rows)
	}
}

// goOn checks that mend works as ever: what was not done can be done now, and
// what was done can be taken back (I7).
func (e *ending) goOn(w *world) {
	verb, want := w.change(), w.after
	if e.isAfter && w.back != nil {
		verb, want = w.back, w.before
	}
	if code, out := w.plain(verb...); code != 0 {
		e.problem("then mend %s: exit code %d:\n%s", strings.Join(verb, " "), code, out)
		return
	}
	if now := w.snapshot(); !maps.Equal(now, want) {
		e.problem("then mend %s: the store is not as it should be:\n%s", strings.Join(verb, " "), differences(want, want, now))
	}
	if left := w.litter(); len(left) > 0 {
		e.problem("then mend %s: left over: %q", strings.Join(verb, " "), left)
	}
}
