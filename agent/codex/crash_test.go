package codex_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mend/agent"
	"mend/agent/codex"
	"mend/change"
	"mend/internal/mend"
	fixture "mend/internal/test/codex"
	"mend/repair"
	"mend/testdata"
	"mend/txn"
)

// newDamagedHome returns a home with a rollout that lost its first line, and an index row with another path: a
// repair changes both.
func newDamagedHome(t *testing.T) *fixture.Home {
	t.Helper()
	h := fixture.NewHome(t, "")
	h.SQL("PRAGMA journal_mode = wal; CREATE TABLE threads (id TEXT PRIMARY KEY, rollout_path TEXT NOT NULL, cwd TEXT NOT NULL DEFAULT '/w', first_user_message TEXT NOT NULL DEFAULT 'x', preview TEXT NOT NULL DEFAULT 'x');" +
		"INSERT INTO threads (id, rollout_path) VALUES ('" + testdata.CodexSession + "', '/nowhere.jsonl')")
	for _, d := range fixture.Damages() {
		if d.Name == "first line NUL" {
			h.Damage(d)
		}
	}
	return h
}

// commit makes a change without an entry in a journal.
func commit(t *testing.T, h *fixture.Home, p change.Plan) (txn.Store, change.Staged) {
	t.Helper()
	store, err := openStore(h)
	if err != nil {
		t.Fatal(err)
	}
	w, err := store.Writer("owner")
	if err != nil {
		t.Fatal(err)
	}
	staged, err := w.Prepare(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := w.Commit(t.Context(), staged); err != nil || out.State != change.Committed {
		t.Fatalf("Commit = %+v, %v", out, err)
	}
	return w, staged
}

// A process is killed after it has changed the rollout and its row, and then another process writes to the rollout. If
// the recovery reports that nothing was changed, the row must be as before.
func TestForeignBeforeRecovery(t *testing.T) {
	h := newDamagedHome(t)
	before := files(t, h)
	r, err := open(t, h, t.TempDir()).ProposeRepair(t.Context(), session(t, open(t, h, t.TempDir())), repair.Request{})
	if err != nil {
		t.Fatal(err)
	}
	w, staged := commit(t, h, r.Plan)
	data, err := os.ReadFile(h.Rollout())
	if err == nil {
		err = os.WriteFile(h.Rollout(), bytes.Replace(data, []byte("\n{"), []byte("\n {"), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a recovery may be stopped, and is repeated
		out, err := w.Settle(t.Context(), staged)
		if err != nil {
			t.Fatal(err)
		}
		if now := files(t, h); out.State == change.Aborted && now["index"] != before["index"] {
			t.Errorf("the change is %s, and the row is changed:\n%s", out.State, gocmp.Diff(before["index"], now["index"]))
		}
	}
}

// TestCrash stops a repair of a rollout and its row at each call that changes the disk. After the recovery either both
// are as before or both are repaired.
func TestCrash(t *testing.T) {
	var after map[string]string
	for cut := 0; ; cut++ {
		h := newDamagedHome(t)
		journal, before := t.TempDir(), files(t, h)
		n := 0
		step := func(call string) error {
			if n++; n > cut && cut > 0 {
				return fmt.Errorf("cut at %q: %w", call, errors.ErrUnsupported)
			}
			return nil
		}
		c, err := mend.Open(mend.Options{Agents: []agent.Agent{codex.Agent{Step: step}}, Store: h.Root(), Journal: mend.OpenJournal(journal)})
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.ProposeRepair(t.Context(), session(t, c), repair.Request{})
		if err != nil || len(r.Plan.Ops) != 2 {
			t.Fatalf("the plan has %d ops, error %v", len(r.Plan.Ops), err)
		}
		n = 0
		_, err = c.Apply(t.Context(), r.Plan)
		if cut == 0 {
			if after = files(t, h); err != nil || gocmp.Equal(before, after) {
				t.Fatalf("the repair: %v", err)
			}
			continue
		}
		if _, rerr := open(t, h, journal).Recover(t.Context(), false); rerr != nil {
			t.Errorf("cut at call %d: recovering: %v", cut, rerr)
		}
		normal := func(m map[string]string) string { return gocmp.Diff(m[h.Rollout()], "") + m["index"] }
		now := files(t, h)
		isBefore := normal(now) == normal(before)
		isAfter := now["index"] != before["index"] && now[h.Rollout()] != before[h.Rollout()]
		if !isBefore && !isAfter {
			t.Errorf("cut at call %d: the rollout changed: %t, the row changed: %t", cut, now[h.Rollout()] != before[h.Rollout()], now["index"] != before["index"])
		}
		if err == nil && isAfter {
			t.Logf("%d calls", cut)
			return
		}
		if cut > 200 {
			t.Fatal("no end")
		}
	}
}
