package sqlstore_test

import (
	"errors"
	"testing"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/test/dbtest"
	"mend/sqlstore"
)

// deleteAll returns the ops that remove a session, but not its project.
func deleteAll(s *record.Session) []change.Op {
	return change.Diff(s.Records, (&record.Session{Head: change.Head{ID: s.ID}}).Records)
}

// TestDeleteSession takes a session away with all that is its own, and refuses
// as long as a row of another table is left to it.
func TestDeleteSession(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, sqlstore.Options{})
	was := dbtest.Dump(t, path)
	ops := deleteAll(load(t, s, id))
	if out := dbtest.Run(t, s, ops); out.State != change.Committed {
		t.Fatalf("Commit = %+v", out)
	}
	if ids, err := sessionIDs(t.Context(), s); err != nil || len(ids) != 0 {
		t.Errorf("sessions are left: %q, %v", ids, err)
	}
	if out := dbtest.Run(t, s, change.Inverse(ops)); out.State != change.Committed || dbtest.Dump(t, path) != was {
		t.Fatalf("undo = %+v", out)
	}
	// Without its messages the session cannot go, nor they without their parts.
	for _, some := range [][]change.Op{ops[len(ops)-1:], ops[len(ops)-11 : len(ops)-1]} {
		_, err := s.Prepare(t.Context(), change.Plan{Ops: some})
		if c := conflictsIn(err); len(c) != len(some) || !hasConflict(c, "still refers to it") {
			t.Errorf("deleting %s alone: %v", some[0].Ref, err)
		}
	}
	dbtest.Alter(t, path, "INSERT INTO todo VALUES ('"+id+"', 'c', 's', 'p', 0, 1, 1)")
	_, err := s.Prepare(t.Context(), change.Plan{Ops: ops})
	if !hasConflict(conflictsIn(err), "a row of todo still refers to it") {
		t.Errorf("Prepare beside a todo: %v", err)
	}
	out, err := s.Commit(t.Context(), change.Staged{Store: s.ID(), Ops: ops})
	if err != nil || out.State != change.Aborted || !hasConflict(out.Conflicts, "a row of todo") {
		t.Errorf("Commit beside a todo = %+v, %v", out, err)
	}
}

// TestParents creates rows below nothing, and below what the plan takes away.
func TestParents(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, sqlstore.Options{})
	ops := deleteAll(load(t, s, id))
	dbtest.Run(t, s, ops)
	undo := change.Inverse(ops) // session, then messages, then parts
	for _, some := range [][]change.Op{undo[1:], undo[11:], {undo[0], undo[11]}} {
		_, err := s.Prepare(t.Context(), change.Plan{Ops: some})
		if !hasConflict(conflictsIn(err), "which is not there") {
			t.Errorf("creating %s without its parent: %v", some[0].Ref, err)
		}
	}
	dbtest.Alter(t, path, "DELETE FROM project")
	if _, err := s.Prepare(t.Context(), change.Plan{Ops: undo}); !hasConflict(conflictsIn(err), "project global, which is not there") {
		t.Errorf("creating a session without its project: %v", err)
	}
	dbtest.Run(t, open(t, unpackTwice(t), sqlstore.Options{}), ops[:1])
}

// unpackTwice is a fixture of its own; the plan of one fits the other.
func unpackTwice(t *testing.T) string {
	t.Helper()
	path, _ := dbtest.Unpack(t, "1.18.33")
	return path
}

// TestReadAgain writes during an unlocked read, which must then be repeated.
func TestReadAgain(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, sqlstore.Options{})
	const readTries = 5 // of sqlstore
	for _, times := range []int{0, 1, readTries - 1, readTries} {
		runs := 0
		var title string
		err := s.View(t.Context(), func(c *sqlstore.Conn) error {
			all, err := c.Strings("SELECT title FROM session")
			if err != nil {
				return err
			}
			title = all[0]
			if runs++; runs <= times {
				dbtest.Alter(t, path, "UPDATE session SET title = title || 'x'")
			}
			return nil
		})
		now := load(t, s, id).Title
		if times == readTries {
			if !errors.Is(err, sqlstore.ErrBusy) {
				t.Errorf("changing %d times: %v, want busy", times, err)
			}
			continue
		}
		if err != nil || runs != times+1 || title != now {
			t.Errorf("changing %d times: %d runs, %v; read %q, it is %q", times, runs, err, title, now)
		}
	}
}
