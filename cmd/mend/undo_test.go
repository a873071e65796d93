package main

import (
	"maps"
	"strings"
	"testing"

	"mend/internal/damage"
	"mend/internal/dbtest"
)

// TestUndoWithoutParent undoes by force the change of a part whose message was deleted: nothing
// is changed, and the hint does not ask for what was just done.
func TestUndoWithoutParent(t *testing.T) {
	ts := newTestStore(t, 1)
	damage.Edit(ts, ts.path, ts.session, damage.ByName(ts, "blank answer"))
	if code, out := ts.mend("repair", ts.session, "--yes"); code != exitDone {
		t.Fatalf("repair: exit code %d:\n%s", code, out)
	}
	dbtest.Alter(t, ts.path, "PRAGMA foreign_keys=ON", "DELETE FROM message")
	was := ts.snapshot()
	code, out := ts.mend("undo", "qevajo", "--yes", "--force")
	if code != exitConflict || !strings.Contains(out, "which is not there") || !strings.Contains(out, "Even by force") || strings.Contains(out, "--force") {
		t.Errorf("undo --force: exit code %d:\n%s", code, out)
	}
	if !maps.Equal(ts.snapshot(), was) {
		t.Error("rows changed")
	}
}
