package codex_test

import (
	"bytes"
	"os"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mend/change"
	fixture "mend/internal/test/codex"
	"mend/internal/test/storetest"
	"mend/repair"
	"mend/txn"
)

// newDamagedHome returns a home with a rollout that lost its first line, and an index row with another path: a
// repair changes both.
func newDamagedHome(t *testing.T) *fixture.Home {
	t.Helper()
	h := fixture.NewHome(t, "")
	createIndex(h, "/nowhere.jsonl")
	h.Damage(fixture.ByName("first line NUL"))
	return h
}

// commit makes a change without an entry in a journal.
func commit(t *testing.T, h *fixture.Home, p change.Plan) (txn.Store, change.Staged) {
	t.Helper()
	store, err := openStore(h)
	must(t, err)
	w, err := store.Writer("owner")
	must(t, err)
	staged, err := w.Prepare(t.Context(), p)
	must(t, err)
	if out, err := w.Commit(t.Context(), staged); err != nil || out.State != change.Committed {
		t.Fatalf("Commit = %+v, %v", out, err)
	}
	return w, staged
}

// TestForeignBeforeRecovery: a process is killed after it has changed the rollout and its row, and then another process
// writes to the rollout. If the recovery reports that the change was aborted, the row is as before.
func TestForeignBeforeRecovery(t *testing.T) {
	h := newDamagedHome(t)
	before := files(t, h)
	r, err := open(t, h, t.TempDir()).ProposeRepair(t.Context(), session(t, open(t, h, t.TempDir())), repair.Request{})
	must(t, err)
	w, staged := commit(t, h, r.Plan)
	data, err := os.ReadFile(h.Rollout())
	if err == nil {
		err = os.WriteFile(h.Rollout(), bytes.Replace(data, []byte("\n{"), []byte("\n {"), 1), 0o600)
	}
	must(t, err)
	for range 2 { // a recovery may be stopped, and is repeated
		out, err := w.Settle(t.Context(), staged)
		must(t, err)
		if now := files(t, h); out.State == change.Aborted && now["index"] != before["index"] {
			t.Errorf("the change is %s, and the row is changed:\n%s", out.State, gocmp.Diff(before["index"], now["index"]))
		}
	}
}

// TestCrash cuts a repair of a rollout and its row at each call that changes the disk. After the recovery either both
// are as before or both are repaired.
func TestCrash(t *testing.T) {
	for cut := 0; ; cut++ {
		h := newDamagedHome(t)
		journal, before := t.TempDir(), files(t, h)
		fault := storetest.Fault{At: cut}
		c := openWithStep(t, h, journal, fault.Step)
		r, err := c.ProposeRepair(t.Context(), session(t, c), repair.Request{})
		if err != nil || len(r.Plan.Ops) != 2 {
			t.Fatalf("the plan has %d ops, error %v", len(r.Plan.Ops), err)
		}
		_, err = c.Apply(t.Context(), r.Plan)
		if _, rerr := open(t, h, journal).Recover(t.Context(), false); rerr != nil {
			t.Errorf("cut at call %d: recovering: %v", cut, rerr)
		}
		now := files(t, h)
		rollout, row := now[h.Rollout()] != before[h.Rollout()], now["index"] != before["index"]
		if rollout != row {
			t.Errorf("cut at call %d: the rollout changed: %t, the row changed: %t", cut, rollout, row)
		}
		if !fault.Hit() {
			if err != nil || !rollout || cut < 5 {
				t.Errorf("a repair of %d calls: %v, changed: %t", cut, err, rollout)
			}
			return
		}
	}
}
