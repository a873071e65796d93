package storetest

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"mend/change"
)

// attempt prepares and commits ops while f makes calls fail. staged is false if Prepare failed: then a journal has no entry.
// decided is true if Commit returned an outcome.
func (c *contract) attempt(t *testing.T, h Harness, f *Fault, ops []change.Op) (s change.Staged, out change.Outcome, staged, decided bool) {
	t.Helper()
	st := h.Open(f.Step)
	s, err := st.Prepare(t.Context(), change.Plan{Ops: ops})
	if err != nil {
		if !errors.Is(err, ErrFault) {
			t.Fatalf("call %d failed; Prepare = %v, want the fault", f.At, err)
		}
		return s, out, false, false
	}
	out, err = st.Commit(t.Context(), s)
	return s, out, true, err == nil
}

// testCrash kills the program before each call, and recovers.
func testCrash(t *testing.T, c *contract) {
	Long(t)
	for k := 0; ; k++ {
		h := c.open(t)
		f := &Fault{At: k}
		staged, out, ok, decided := c.attempt(t, h, f, c.ops)
		if decided {
			_ = h.Open(f.Step).Discard(t.Context(), staged)
		}
		if !f.Hit() {
			t.Logf("%d calls", k)
			return
		}
		st := h.Open(nil)
		if !ok {
			wantSnapshot(t, "after a crash in Prepare", h.Snapshot(), c.before)
			Apply(t, st, c.ops)
			wantNoLeftovers(t, h)
			continue
		}
		got := settle(t, h, st, staged)
		if decided && out.State != got.State {
			t.Errorf("killed at call %d, %q: Commit returned %s, Settle %s", k, f.Calls[k], out.State, got.State)
		}
		if len(got.Conflicts) > 0 || len(got.Kept) > 0 {
			t.Errorf("killed at call %d, %q: Settle = %+v, want no conflict", k, f.Calls[k], got)
		}
		c.want(t, h, got.State)
		if k%2 == 0 { // no outcome is unknown: Discard may remove everything
			staged = change.Staged{}
		}
		if err := st.Discard(t.Context(), staged); err != nil {
			t.Fatalf("killed at call %d, %q: Discard = %v", k, f.Calls[k], err)
		}
		c.want(t, h, got.State)
		wantNoLeftovers(t, h)
	}
}

// testFail makes each call fail once, as on a full or broken disk.
func testFail(t *testing.T, c *contract) {
	Long(t)
	for k := 0; ; k++ {
		h := c.open(t)
		f := &Fault{At: k, Once: true}
		staged, out, ok, decided := c.attempt(t, h, f, c.ops)
		if decided {
			_ = h.Open(f.Step).Discard(t.Context(), staged)
		}
		if !f.Hit() {
			return
		}
		if !ok {
			wantSnapshot(t, "after a failed Prepare", h.Snapshot(), c.before)
			wantNoLeftovers(t, h)
			continue
		}
		if decided && out.State == change.Aborted && !errors.Is(out.Cause, ErrFault) {
			t.Errorf("call %d, %q, failed: Commit = %+v, want the fault as its cause", k, f.Calls[k], out)
		}
		st := h.Open(nil)
		if !decided {
			out = settle(t, h, st, staged)
		}
		c.want(t, h, out.State)
		if err := st.Discard(t.Context(), staged); err != nil {
			t.Fatalf("call %d, %q, failed: Discard = %v", k, f.Calls[k], err)
		}
		wantNoLeftovers(t, h)
	}
}

// eachCrash calls f with a new store after each included crash that leaves a change to settle. The last crash is between
// Commit and the Finish of the journal.
func (c *contract) eachCrash(t *testing.T, included func(k int) bool, f func(h Harness, staged change.Staged, k int)) {
	t.Helper()
	for k := 0; ; k++ {
		if !included(k) {
			continue
		}
		h := c.open(t)
		fault := &Fault{At: k}
		staged, _, ok, _ := c.attempt(t, h, fault, c.ops)
		if ok {
			f(h, staged, k)
		}
		if !fault.Hit() {
			return
		}
	}
}

// testCrashInSettle also kills the recovery, at each of its calls.
func testCrashInSettle(t *testing.T, c *contract) {
	Long(t)
	runs := 0
	for j, more := 0, true; more; j++ {
		if !c.includes(j) {
			continue
		}
		more = false
		c.eachCrash(t, c.includes, func(h Harness, staged change.Staged, k int) {
			f := &Fault{At: j}
			_, err := h.Open(f.Step).Settle(t.Context(), staged)
			if f.Hit() && err == nil {
				t.Errorf("killed at call %d and in Settle at %d, %q: Settle = nil, want an error", k, j, f.Calls[j])
			}
			more = more || f.Hit()
			runs++
			out := settle(t, h, h.Open(nil), staged)
			c.want(t, h, out.State)
			if err := h.Open(nil).Discard(t.Context(), staged); err != nil {
				t.Fatalf("Discard = %v", err)
			}
			wantNoLeftovers(t, h)
		})
	}
	t.Logf("%d runs", runs)
}

// testCrashInInverse kills an undo at each of its calls.
func testCrashInInverse(t *testing.T, c *contract) {
	Long(t)
	for k := 0; ; k++ {
		h := c.open(t)
		st := h.Open(nil)
		inverse := change.Inverse(Apply(t, st, c.ops).Ops)
		f := &Fault{At: k}
		staged, _, ok, _ := c.attempt(t, h, f, inverse)
		if !f.Hit() {
			return
		}
		if !ok {
			wantSnapshot(t, "after a crash in Prepare", h.Snapshot(), c.after)
			staged = Apply(t, st, inverse)
		}
		out := settle(t, h, st, staged)
		switch out.State {
		case change.Committed:
			wantSnapshot(t, "undone", h.Snapshot(), c.before)
		case change.Aborted:
			wantSnapshot(t, "not undone", h.Snapshot(), c.after)
		default:
			t.Fatalf("killed at call %d of an undo: Settle = %+v", k, out)
		}
		if err := st.Discard(t.Context(), staged); err != nil {
			t.Fatalf("Discard = %v", err)
		}
		wantNoLeftovers(t, h)
	}
}

// testForeignAfterCrash lets another program write after each crash, and kills the first recovery, each time at another call.
func testForeignAfterCrash(t *testing.T, c *contract) {
	Long(t)
	runs := 0
	for i, o := range c.ops {
		for verb, image := range foreignWrites(t, o) {
			c.eachCrash(t, c.includes, func(h Harness, staged change.Staged, k int) {
				if h.Read(o.Ref).Equal(image) {
					return // the change has left this content
				}
				h.Write(o.Ref, image)
				f := &Fault{At: (k + i) % 8}
				_, _ = h.Open(f.Step).Settle(t.Context(), staged)
				st := h.Open(nil)
				out := settle(t, h, st, staged)
				t.Logf("killed at call %d, then another program %s %s: %s", k, verb, o.Ref, out.State)
				c.wantForeign(t, h, o, image, out)
				if err := st.Discard(t.Context(), staged); err != nil {
					t.Fatalf("Discard = %v", err)
				}
				c.wantForeign(t, h, o, image, out)
				wantNoLeftovers(t, h)
				runs++
			})
		}
	}
	t.Logf("%d runs", runs)
}

// wantForeign checks that the record of o has the other program's content, and every other record the content
// of the outcome.
func (c *contract) wantForeign(t *testing.T, h Harness, o change.Op, image *change.Image, out change.Outcome) {
	t.Helper()
	// The other program may have written the planned content.
	if got := h.Read(o.Ref); !got.Equal(image) && (out.State != change.Committed || !got.Equal(o.Post)) {
		t.Fatalf("%s: another program's %s is now %s", out.State, imageString(image), imageString(got))
	}
	if out.State == change.Conflicted && conflictOn(out.Conflicts, o.Ref) == nil {
		t.Errorf("the conflicts are %+v, want the one on %s", out.Conflicts, o.Ref)
	}
	for _, other := range c.ops {
		if other.Ref == o.Ref {
			continue
		}
		got := h.Read(other.Ref)
		isPre, isPost := got.Equal(other.Pre), got.Equal(other.Post)
		fine := map[change.State]bool{change.Committed: isPost, change.Aborted: isPre, change.Conflicted: isPre || isPost}
		if !fine[out.State] {
			t.Fatalf("%s: %s holds %s", out.State, other.Ref, imageString(got))
		}
	}
}

// testSettleAfterDiscard settles a change after its staged data is gone.
func testSettleAfterDiscard(t *testing.T, c *contract) {
	h := c.open(t)
	st := h.Open(nil)
	staged := Apply(t, st, c.ops)
	if out := settle(t, h, st, staged); out.State != change.Committed {
		t.Errorf("Settle after Discard = %+v, want %s", out, change.Committed)
	}
	c.want(t, h, change.Committed)
	if l := slices.Sorted(maps.Keys(h.Snapshot())); len(l) == 0 {
		t.Fatal("the store is empty")
	}
	wantNoLeftovers(t, h)
}
