package journal

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"mend/change"
	"mend/internal/test/storetest"
)

// A model has the entries and ops that a journal should return.
type model struct {
	entries []change.Entry
	ops     [][]change.Op
}

// undoneBy returns the id of the newest entry that undoes entry n, or "".
func (m *model) undoneBy(n uint64) string {
	for i := len(m.entries) - 1; i >= 0; i-- {
		u := m.entries[i]
		reverts := u.Cause.Kind == change.CauseUndo || u.Cause.Kind == change.CauseRedo
		if reverts && !u.Cause.Partial && u.State == change.Committed && slices.Contains(u.Cause.Entries, n) && m.undoneBy(u.Seq) == "" {
			return u.ID
		}
	}
	return ""
}

var anyBytes = rapid.Custom(func(t *rapid.T) []byte {
	b := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "bytes")
	for range rapid.IntRange(0, 6).Draw(t, "doublings") {
		b = append(b, b...)
	}
	return b
})

var anyImage = rapid.Custom(func(t *rapid.T) *change.Image {
	if rapid.IntRange(0, 4).Draw(t, "none") == 0 {
		return nil
	}
	return &change.Image{Data: anyBytes.Draw(t, "data"), Mode: os.FileMode(rapid.Uint32().Draw(t, "mode"))}
})

var anyText = rapid.Custom(func(t *rapid.T) string { return string(anyBytes.Draw(t, "text")) })

func (m *model) begin(t *rapid.T, j *Journal) {
	var ops []change.Op
	for i := range rapid.IntRange(1, 5).Draw(t, "ops") {
		o := change.Op{Ref: partRef(i), Pre: anyImage.Draw(t, "pre"), Post: anyImage.Draw(t, "post")}
		if !o.Pre.Equal(o.Post) {
			ops = append(ops, o)
		}
	}
	if len(ops) == 0 {
		ops = []change.Op{{Ref: change.Ref{Kind: change.KindFolder, Session: "s"}, Post: &change.Image{}}}
	}
	cause := change.Cause{Kind: change.CauseScan, Text: anyText.Draw(t, "text"), Diagnoses: rapid.SliceOfN(anyText, 0, 2).Draw(t, "diagnoses")}
	if n := uint64(len(m.entries)); n > 0 && rapid.Bool().Draw(t, "undo") {
		cause.Kind = rapid.SampledFrom([]change.CauseKind{change.CauseUndo, change.CauseRedo, change.CauseResolve}).Draw(t, "kind")
		cause.Partial = rapid.IntRange(0, 4).Draw(t, "partial") == 0
		cause.Entries = rapid.SliceOfN(rapid.Uint64Range(1, n), 1, 3).Draw(t, "of")
	}
	p, s := newPlan(cause, ops...)
	p.Session, s.Dir, s.Store.Root = anyText.Draw(t, "session"), anyText.Draw(t, "dir"), anyText.Draw(t, "root")
	if n := uint64(len(m.entries)); n > 0 && rapid.Bool().Draw(t, "joins") {
		p.Operation = rapid.Uint64Range(1, n).Draw(t, "operation")
	}
	e, err := j.Begin(p, s)
	if err != nil {
		t.Fatal(err)
	}
	s.Store.Agent = "opencode"
	want := change.Entry{
		Seq: uint64(len(m.entries)) + 1, Time: e.Time, Version: "1.2.3", Store: s.Store, Dir: s.Dir,
		Session: p.Session, Cause: cause, State: change.Pending,
	}
	want.Operation = want.Seq
	if p.Operation != 0 {
		want.Operation = p.Operation
	}
	want.ID = IDOf(want.Seq)
	for _, o := range ops {
		pre, post := change.DigestOf(o.Pre), change.DigestOf(o.Post)
		want.Ops = append(want.Ops, change.OpInfo{Ref: o.Ref, Pre: pre, Post: post})
	}
	want.Digest = change.PlanDigest(want.Ops)
	m.entries, m.ops = append(m.entries, want), append(m.ops, ops)
}

func (m *model) anyEntry(t *rapid.T) *change.Entry {
	if len(m.entries) == 0 {
		t.Skip("no entries")
	}
	return &m.entries[rapid.IntRange(0, len(m.entries)-1).Draw(t, "entry")]
}

func (m *model) finish(t *rapid.T, j *Journal) {
	e := m.anyEntry(t)
	o := change.Outcome{State: rapid.SampledFrom([]change.State{change.Committed, change.Committed, change.Aborted, change.Conflicted}).Draw(t, "state")}
	o.Kept = rapid.SliceOfN(anyText, 0, 2).Draw(t, "kept")
	if rapid.Bool().Draw(t, "conflict") {
		o.Conflicts = []change.Conflict{{Ref: partRef(3), Why: anyText.Draw(t, "why")}}
	}
	_, err := j.Finish(*e, o)
	var state *StateError
	if e.State != change.Pending {
		if !errors.As(err, &state) || state.State != e.State {
			t.Fatalf("Finish of a %s entry: %v", e.State, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	e.State, e.Kept = o.State, o.Kept
	for _, c := range o.Conflicts {
		e.Conflicts = append(e.Conflicts, change.ConflictInfo{Ref: c.Ref, Why: c.Why})
	}
}

func (m *model) resolve(t *rapid.T, j *Journal) {
	e := m.anyEntry(t)
	_, err := j.Resolve(*e, "keep", "")
	if (err == nil) != (e.State == change.Conflicted) {
		t.Fatalf("Resolve of a %s entry: %v", e.State, err)
	}
	if err == nil {
		e.State, e.Resolved = change.Resolved, "keep"
	}
}

func (m *model) forget(t *rapid.T, j *Journal) {
	e := m.anyEntry(t)
	_, err := j.Forget(ctx, []string{e.ID})
	open := e.State == change.Pending || e.State == change.Conflicted
	if (err != nil) != open {
		t.Fatalf("Forget of a %s entry: %v", e.State, err)
	}
	if err == nil {
		e.Forgotten, e.Erased, e.Cause.Text, e.Cause.Diagnoses, e.Conflicts, e.Kept = true, true, "", nil, nil, nil
	}
}

func (m *model) gc(t *rapid.T, j *Journal) {
	if len(m.entries) == 0 {
		return
	}
	limit := m.anyEntry(t).Time
	if _, err := j.GC(ctx, limit, nil); err != nil {
		t.Fatal(err)
	}
	for i := range m.entries {
		e := &m.entries[i]
		if e.Time.Before(limit) && e.State != change.Pending && e.State != change.Conflicted {
			e.Forgotten = true
		}
	}
}

// compare compares everything that the journal returns with the model.
func (m *model) compare(t *rapid.T, j *Journal) {
	all, err := j.List(Query{})
	if err != nil || len(all) != len(m.entries) {
		t.Fatalf("List: %d, %v, want %d", len(all), err, len(m.entries))
	}
	for i, want := range m.entries {
		got := all[len(all)-1-i]
		want.UndoneBy = m.undoneBy(want.Seq)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("entry %d: -want +got\n%s", want.Seq, diff)
		}
		ops, err := j.Ops(got)
		if want.Forgotten {
			if !errors.Is(err, ErrForgotten) {
				t.Fatalf("Ops of a forgotten entry: %v", err)
			}
			continue
		}
		if diff := cmp.Diff(m.ops[i], ops); err != nil || diff != "" {
			t.Fatalf("Ops: %v, -want +got\n%s", err, diff)
		}
	}
	if r, err := j.Verify(""); err != nil || r.Entries != len(m.entries) || r.Unfinished {
		t.Fatalf("Verify = %+v, %v", r, err)
	}
}

// TestModel: after random calls in any order the journal has the entries of the model.
func TestModel(t *testing.T) {
	storetest.SampleChecks(t, "10")
	rapid.Check(t, func(rt *rapid.T) {
		dir := storetest.FastDir(t)
		defer os.RemoveAll(dir)
		o := Options{Now: testClock(), Version: "1.2.3", batchSize: rapid.SampledFrom([]int{1, 1000, 1 << 20}).Draw(rt, "batch"), compactAbove: 1}
		o.Timeout = time.Second
		j, err := Open(dir, o)
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { mustClose(t, j) }()
		m, steps := &model{}, 0
		begin := func(rt *rapid.T) { m.begin(rt, j) }
		finish := func(rt *rapid.T) { m.finish(rt, j) }
		rt.Repeat(map[string]func(*rapid.T){
			"begin": begin, "begin too": begin, "finish": finish, "finish too": finish,
			"resolve": func(rt *rapid.T) { m.resolve(rt, j) },
			"forget":  func(rt *rapid.T) { m.forget(rt, j) },
			"gc":      func(rt *rapid.T) { m.gc(rt, j) },
			"reopen": func(rt *rapid.T) {
				if err := j.Close(); err != nil {
					rt.Fatal(err)
				}
				if j, err = Open(dir, o); err != nil {
					rt.Fatal(err)
				}
			},
			"": func(rt *rapid.T) {
				if steps++; steps%5 == 0 {
					m.compare(rt, j)
				}
			},
		})
		m.compare(rt, j)
	})
}
