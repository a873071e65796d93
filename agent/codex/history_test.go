package codex_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"mend/change"
	fixture "mend/internal/test/codex"
	"mend/internal/test/storetest"
	"mend/repair"
	"mend/testdata"
)

const historyFile = "thread_history_1.sqlite"

// historySchema is the schema of Codex 0.171.0, without the indexes that no change uses.
const historySchema = `PRAGMA journal_mode = wal;
CREATE TABLE thread_turns (thread_id TEXT NOT NULL, turn_id TEXT NOT NULL, rollout_ordinal INTEGER NOT NULL, status TEXT NOT NULL, PRIMARY KEY (thread_id, turn_id));
CREATE UNIQUE INDEX idx_thread_turns_page ON thread_turns(thread_id, rollout_ordinal);
CREATE TABLE thread_items (thread_id TEXT NOT NULL, turn_id TEXT NOT NULL, item_id TEXT NOT NULL, rollout_ordinal INTEGER NOT NULL, item_json TEXT NOT NULL, started_at_ms INTEGER, PRIMARY KEY (thread_id, turn_id, item_id));
CREATE UNIQUE INDEX idx_thread_items_page ON thread_items(thread_id, rollout_ordinal);
CREATE TABLE thread_history_projection_state (thread_id TEXT PRIMARY KEY, next_rollout_byte_offset INTEGER NOT NULL, next_rollout_ordinal INTEGER NOT NULL);
CREATE TABLE thread_realtime_items (thread_id TEXT NOT NULL, item_id TEXT NOT NULL, item_json TEXT NOT NULL, PRIMARY KEY (thread_id, item_id));
CREATE TRIGGER thread_realtime_items_projection_cleanup AFTER DELETE ON thread_history_projection_state
BEGIN DELETE FROM thread_realtime_items WHERE thread_id = OLD.thread_id; END;`

// showSession writes the rows that Codex writes when it shows a session, with a text.
func showSession(t *testing.T, h *fixture.Home, id, text string) {
	t.Helper()
	queryHistory(t, h, strings.NewReplacer("ID", id, "TEXT", text).Replace(`DELETE FROM thread_turns WHERE thread_id = 'ID'; DELETE FROM thread_items WHERE thread_id = 'ID';
INSERT OR REPLACE INTO thread_history_projection_state VALUES ('ID', 900, 12);
INSERT INTO thread_turns VALUES ('ID', 't2', 9, 'completed'), ('ID', 't1', 1, 'completed');
INSERT INTO thread_items VALUES ('ID', 't1', 'i1', 2, '{"text":"TEXT"}', NULL), ('ID', 't2', 'i2', 10, '{}', 7);
INSERT OR REPLACE INTO thread_realtime_items VALUES ('ID', 'r1', 'TEXT')`))
}

// queryHistory runs statements, and returns the rows of all tables.
func queryHistory(t *testing.T, h *fixture.Home, sql string) (rows []string) {
	t.Helper()
	db, err := sqlite3.Open(filepath.Join(h.Root(), historyFile))
	if err == nil {
		err = db.Exec(sql)
	}
	for _, table := range []string{"thread_history_projection_state", "thread_turns", "thread_items", "thread_realtime_items"} {
		st, _, perr := db.Prepare("SELECT * FROM " + table + " ORDER BY 1, 2")
		if err = errors.Join(err, perr); err != nil {
			break
		}
		for st.Step() {
			var row strings.Builder
			row.WriteString(table)
			for i := range st.ColumnCount() {
				row.WriteString("|" + st.ColumnType(i).String() + " " + st.ColumnText(i))
			}
			rows = append(rows, row.String())
		}
		err = errors.Join(st.Err(), st.Close())
	}
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return rows
}

// newShownHome returns a home with a damaged session that Codex has shown, and the rows of another session.
func newShownHome(t *testing.T) (h *fixture.Home, other []string) {
	t.Helper()
	h = fixture.NewHome(t, "")
	h.Damage(fixture.ByName("answer twice"))
	queryHistory(t, h, historySchema)
	showSession(t, h, "other", "another")
	other = queryHistory(t, h, "")
	showSession(t, h, testdata.CodexSession, "first")
	return h, other
}

// TestShownHistory: a change of a rollout deletes the rows that Codex shows of that session, so that Codex derives them
// again. An undo restores the rows, whatever Codex has derived since.
func TestShownHistory(t *testing.T) {
	h, other := newShownHome(t)
	first := queryHistory(t, h, "")
	c := open(t, h, t.TempDir())
	fix := func() string {
		t.Helper()
		r, err := c.ProposeRepair(t.Context(), session(t, c), repair.Request{})
		if err != nil || len(r.Plan.Ops) == 0 {
			t.Fatalf("the plan has %d ops, error %v", len(r.Plan.Ops), err)
		}
		return apply(t, c, r.Plan)
	}
	want := func(what string, want []string) {
		t.Helper()
		if d := gocmp.Diff(want, queryHistory(t, h, "")); d != "" {
			t.Errorf("%s:\n%s", what, d)
		}
	}
	id := fix()
	want("after a repair", other)
	undo(t, c, id)
	want("after its undo", first)

	id = fix()
	showSession(t, h, testdata.CodexSession, "second")
	undo(t, c, id)
	want("after an undo, when Codex has shown the repaired session", first)

	// A process is killed after it has changed the rollout.
	r, err := c.ProposeRepair(t.Context(), session(t, c), repair.Request{})
	must(t, err)
	w, staged := commit(t, h, r.Plan)
	showSession(t, h, testdata.CodexSession, "first")
	if out, err := w.Settle(t.Context(), staged); err != nil || out.State != change.Committed {
		t.Errorf("Settle: %v, %v", out.State, err)
	}
	want("after a recovery", other)

	must(t, os.WriteFile(filepath.Join(h.Root(), historyFile), []byte("no database"), 0o600))
	h.Damage(fixture.ByName("prompt twice"))
	fix() // a file that is not a database does not stop a repair
}

// TestShownHistoryCut cuts a repair at each call that changes the disk. After the recovery the rollout is as before,
// with the rows that Codex showed of it, or it is repaired, without these rows.
func TestShownHistoryCut(t *testing.T) {
	for cut := 0; ; cut++ {
		h, other := newShownHome(t)
		journal, before, first := t.TempDir(), files(t, h)[h.Rollout()], queryHistory(t, h, "")
		fault := storetest.Fault{At: cut}
		c := openWithStep(t, h, journal, fault.Step)
		r, err := c.ProposeRepair(t.Context(), session(t, c), repair.Request{})
		must(t, err)
		_, err = c.Apply(t.Context(), r.Plan)
		if _, rerr := open(t, h, journal).Recover(t.Context(), false); rerr != nil {
			t.Errorf("cut at call %d: recovering: %v", cut, rerr)
		}
		repaired, want := files(t, h)[h.Rollout()] != before, first
		if repaired {
			want = other
		}
		rowsLeft := err == nil && fault.Hit() // only the deletion of the rows failed
		if d := gocmp.Diff(want, queryHistory(t, h, "")); d != "" && !rowsLeft {
			t.Errorf("cut at call %d: %s", cut, d)
		}
		if !fault.Hit() {
			if err != nil || !repaired {
				t.Errorf("repaired: %t, %v", repaired, err)
			}
			return
		}
	}
}
