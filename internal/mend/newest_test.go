package mend_test

import (
	"slices"
	"testing"
	"time"

	"mend/agent"
	"mend/agent/opencode"
	"mend/change"
	"mend/internal/mend"
	"mend/internal/test/damage"
	"mend/journal"
	"mend/repair"
)

// TestNewest: undo and redo revert these changes by default, while two repairs of a session are undone, redone and
// restored in several orders.
func TestNewest(t *testing.T) {
	b := newBench(t)
	apply := func(p change.Plan, err error) string {
		t.Helper()
		var e change.Entry
		if err == nil {
			e, err = b.client.Apply(t.Context(), p)
		}
		if err != nil {
			t.Fatal(err)
		}
		return e.ID
	}
	fix := func(d func(damage.Store)) string {
		t.Helper()
		d(damage.Tree{T: t, Root: b.store, Session: b.session})
		r, err := b.client.ProposeRepair(t.Context(), b.head(t), repair.Request{Force: true})
		return apply(r.Plan, err)
	}
	undo := func(ids ...string) string {
		t.Helper()
		return apply(b.client.ProposeUndo(t.Context(), mend.UndoRequest{IDs: ids}))
	}
	redo := func(ids ...string) string {
		t.Helper()
		return apply(b.client.ProposeUndo(t.Context(), mend.UndoRequest{IDs: ids, Redo: true}))
	}
	all := func(change.Entry) bool { return true }
	l := mend.OpenJournal(b.journal())
	want := func(what string, newest []string, undos ...string) {
		t.Helper()
		for i, find := range []func(func(change.Entry) bool) ([]string, error){l.Newest, l.NewestUndo} {
			got, err := find(all)
			if err != nil || !slices.Equal(got, [][]string{newest, undos}[i]) {
				t.Errorf("%s: %s = %v, %v, want %v", what, []string{"Newest", "NewestUndo"}[i], got, err, [][]string{newest, undos}[i])
			}
		}
	}
	want("at the beginning", nil)
	one := fix(damage.Text(damage.Hello, " \n"))
	two := fix(damage.Text(damage.Done, " \n"))
	want("two repairs", []string{two})
	u := undo(one)
	want("the older one undone", []string{two}, u)
	again := redo(one)
	want("the older one redone", []string{again})
	u = undo(again)
	want("the redo is undone", []string{two}, u)
	again = redo(again)
	want("the redo is redone", []string{again})
	u = undo(one)
	want("the repair is undone instead", []string{two}, u)
	again = undo(u)
	want("the undo is undone", []string{again})
	u = undo(one, two)
	want("both undone", nil, u)
	again = redo(one)
	want("both redone", []string{again})
	u = undo(one)
	want("one of them undone", []string{two}, u)
	again = redo(one)
	done, err := b.client.ProposeRestore(t.Context(), nil, b.head(t), mend.RestoreRequest{State: one})
	restored := apply(done.Plan, err)
	want("restored from before the first", []string{restored})
	u = undo(restored)
	want("the restore is undone", []string{again}, u)
	if ids, err := l.Newest(func(e change.Entry) bool { return e.ID == two }); err != nil || !slices.Equal(ids, []string{two}) {
		t.Errorf("Newest of the second repair = %v, %v, want %v", ids, err, two)
	}
}

// TestClockSetBack: if the clock is set back between two repairs, the second one is the newest, in the log and for
// undo.
func TestClockSetBack(t *testing.T) {
	b := newBench(t)
	var ids []string
	for i, d := range []func(damage.Store){damage.Text(damage.Hello, " \n"), damage.Text(damage.Done, " \n")} {
		d(damage.Tree{T: t, Root: b.store, Session: b.session})
		c, err := mend.Open(mend.Options{
			Agents: []agent.Agent{opencode.Agent{}}, Store: b.store, Journal: mend.OpenJournal(b.journal()),
			Now: func() time.Time { return time.Now().AddDate(0, 0, -2*i) },
		})
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.ProposeRepair(t.Context(), b.head(t), repair.Request{Force: true})
		if err != nil {
			t.Fatal(err)
		}
		e, err := c.Apply(t.Context(), r.Plan)
		if err != nil {
			t.Fatal(err)
		}
		ids = append([]string{e.ID}, ids...)
	}
	l := mend.OpenJournal(b.journal())
	all, err := l.Log(journal.Query{})
	if err != nil || len(all) != 2 || all[0].ID != ids[0] || !all[0].Time.Before(all[1].Time) {
		t.Fatalf("the log is %v, %v, want %v", all, err, ids)
	}
	if newest, err := l.Newest(func(change.Entry) bool { return true }); err != nil || !slices.Equal(newest, ids[:1]) {
		t.Errorf("Newest = %v, %v, want %v", newest, err, ids[:1])
	}
}
