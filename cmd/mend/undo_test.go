package main

import (
	"maps"
	"strings"
	"testing"

	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/internal/mend"
	"mend/internal/test/damage"
	"mend/internal/test/dbtest"
)

// TestUndoWithoutParent: the undo of a change of a part whose message was deleted is refused even with --force, and the
// hint does not suggest --force again.
func TestUndoWithoutParent(t *testing.T) {
	ts := newTestStore(t, 1)
	damage.Edit(ts, ts.path, ts.session, damage.ByName(ts, "blank answer"))
	ts.want(frame.ExitDone, "repair", ts.session, "--yes")
	dbtest.Alter(t, ts.path, "PRAGMA foreign_keys=ON", "DELETE FROM message")
	before := ts.snapshot()
	out := ts.want(frame.ExitConflict, "undo", "qevajo", "--yes", "--force")
	if !strings.Contains(out, "which does not exist") || !strings.Contains(out, "mend never restores") || strings.Contains(out, "--force") {
		t.Error(out)
	}
	if !maps.Equal(ts.snapshot(), before) {
		t.Error("rows changed")
	}
}

// TestUndoNewColumn: the undo and the redo of a repair keep the values of columns that the agent added since.
func TestUndoNewColumn(t *testing.T) {
	ts := newTestStore(t, 1)
	damage.Edit(ts, ts.path, ts.session, damage.ByName(ts, "blank answer"))
	damaged := ts.snapshot()
	ts.want(frame.ExitDone, "repair", ts.session, "--yes")
	repaired := ts.snapshot()
	columns := []string{"ALTER TABLE part ADD COLUMN a text", "ALTER TABLE part ADD COLUMN b integer NOT NULL DEFAULT 7", "UPDATE part SET a = id"}
	// withoutNew checks the values of the new columns, and returns the rows without these columns.
	withoutNew := func() map[string]string {
		t.Helper()
		dbtest.Alter(t, ts.path, "CREATE TABLE checked (x CHECK (x = 0))", "INSERT INTO checked SELECT count(*) FROM part WHERE a IS NOT id OR b != 7",
			"DROP TABLE checked", "ALTER TABLE part DROP COLUMN a", "ALTER TABLE part DROP COLUMN b")
		defer dbtest.Alter(t, ts.path, columns...)
		return ts.snapshot()
	}
	dbtest.Alter(t, ts.path, columns...)
	ts.want(frame.ExitDone, "undo", "qevajo", "--yes")
	if !maps.Equal(withoutNew(), damaged) {
		t.Error("the undo does not restore the rows")
	}
	ts.want(frame.ExitDone, "redo", "qevajo", "--yes")
	if !maps.Equal(withoutNew(), repaired) {
		t.Error("the redo does not restore the rows")
	}
}

// TestUndoDeletedRowNewColumn: a deleted row whose table has got new columns since is restored with the defaults of
// these columns, and not at all if one of them requires a value.
func TestUndoDeletedRowNewColumn(t *testing.T) {
	ts := newTestStore(t, 1)
	damage.Edit(ts, ts.path, ts.session, damage.ByName(ts, "reasoning last"))
	damaged := ts.snapshot()
	ts.want(frame.ExitDone, "repair", ts.session, "--yes")
	dbtest.Alter(t, ts.path, "ALTER TABLE part ADD COLUMN a text", "ALTER TABLE part ADD COLUMN b integer NOT NULL DEFAULT '7'", "ALTER TABLE part ADD COLUMN c integer",
		// ADD COLUMN cannot create a column that requires a value. A migration that recreates the table can.
		"PRAGMA writable_schema=ON", "UPDATE sqlite_schema SET sql = replace(sql, 'c integer', 'c integer NOT NULL') WHERE name = 'part'")
	before := ts.snapshot()
	for _, force := range []string{"--force=false", "--force"} {
		if out := ts.want(frame.ExitUnusable, "undo", "--session", ts.session, "--yes", force); !strings.Contains(out, "its table has the new columns c,") || strings.Contains(out, "--force") {
			t.Error(out)
		}
	}
	if !maps.Equal(ts.snapshot(), before) {
		t.Error("rows changed")
	}
	// withoutNew checks the values of the new columns, removes these columns, and returns the rows.
	withoutNew := func() map[string]string {
		t.Helper()
		dbtest.Alter(t, ts.path, "CREATE TABLE checked (x CHECK (x = 0))", "INSERT INTO checked SELECT count(*) FROM part WHERE a IS NOT NULL OR b IS NOT 7",
			"DROP TABLE checked", "ALTER TABLE part DROP COLUMN a", "ALTER TABLE part DROP COLUMN b")
		return ts.snapshot()
	}
	dbtest.Alter(t, ts.path, "ALTER TABLE part DROP COLUMN c")
	ts.want(frame.ExitDone, "undo", "--session", ts.session, "--yes")
	ts.want(frame.ExitDone, "redo", "qevajo", "--yes")
	ts.want(frame.ExitDone, "undo", "--session", ts.session, "--yes")
	if !maps.Equal(withoutNew(), damaged) {
		t.Error("the undo does not restore the rows")
	}
}

// TestUndoNewest: undo without an id reverts the newest change of any kind: a repair, a redo, or a restore of an
// earlier state. A redo does not treat a restore as an undo.
func TestUndoNewest(t *testing.T) {
	ts := newBrokenStore(t, 2)
	damaged := ts.snapshot()
	ts.want(frame.ExitDone, "repair", ts.session, "--yes")
	first := ts.snapshot()
	ts.want(frame.ExitDone, "repair", "--yes")
	both := ts.snapshot()
	same := func(want map[string]string, args ...string) {
		t.Helper()
		if ts.want(frame.ExitDone, append(args, "--yes")...); !maps.Equal(ts.snapshot(), want) {
			t.Errorf("after mend %s the store differs", strings.Join(args, " "))
		}
	}
	ts.want(frame.ExitDone, "undo", "qevajo", "--yes")
	second := ts.snapshot()
	same(both, "redo", "qevajo")
	same(second, "undo")
	same(both, "redo")
	same(second, "restore", ts.session, "--at", "qevajo")
	if out := ts.want(frame.ExitDone, "log", "-n", "1"); !strings.Contains(out, "restore: before repair qevajo") {
		t.Error(out)
	}
	if out := ts.want(frame.ExitRefused, "redo", "--yes"); !strings.Contains(out, "no change is undone") {
		t.Error(out)
	}
	same(both, "undo")
	same(second, "undo")
	same(damaged, "undo")
	same(second, "redo")
	same(both, "undo", newestUndo(t, ts)) // the undo of an undo is a redo
	same(second, "undo")
	same(damaged, "undo")
	ts.want(frame.ExitRefused, "undo", "--yes")
	if maps.Equal(first, both) {
		t.Error("only one session was repaired")
	}
}

// newestUndo returns the id of the undo that redo without an id would revert next.
func newestUndo(t *testing.T, ts *testStore) string {
	t.Helper()
	ids, err := mend.OpenJournal(ts.journal).NewestUndo(func(change.Entry) bool { return true })
	if err != nil || len(ids) == 0 {
		t.Fatal(ids, err)
	}
	return ids[0]
}

// want runs mend, requires the exit code, and returns the output.
func (ts *testStore) want(code int, args ...string) string {
	ts.Helper()
	got, out := ts.mend(args...)
	if got != code {
		ts.Fatalf("mend %s: exit code %d, want %d:\n%s", strings.Join(args, " "), got, code, out)
	}
	return out
}
