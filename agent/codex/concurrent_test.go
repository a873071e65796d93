package codex_test

import (
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mend/internal/mend"
	fixture "mend/internal/test/codex"
	"mend/repair"
)

// TestConcurrentRepairs runs the same repair with two clients at once, with the same journal. One changes the
// rollout and its row; the other fails because the session has changed or is in use. One undo restores everything.
func TestConcurrentRepairs(t *testing.T) {
	h := fixture.NewHome(t, "")
	createIndex(h, "/nowhere.jsonl")
	h.Damage(fixture.ByName("answer twice"))
	before, journal := files(t, h), t.TempDir()
	var all []*mend.Store
	var plans []repair.Result
	for range 2 {
		c := open(t, h, journal)
		r, err := c.ProposeRepair(t.Context(), session(t, c), repair.Request{})
		if err != nil || len(r.Plan.Ops) != 2 {
			t.Fatalf("the plan has %d ops, error %v", len(r.Plan.Ops), err)
		}
		all, plans = append(all, c), append(plans, r)
	}
	ids, errs := make([]string, 2), make([]error, 2)
	var work sync.WaitGroup
	for i, c := range all {
		work.Go(func() {
			e, err := c.Apply(t.Context(), plans[i].Plan)
			ids[i], errs[i] = e.ID, err
		})
	}
	work.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Fatalf("the repairs end with %v and %v, want one error", errs[0], errs[1])
	}
	done := 0
	if errs[0] != nil {
		done = 1
	}
	if got := predictFate(t, all[done], session(t, all[done])); got != "alive" {
		t.Errorf("after the repairs the session is %s", got)
	}
	undo(t, open(t, h, journal), ids[done])
	if diff := gocmp.Diff(before, files(t, h)); diff != "" {
		t.Errorf("after the undo: %s", diff)
	}
}
