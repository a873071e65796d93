package storetest

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"

	"mend/change"
	"mend/session"
)

// A contract is one test's view of the stores: how to make them, and what a
// store holds before and after the plan.
type contract struct {
	open          func(t *testing.T) Harness
	ops           []change.Op
	before, after map[string]string
}

func newContract(t *testing.T, open func(t *testing.T) Harness) *contract {
	h := open(t)
	c := &contract{open: open, ops: plan(t, h.Load()), before: h.Snapshot()}
	st := h.Open(nil)
	c.mustCommit(t, st, c.ops)
	c.after = h.Snapshot()
	for _, o := range c.ops {
		if got := h.Read(o.Ref); !got.Equal(o.Post) {
			t.Fatalf("after Commit %v %s holds %s, want %s", o.Ref.Kind, o.Ref, show(got), show(o.Post))
		}
	}
	if maps.Equal(c.before, c.after) {
		t.Fatal("Commit changed nothing")
	}
	return c
}

// plan is one of every kind of op: a message and a part replaced, a part created
// beside others and one where there was none, a part deleted.
func plan(t *testing.T, s *session.Session) []change.Op {
	t.Helper()
	after := s.Clone()
	var full, empty *session.Message
	for i := range after.Messages {
		switch m := &after.Messages[i]; {
		case len(m.Parts) >= 3 && full == nil:
			full = m
		case len(m.Parts) == 0:
			empty = m
		}
	}
	if full == nil || empty == nil {
		t.Fatal("the harness's session has no message with three parts, or none without parts")
	}
	data, err := session.SetField(full.Data, session.Quote("by the contract"), "note")
	if err != nil {
		t.Fatal(err)
	}
	full.Data = data
	text := slices.IndexFunc(full.Parts, func(p session.Part) bool { return p.Type == session.TypeText })
	if text < 0 || text == len(full.Parts)-1 {
		t.Fatal("the harness's message has no text part before its last part")
	}
	if err := full.Parts[text].Set(session.Quote("replaced"), "text"); err != nil {
		t.Fatal(err)
	}
	first, last := full.Parts[0], full.Parts[len(full.Parts)-1]
	full.Insert(after.NewTextPart(full, first.ID+"0", "created beside others"))
	empty.Insert(after.NewTextPart(empty, first.ID+"1", "created alone"))
	full.Remove(last.Ref)
	ops := change.Diff(s, after)
	if len(ops) != 5 {
		t.Fatalf("the plan has %d ops, want 5", len(ops))
	}
	return ops
}

// foreign is what another program could write in place of either image of o.
func foreign(t *testing.T, o change.Op) *change.Image {
	t.Helper()
	base := o.Pre
	if base == nil {
		base = o.Post
	}
	r := session.Record{Ref: o.Ref, Data: base.Data, Mode: base.Mode}
	var err error
	if base.Mode == 0 {
		if r, err = change.RowOf(o.Ref, base); err != nil {
			t.Fatal(err)
		}
	}
	if r.Data, err = session.SetField(r.Data, session.Quote("another program"), "writer"); err != nil {
		t.Fatal(err)
	}
	return change.ImageOf(&r)
}

// intrusions are the ways in which another program can write where o does.
func intrusions(t *testing.T, o change.Op) map[string]*change.Image {
	ways := map[string]*change.Image{"writes": foreign(t, o)}
	if o.Pre != nil {
		ways["deletes"] = nil
	}
	return ways
}

func (c *contract) mustCommit(t *testing.T, st Store, ops []change.Op) change.Staged {
	t.Helper()
	staged, err := st.Prepare(t.Context(), ops)
	if err != nil {
		t.Fatalf("Prepare = %v", err)
	}
	out, err := st.Commit(t.Context(), staged)
	if err != nil || out.State != change.Committed {
		t.Fatalf("Commit = %+v, %v, want %s", out, err, change.Committed)
	}
	if err := st.Discard(t.Context(), staged); err != nil {
		t.Fatalf("Discard = %v", err)
	}
	return staged
}

// settle settles twice and wants the same both times.
func settle(t *testing.T, h Harness, st Store, staged change.Staged) change.Outcome {
	t.Helper()
	first, err := st.Settle(t.Context(), staged)
	if err != nil {
		t.Fatalf("Settle = %v", err)
	}
	snapshot := h.Snapshot()
	second, err := st.Settle(context.Background(), staged)
	if err != nil {
		t.Fatalf("second Settle = %v", err)
	}
	if first.State != second.State || !sameRefs(first.Conflicts, second.Conflicts) || !reflect.DeepEqual(first.Kept, second.Kept) {
		t.Fatalf("second Settle = %+v, the first was %+v", second, first)
	}
	wantSnapshot(t, "after the second Settle", h.Snapshot(), snapshot)
	return first
}

func sameRefs(a, b []change.Conflict) bool {
	return slices.EqualFunc(a, b, func(a, b change.Conflict) bool { return a.Ref == b.Ref })
}

// want checks that the store is wholly as the state says.
func (c *contract) want(t *testing.T, h Harness, state change.State) {
	t.Helper()
	switch state {
	case change.Committed:
		wantSnapshot(t, "committed", h.Snapshot(), c.after)
	case change.Aborted:
		wantSnapshot(t, "aborted", h.Snapshot(), c.before)
	default:
		t.Fatalf("the outcome is %q, want %s or %s", state, change.Committed, change.Aborted)
	}
}

func wantSnapshot(t *testing.T, when string, got, want map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if have, ok := got[name]; !ok {
			t.Errorf("%s: %s is missing", when, name)
		} else if have != want[name] {
			t.Errorf("%s: %s holds %.300q, want %.300q", when, name, have, want[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s is there: %.300q", when, name, got[name])
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}

func wantNoLitter(t *testing.T, h Harness) {
	t.Helper()
	if l := h.Leftovers(); len(l) > 0 {
		t.Fatalf("litter: %q", l)
	}
}

// conflictOn finds the conflict about ref.
func conflictOn(conflicts []change.Conflict, ref session.Ref) *change.Conflict {
	for i := range conflicts {
		if conflicts[i].Ref == ref {
			return &conflicts[i]
		}
	}
	return nil
}

func show(i *change.Image) string {
	if i == nil {
		return "nothing"
	}
	return i.Mode.String() + " " + string(i.Data)
}

func isConflict(err error) (*change.ConflictError, bool) {
	var c *change.ConflictError
	return c, errors.As(err, &c)
}
