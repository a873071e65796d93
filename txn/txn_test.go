package txn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"mend/change"
	"mend/internal/fail"
	"mend/internal/test/storetest"
	"mend/journal"
	"mend/txn"
)

// TestFaultAtEveryStep lets each call of the store and the journal fail, once or as if the process was
// killed there. After recovery the store is consistent, and a run that returned nil has taken effect.
func TestFaultAtEveryStep(t *testing.T) {
	for _, once := range []bool{false, true} {
		var forward, back int
		for k, more := 0, true; more; k++ {
			f := newFixture(t)
			fault := &storetest.Fault{At: k, Once: once}
			err := f.run(fault.Step, threeOps())
			if more = fault.Hit(); !more {
				break
			}
			step := fmt.Sprintf("once %t, %q", once, fault.Calls[k])
			var pending *txn.PendingError
			if es := f.entries(); len(es) > 0 && es[0].State == change.Pending && !errors.As(err, &pending) {
				t.Errorf("%s: the entry is pending; Run = %v, want a PendingError", step, err)
			}
			if pending != nil && !errors.Is(err, journal.ErrUnsure) && len(pending.Entry.Ops) != len(threeOps()) {
				t.Errorf("%s: the pending entry has %d ops", step, len(pending.Entry.Ops))
			}
			if err := f.recover(nil); err != nil {
				t.Fatalf("%s: Recover = %v", step, err)
			}
			committed := f.wantConsistent(step, before, after)
			if err == nil && !committed {
				t.Errorf("%s: Run = nil, but the change was not made", step)
			}
			if committed {
				forward++
			} else {
				back++
			}
		}
		if forward == 0 || back == 0 {
			t.Errorf("once %t: %d changes were made, and %d were not: want some of each", once, forward, back)
		}
	}
}

// TestRecoveryCutAtEveryStep also kills the recovery at each of its calls.
func TestRecoveryCutAtEveryStep(t *testing.T) {
	for k := 0; ; k++ {
		fault := &storetest.Fault{At: k}
		for cut := 0; ; cut++ {
			f := newFixture(t)
			fault = &storetest.Fault{At: k}
			_ = f.run(fault.Step, threeOps())
			second := &storetest.Fault{At: cut}
			_ = f.recover(second.Step)
			if err := f.recover(nil); err != nil {
				t.Fatalf("cut at %d, recovery cut at %d: %v", k, cut, err)
			}
			f.wantConsistent(fmt.Sprintf("cut at %d, recovery cut at %d", k, cut), before, after)
			if !second.Hit() {
				break
			}
		}
		if !fault.Hit() {
			return
		}
	}
}

// TestUndoCutAtEveryStep kills an undo at each of its calls: all of the change is undone, or nothing.
func TestUndoCutAtEveryStep(t *testing.T) {
	for k := 0; ; k++ {
		f := newFixture(t)
		if err := f.run(nil, threeOps()); err != nil {
			t.Fatal(err)
		}
		fault := &storetest.Fault{At: k}
		_ = f.run(fault.Step, change.Inverse(threeOps()))
		if err := f.recover(nil); err != nil {
			t.Fatalf("cut at %d: Recover = %v", k, err)
		}
		if len(f.entries()) == 1 { // the undo never began
			f.wantConsistent(fmt.Sprint(k), before, after)
		} else {
			f.wantConsistent(fmt.Sprint(k), after, before)
		}
		if !fault.Hit() {
			return
		}
	}
}

// TestRunRefuses: a plan that is refused before Begin leaves no entry and no staged file.
func TestRunRefuses(t *testing.T) {
	wrong := threeOps()
	wrong[0].Pre = file("something else")
	for _, c := range []struct {
		name string
		ops  []change.Op
		want func(error) bool
	}{
		{"a record that changed", wrong, func(err error) bool { return errors.As(err, new(*change.ConflictError)) }},
		{"no ops", []change.Op{}, func(err error) bool { return errors.Is(err, change.ErrInvalid) }},
	} {
		f := newFixture(t)
		err := f.open(nil, func(j *journal.Journal, s *fakeStore) error {
			_, err := txn.Run(t.Context(), j, s, change.Plan{Session: "a", Ops: c.ops})
			return err
		})
		if !c.want(err) {
			t.Errorf("%s: Run = %v", c.name, err)
		}
		if f.wantConsistent(c.name, before, after); len(f.entries()) > 0 {
			t.Errorf("%s: the journal has %v", c.name, f.entries())
		}
	}
}

// TestOutcomes: the results of Commit and Settle decide the state of the entry and the error of Run.
func TestOutcomes(t *testing.T) {
	conflict := []change.Conflict{{Ref: sessionRef("a"), Why: "changed"}}
	cause, other := errors.New("the cause"), errors.New("another error")
	type outcome struct {
		change.Outcome
		err error
	}
	wraps := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	isConflict := func(n int) func(error) bool {
		return func(err error) bool {
			c, ok := errors.AsType[*change.ConflictError](err)
			return ok && len(c.Conflicts) == n
		}
	}
	isInPart := func(err error) bool {
		c, ok := errors.AsType[*txn.ConflictedError](err)
		return ok && c.Entry.ID != "" && len(c.Err.Conflicts) == 1 && !isConflict(1)(err)
	}
	undecided := func(err error) bool {
		p, ok := errors.AsType[*txn.PendingError](err)
		return ok && p.Entry.ID != "" && errors.Is(err, cause) && errors.Is(err, other)
	}
	for _, c := range []struct {
		name           string
		commit, settle outcome
		state          change.State
		want           func(error) bool
	}{
		{"done", outcome{change.Outcome{State: change.Committed}, nil}, outcome{}, change.Committed, wraps(nil)},
		{"done, with a kept file", outcome{change.Outcome{State: change.Committed, Kept: []string{"x"}}, nil}, outcome{}, change.Committed, wraps(nil)},
		{"aborted", outcome{change.Outcome{State: change.Aborted, Cause: cause}, nil}, outcome{}, change.Aborted, wraps(cause)},
		{"aborted by conflicts", outcome{change.Outcome{State: change.Aborted, Conflicts: conflict, Cause: cause}, nil}, outcome{}, change.Aborted, isConflict(1)},
		{"aborted without a cause", outcome{change.Outcome{State: change.Aborted}, nil}, outcome{}, change.Aborted, isConflict(0)},
		{"conflicted", outcome{change.Outcome{State: change.Conflicted, Conflicts: conflict}, nil}, outcome{}, change.Conflicted, isInPart},
		{"settled forward", outcome{change.Outcome{}, cause}, outcome{change.Outcome{State: change.Committed}, nil}, change.Committed, wraps(nil)},
		{"settled back", outcome{change.Outcome{}, cause}, outcome{change.Outcome{State: change.Aborted}, nil}, change.Aborted, wraps(cause)},
		{"settled back with a cause", outcome{change.Outcome{}, cause}, outcome{change.Outcome{State: change.Aborted, Cause: other}, nil}, change.Aborted, wraps(other)},
		{"settled with conflicts", outcome{change.Outcome{}, cause}, outcome{change.Outcome{State: change.Aborted, Conflicts: conflict}, nil}, change.Aborted, isConflict(1)},
		{"undecided", outcome{change.Outcome{}, cause}, outcome{change.Outcome{}, other}, change.Pending, undecided},
	} {
		f := newFixture(t)
		err := f.open(nil, func(j *journal.Journal, s *fakeStore) error {
			s.commit = func(change.Staged) (change.Outcome, error) { return c.commit.Outcome, c.commit.err }
			s.settle = func(change.Staged) (change.Outcome, error) { return c.settle.Outcome, c.settle.err }
			e, err := txn.Run(t.Context(), j, s, planOf(threeOps()...))
			if e.State != c.state || len(e.Ops) != len(threeOps()) {
				t.Errorf("%s: the entry is %q with %d ops, want %q with all", c.name, e.State, len(e.Ops), c.state)
			}
			var calls []string
			if c.commit.err != nil {
				calls = append(calls, "settle a")
			}
			if c.state != change.Pending { // else the entry needs what is staged
				calls = append(calls, "discard a")
			}
			s.wantCalls(t, c.name, calls...)
			return err
		})
		if !c.want(err) {
			t.Errorf("%s: Run = %v", c.name, err)
		}
		if es := f.entries(); len(es) != 1 || es[0].State != c.state {
			t.Errorf("%s: the journal has %+v, want one entry that is %s", c.name, es, c.state)
		}
	}
}

// TestUnknownBegin: if it is unknown whether the entry was begun, the staged files stay, because the entry may need
// them.
func TestUnknownBegin(t *testing.T) {
	f := newFixture(t)
	_ = f.open(func(call string) error {
		if call == "committed begin" || call == "confirm" {
			return storetest.ErrFault
		}
		return nil
	}, func(j *journal.Journal, s *fakeStore) error {
		_, err := txn.Run(t.Context(), j, s, planOf(threeOps()...))
		if p, ok := errors.AsType[*txn.PendingError](err); !ok || p.Entry.ID == "" || !errors.Is(err, journal.ErrUnsure) {
			t.Errorf("Run = %v, want a PendingError with the entry", err)
		}
		s.wantCalls(t, "unsure")
		return nil
	})
	if len(f.staged) != 1 {
		t.Errorf("%d changes are staged, want 1", len(f.staged))
	}
	if err := f.recover(nil); err != nil {
		t.Error(err)
	}
	f.wantConsistent("unsure", before, after)
}

// TestCancelled: a context that ends during Commit or during a recovery does not stop an operation that
// has begun.
func TestCancelled(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := f.open(nil, func(j *journal.Journal, s *fakeStore) error {
		s.commit = func(change.Staged) (change.Outcome, error) {
			cancel()
			return change.Outcome{}, context.Canceled
		}
		_, err := txn.Run(ctx, j, s, planOf(threeOps()...))
		s.wantCalls(t, "cancelled", "settle a", "discard a")
		return err
	})
	if !errors.Is(err, context.Canceled) || errors.As(err, new(*txn.PendingError)) {
		t.Errorf("Run = %v, want %v and no pending entry", err, context.Canceled)
	}
	f.wantConsistent("cancelled", before, after)
}

// recoverEntries begins an entry with one op on each of the records, and recovers all entries with settle.
func recoverEntries(t *testing.T, ctx context.Context, records []string, settle func(change.Staged) (change.Outcome, error)) (s *fakeStore, done []change.Entry, err error) {
	t.Helper()
	f := newFixture(t)
	_ = f.open(nil, func(j *journal.Journal, store *fakeStore) error {
		for i, r := range records {
			op := change.Op{Ref: sessionRef(r), Post: file("x")}
			p := planOf(op)
			p.Session = fmt.Sprint(i)
			if _, err := j.Begin(p, change.Staged{Store: storeID, Dir: fmt.Sprint(i), Ops: p.Ops}); err != nil {
				t.Fatal(err)
			}
		}
		store.settle = settle
		s = store
		done, err = txn.Recover(ctx, j, store, storeID, pendingIn(t, j))
		return nil
	})
	return s, done, err
}

// TestRecoverOrder: entries are settled oldest first, and staged files that belong to no entry are
// removed last.
func TestRecoverOrder(t *testing.T) {
	aborted := func(change.Staged) (change.Outcome, error) { return change.Outcome{State: change.Aborted}, nil }
	s, done, err := recoverEntries(t, t.Context(), []string{"a", "a", "b"}, aborted)
	if err != nil || len(done) != 3 || done[0].Seq != 1 || done[2].Seq != 3 || done[1].State != change.Aborted {
		t.Errorf("Recover = %+v, %v", done, err)
	}
	s.wantCalls(t, "three entries", "settle 0", "discard 0", "settle 1", "discard 1", "settle 2", "discard 2", "discard ")
}

// TestRecoverWaits: an entry with an unknown outcome stops later ones on the same record, and no others; no staged data
// is removed meanwhile.
func TestRecoverWaits(t *testing.T) {
	s, done, err := recoverEntries(t, t.Context(), []string{"a", "b", "a", "c"}, func(st change.Staged) (change.Outcome, error) {
		if st.Dir == "0" || st.Dir == "3" {
			return change.Outcome{}, errors.New("the disk is gone")
		}
		return change.Outcome{State: change.Aborted}, nil
	})
	left, ok := errors.AsType[txn.UndecidedError](err)
	if !ok || len(left) != 3 || left[0].Entry.Seq != 1 || left[1].Entry.Seq != 3 || left[2].Entry.Seq != 4 {
		t.Fatalf("Recover = %v, want three undecided entries", err)
	}
	if len(done) != 1 || done[0].Seq != 2 {
		t.Errorf("Recover = %+v, want the second entry", done)
	}
	s.wantCalls(t, "two entries undecided", "settle 0", "settle 1", "discard 1", "settle 3")
	if text := left[1].Error(); !strings.Contains(text, "waits for repair "+left[0].Entry.ID) {
		t.Errorf("the third entry: %s", text)
	}
	if text := err.Error(); !strings.HasSuffix(text, "(and 2 more)") || strings.Contains(left[:1].Error(), "more") {
		t.Errorf("the errors are %q and %q", text, left[:1].Error())
	}
	if !errors.Is(err, left[0]) {
		t.Error("the error does not wrap its first error")
	}
	for _, err := range []error{left, left[0]} {
		if code, hint := fail.Classify(err); code != fail.Pending || !strings.Contains(hint, "mend recover") {
			t.Errorf("%T: %v, %q", err, code, hint)
		}
	}
}

// TestRecoverCancelled: after its context has ended, Recover finishes the entry in progress, settles no further one, and
// reports which is pending.
func TestRecoverCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, done, err := recoverEntries(t, ctx, []string{"a", "b"}, func(change.Staged) (change.Outcome, error) {
		cancel()
		return change.Outcome{State: change.Aborted}, nil
	})
	p, ok := errors.AsType[*txn.PendingError](err)
	if !ok || p.Entry.Seq != 2 || !errors.Is(err, context.Canceled) || len(done) != 1 {
		t.Errorf("Recover = %+v, %v, want the second entry pending", done, err)
	}
	s.wantCalls(t, "cancelled", "settle 0", "discard 0")
}

// TestFullDisk: the error of a full disk names the space that the change needs, whether the store or the
// journal is full.
func TestFullDisk(t *testing.T) {
	big := func(n int) *change.Image { return file(strings.Repeat("x", n<<10)) }
	ops := []change.Op{{Ref: sessionRef("new"), Post: big(300)}, {Ref: sessionRef("a"), Pre: file("1"), Post: big(200)}}
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT, errors.New("not a full disk")} {
		for _, at := range []string{"stage", "commit begin"} {
			f := newFixture(t)
			err := f.run(func(call string) error {
				if call == at {
					return full
				}
				return nil
			}, ops)
			const want = "; the change needs up to 628 KB in the store and 628 KB in the journal"
			if _, isErrno := errors.AsType[syscall.Errno](full); !errors.Is(err, full) || strings.Contains(err.Error(), want) != isErrno {
				t.Errorf("%v at %q: Run = %v", full, at, err)
			}
			if f.wantConsistent(at, before, after); len(f.entries()) > 0 {
				t.Errorf("%v at %q: the journal has an entry", full, at)
			}
		}
	}
}
