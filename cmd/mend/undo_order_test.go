package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/internal/mend"
	"mend/internal/test/dbtest"
	"mend/internal/test/storetest"
)

// TestUndoOrder: after two changes are undone in the wrong order, the store has its original state, or an undo was
// refused with the id to undo first, and the store has its original state after that. A plain run has each change in
// one pair, as the first or the second.
func TestUndoOrder(t *testing.T) {
	for _, kind := range changedStores {
		t.Run(kind.kind, func(t *testing.T) {
			t.Parallel()
			s := kind.make(t)
			reset := storetest.Save(t, s.dir)
			base := s.withoutFolders()
			for i, first := range s.verbs {
				for k, second := range s.verbs {
					if i == k || !storetest.AllCases() && (i%2 > 0 || k != (i+1)%len(s.verbs)) {
						continue
					}
					one, two := s.do(first), s.do(second)
					if one != "" && two != "" {
						undoBoth(s, base, one, two, first.name+", "+second.name)
					}
					reset()
				}
			}
		})
	}
}

// undoBoth undoes the operation one, then the later one two, and one again if it was refused.
func undoBoth(s *changedStore, base map[string]string, one, two, name string) {
	s.Helper()
	var done []string
	undo := func(operation string) (code int) {
		before, entries := s.everything(), len(s.entries())
		code, out := s.mend("undo", operation, "--yes")
		done = append(done, operation+": "+out)
		if code != frame.ExitDone {
			// For a replaced database that was changed since, even if its rows are the same again, no other undo helps.
			names := s.entries()[0].IsUndo() && strings.Contains(out, "mend database") && strings.Contains(out, "--force") || slices.ContainsFunc(s.entries(), func(e change.Entry) bool {
				return mend.OperationOf(e) != operation && strings.Contains(out, "mend undo "+e.ID)
			})
			if code != frame.ExitConflict && code != frame.ExitRefused || !names {
				s.Errorf("%s: the undo of %s is refused without the id to undo first, with exit code %d: %s", name, operation, code, out)
			}
			if len(s.entries()) == entries && !maps.Equal(before, s.everything()) {
				s.Errorf("%s: a refused undo of %s changed the store", name, operation)
			}
		}
		if strings.HasSuffix(s.path, ".db") {
			if orphans := dbtest.Orphans(s.T, s.path); orphans > 1 { // one existed before
				s.Errorf("%s: after the undo of %s %d rows refer to nothing", name, operation, orphans)
			}
		}
		return code
	}
	code := undo(one)
	again := undo(two) == frame.ExitDone
	if code != frame.ExitDone && again {
		undo(one)
	}
	if !maps.Equal(base, s.withoutFolders()) {
		s.Errorf("%s: undone in the wrong order, the store differs from its original state:\n%s", name, strings.Join(done, "\n"))
	}
}

// TestUndoMoveInPart: if another program changed one session of a move, the undo of the move leaves that session and
// its new project, and --force undoes them, too.
func TestUndoMoveInPart(t *testing.T) {
	s := newChangedDatabase(t)
	base := s.everything()
	operation := s.do(s.move())
	project := s.entries()[3].ID // the first entry of the move
	dbtest.Alter(t, s.path, "UPDATE session SET title = 'other' WHERE id = (SELECT max(id) FROM session WHERE project_id = 'global')")
	if code, out := s.mend("undo", operation, "--yes"); code != frame.ExitConflict || !strings.Contains(out, "has belonged to the project since") {
		t.Errorf("undo: exit code %d: %s", code, out)
	}
	if code, out := s.mend("undo", project, "--yes"); code != frame.ExitRefused {
		t.Errorf("undo of the project alone: exit code %d: %s", code, out)
	}
	if n := dbtest.Orphans(t, s.path); n != 1 { // as before the move
		t.Errorf("%d rows refer to nothing, want 1", n)
	}
	if code, out := s.mend("undo", operation, "--yes", "--force"); code != frame.ExitDone || !maps.Equal(base, s.everything()) {
		t.Errorf("undo by force: exit code %d: %s", code, out)
	}
}

// TestUndoEventsOfCleanedSession: the undo of "clean events" is refused before the undo of a later "clean sessions",
// because the events of that session would be left out.
func TestUndoEventsOfCleanedSession(t *testing.T) {
	s := newChangedDatabase(t)
	base := s.everything()
	events, session := s.do(s.verb("clean events")), s.do(s.verb("clean session"))
	before := s.everything()
	code, out := s.mend("undo", events, "--yes")
	if code != frame.ExitRefused || !strings.Contains(out, "Undo the later change first: mend undo "+s.entries()[0].ID) || !maps.Equal(before, s.everything()) {
		t.Errorf("undo of the events: exit code %d: %s", code, out)
	}
	for _, operation := range []string{session, events} {
		if code, out := s.mend("undo", operation, "--yes"); code != frame.ExitDone {
			t.Errorf("undo of %s: exit code %d: %s", operation, code, out)
		}
	}
	if !maps.Equal(base, s.everything()) {
		t.Error("the store differs from its original state")
	}
}

// TestUndoEventsOfDeletedSession: if the agent deleted a session after "clean events", the undo has the number of rows
// that are left out.
func TestUndoEventsOfDeletedSession(t *testing.T) {
	s := newChangedDatabase(t)
	events := s.do(s.verb("clean events"))
	dbtest.Alter(t, s.path, "PRAGMA foreign_keys = ON; DELETE FROM session WHERE id = (SELECT max(id) FROM session)",
		"PRAGMA foreign_keys = ON; DELETE FROM event_sequence WHERE aggregate_id NOT IN (SELECT id FROM session)")
	if code, out := s.mend("undo", events, "--yes"); code != frame.ExitDone || !strings.Contains(out, "rows are left out, because their sessions were deleted since") {
		t.Errorf("undo: exit code %d: %s", code, out)
	}
}

// TestUndoSessionsOfDeletedProject: if the project of a session was deleted after "clean sessions", the undo restores
// the project with the session.
func TestUndoSessionsOfDeletedProject(t *testing.T) {
	s := newChangedDatabase(t)
	base := s.everything()
	session := s.do(s.verb("clean session"))
	dbtest.Alter(t, s.path, "PRAGMA foreign_keys = OFF; DELETE FROM project")
	if code, out := s.mend("undo", session, "--yes"); code != frame.ExitDone || !maps.Equal(base, s.everything()) {
		t.Errorf("undo: exit code %d: %s", code, out)
	}
}

// TestUndoMoveOfUsedProject: if the agent created a session in the new project of a move, the undo leaves the project,
// because the session would refer to a missing project.
func TestUndoMoveOfUsedProject(t *testing.T) {
	s := newChangedDatabase(t)
	base := s.everything()
	operation := s.do(s.move())
	dbtest.Alter(t, s.path, "CREATE TEMP TABLE x AS SELECT * FROM session LIMIT 1; UPDATE x SET id = 'ses_of_agent', project_id = 'global'; INSERT INTO session SELECT * FROM x")
	if code, out := s.mend("undo", operation, "--yes"); code != frame.ExitConflict || !strings.Contains(out, "session ses_of_agent belongs to the project") {
		t.Errorf("undo: exit code %d: %s", code, out)
	}
	if n := dbtest.Orphans(t, s.path); n != 1 { // as before the move
		t.Errorf("%d rows refer to nothing, want 1", n)
	}
	dbtest.Alter(t, s.path, "DELETE FROM session WHERE id = 'ses_of_agent'")
	if code, out := s.mend("undo", operation, "--yes"); code != frame.ExitDone || !maps.Equal(base, s.everything()) {
		t.Errorf("undo of the rest: exit code %d: %s", code, out)
	}
}

// TestUndoChangedAgain: of two removals of the same session, the first cannot be undone while the second is in force:
// otherwise "undo" could no longer revert the second.
func TestUndoChangedAgain(t *testing.T) {
	for _, kind := range changedStores {
		t.Run(kind.kind, func(t *testing.T) {
			t.Parallel()
			s := kind.make(t)
			base := s.everything()
			first, _, _ := s.do(s.verb("clean kept")), s.do(s.verb("restore kept")), s.do(s.verb("clean kept"))
			before := s.everything()
			code, out := s.mend("undo", first, "--yes")
			if code != frame.ExitRefused || !strings.Contains(out, "mend undo "+s.entries()[0].ID) || !maps.Equal(before, s.everything()) {
				t.Errorf("undo of the first: exit code %d: %s", code, out)
			}
			for range 3 {
				if code, out := s.mend("undo", "--yes"); code != frame.ExitDone {
					t.Errorf("undo: exit code %d: %s", code, out)
				}
			}
			if !maps.Equal(base, s.everything()) {
				t.Error("the store differs from its original state")
			}
		})
	}
}
