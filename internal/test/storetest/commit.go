package storetest

import (
	"context"
	"errors"
	"testing"

	"mend/change"
)

func testCommit(t *testing.T, c *contract) {
	h := c.open(t)
	st := h.Open(nil)
	staged, err := st.Prepare(t.Context(), change.Plan{Ops: c.ops})
	if err != nil {
		t.Fatalf("Prepare = %v", err)
	}
	wantSnapshot(t, "after Prepare", h.Snapshot(), c.before)
	for _, o := range c.ops {
		if got := opOn(staged.Ops, o.Ref); got == nil || !got.Pre.Equal(o.Pre) || !got.Post.Equal(o.Post) {
			t.Errorf("Prepare returns %+v for %s, want %+v", got, o.Ref, o)
		}
	}
	// Prepare, Commit and Discard may be called in different processes.
	out, err := h.Open(nil).Commit(t.Context(), staged)
	if err != nil || out.State != change.Committed || len(out.Conflicts) > 0 || len(out.Kept) > 0 {
		t.Fatalf("Commit = %+v, %v, want %s", out, err, change.Committed)
	}
	c.want(t, h, change.Committed)
	if err := h.Open(nil).Discard(t.Context(), staged); err != nil {
		t.Fatalf("Discard = %v", err)
	}
	c.want(t, h, change.Committed)
	wantNoLeftovers(t, h)
	if err := st.Discard(t.Context(), staged); err != nil {
		t.Fatalf("second Discard = %v", err)
	}
}

func opOn(ops []change.Op, ref change.Ref) *change.Op {
	for i := range ops {
		if ops[i].Ref == ref {
			return &ops[i]
		}
	}
	return nil
}

// testInverse undoes and redoes the change twice.
func testInverse(t *testing.T, c *contract) {
	h := c.open(t)
	st := h.Open(nil)
	staged := Apply(t, st, c.ops)
	for range 2 {
		staged = Apply(t, st, change.Inverse(staged.Ops))
		wantSnapshot(t, "after the inverse", h.Snapshot(), c.before)
		wantNoLeftovers(t, h)
		staged = Apply(t, st, change.Inverse(staged.Ops))
		wantSnapshot(t, "after the inverse of the inverse", h.Snapshot(), c.after)
		wantNoLeftovers(t, h)
	}
}

func testPrepareInvalid(t *testing.T, c *contract) {
	h := c.open(t)
	evil := c.ops[0]
	evil.Ref.Message = "../../evil"
	for name, ops := range map[string][]change.Op{
		"no op":         nil,
		"a ref twice":   {c.ops[0], c.ops[0]},
		"an invalid id": {evil},
		"no change":     {{Ref: c.ops[0].Ref, Pre: c.ops[0].Pre, Post: c.ops[0].Pre}},
		"no image":      {{Ref: c.ops[0].Ref}},
	} {
		if _, err := h.Open(nil).Prepare(t.Context(), change.Plan{Ops: ops}); !errors.Is(err, change.ErrInvalid) {
			t.Errorf("Prepare with %s = %v, want %v", name, err, change.ErrInvalid)
		}
		wantSnapshot(t, name, h.Snapshot(), c.before)
		wantNoLeftovers(t, h)
	}
}

func testPrepareConflict(t *testing.T, c *contract) {
	for _, o := range c.ops {
		for verb, image := range foreignWrites(t, o) {
			h := c.open(t)
			h.Write(o.Ref, image)
			before := h.Snapshot()
			_, err := h.Open(nil).Prepare(t.Context(), change.Plan{Ops: c.ops})
			var conflict *change.ConflictError
			if !errors.As(err, &conflict) {
				t.Fatalf("another program %s %s; Prepare = %v, want a conflict", verb, o.Ref, err)
			}
			wantConflict(t, conflict.Conflicts, o, image)
			wantSnapshot(t, "after a conflict in Prepare", h.Snapshot(), before)
			wantNoLeftovers(t, h)
		}
	}
}

// wantConflict checks that the list has exactly the conflict on the record of o.
func wantConflict(t *testing.T, list []change.Conflict, o change.Op, now *change.Image) {
	t.Helper()
	got := conflictOn(list, o.Ref)
	if got == nil || len(list) != 1 {
		t.Fatalf("the conflicts are %+v, want the one on %s", list, o.Ref)
	}
	if !got.Pre.Equal(o.Pre) || !got.Post.Equal(o.Post) || !got.Now.Equal(now) || got.Why == "" {
		t.Errorf("the conflict on %s: pre %s, post %s, now %s, why %q; want %s, %s, %s and a reason",
			o.Ref, imageString(got.Pre), imageString(got.Post), imageString(got.Now), got.Why, imageString(o.Pre), imageString(o.Post), imageString(now))
	}
}

func testCommitConflict(t *testing.T, c *contract) {
	for _, o := range c.ops {
		for verb, image := range foreignWrites(t, o) {
			h := c.open(t)
			st := h.Open(nil)
			staged, err := st.Prepare(t.Context(), change.Plan{Ops: c.ops})
			if err != nil {
				t.Fatalf("Prepare = %v", err)
			}
			h.Write(o.Ref, image)
			before := h.Snapshot()
			out, err := st.Commit(t.Context(), staged)
			if err != nil || out.State != change.Aborted {
				t.Fatalf("another program %s %s; Commit = %+v, %v, want %s", verb, o.Ref, out, err, change.Aborted)
			}
			wantConflict(t, out.Conflicts, o, image)
			wantSnapshot(t, "after a conflict in Commit", h.Snapshot(), before)
			if err := st.Discard(t.Context(), staged); err != nil {
				t.Fatalf("Discard = %v", err)
			}
			wantSnapshot(t, "after Discard", h.Snapshot(), before)
			wantNoLeftovers(t, h)
		}
	}
}

func testCancel(t *testing.T, c *contract) {
	h := c.open(t)
	st := h.Open(nil)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := st.Prepare(ended, change.Plan{Ops: c.ops}); !errors.Is(err, context.Canceled) {
		t.Errorf("Prepare with a context that has ended = %v, want %v", err, context.Canceled)
	}
	wantNoLeftovers(t, h)
	staged, err := st.Prepare(t.Context(), change.Plan{Ops: c.ops})
	if err != nil {
		t.Fatalf("Prepare = %v", err)
	}
	out, err := st.Commit(ended, staged)
	if err != nil || out.State != change.Aborted || !errors.Is(out.Cause, context.Canceled) {
		t.Errorf("Commit with a context that has ended = %+v, %v, want %s for that cause", out, err, change.Aborted)
	}
	c.want(t, h, change.Aborted)
	if err := st.Discard(t.Context(), staged); err != nil {
		t.Fatalf("Discard = %v", err)
	}
	wantNoLeftovers(t, h)
}
