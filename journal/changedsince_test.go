package journal

import (
	"testing"

	"mend/change"
)

// TestChangedSince: a change of the session counts, even if it is pending, and so does the resolution of an older entry. A
// change of another session or store does not.
func TestChangedSince(t *testing.T) {
	j := mustOpen(t, t.TempDir(), Options{})
	defer mustClose(t, j)
	want := func(when string, seen uint64, id string) {
		t.Helper()
		if e, found, err := j.ChangedSince(seen, testStore, "ses_1"); found != (id != "") || e.ID != id || err != nil {
			t.Errorf("%s: %q, %t, %v, want %q", when, e.ID, found, err, id)
		}
	}
	want("no entry", 0, "")
	older := mustFinish(t, j, mustBegin(t, j, scanCause(), sampleOps()...), change.Conflicted)
	newer := mustCommit(t, j, scanCause(), sampleOps()...)
	want("since the beginning", 0, newer.ID)
	seen := j.NewestEvent()
	want("since both", seen, "")
	elsewhere := testStore
	elsewhere.Root += "x"
	for session, store := range map[string]change.StoreID{"ses_2": testStore, "ses_1": elsewhere} {
		p, st := newPlan(scanCause(), sampleOps()...)
		p.Session, st.Store = session, store
		e, err := j.Begin(p, st)
		if err != nil {
			t.Fatal(err)
		}
		mustFinish(t, j, e, change.Committed)
	}
	want("another session and another store changed", seen, "")
	if _, err := j.Resolve(older, "keep", ""); err != nil {
		t.Fatal(err)
	}
	want("the older one was resolved", seen, older.ID)
	e := mustBegin(t, j, scanCause(), sampleOps()...)
	want("one is pending", seen, e.ID)
}
