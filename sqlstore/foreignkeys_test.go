package sqlstore_test

import (
	"errors"
	"strconv"
	"strings"
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

// TestDeleteSession: a session is deleted with all its rows, unless a row of another table still refers to it.
func TestDeleteSession(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, sqlstore.Options{})
	before := dbtest.Dump(t, path)
	ops := deleteAll(load(t, s, id))
	if out := dbtest.Run(t, s, ops); out.State != change.Committed {
		t.Fatalf("Commit = %+v", out)
	}
	if ids, err := sessionIDs(t.Context(), s); err != nil || len(ids) != 0 {
		t.Errorf("sessions are left: %q, %v", ids, err)
	}
	if out := dbtest.Run(t, s, change.Inverse(ops)); out.State != change.Committed || dbtest.Dump(t, path) != before {
		t.Fatalf("undo = %+v", out)
	}
	// A session cannot be deleted without its messages, nor a message without its parts.
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

// TestParents: a row is not created without its parent.
func TestParents(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, sqlstore.Options{})
	ops := deleteAll(load(t, s, id))
	dbtest.Run(t, s, ops)
	undo := change.Inverse(ops) // session, then messages, then parts
	for _, some := range [][]change.Op{undo[1:], undo[11:], {undo[0], undo[11]}} {
		_, err := s.Prepare(t.Context(), change.Plan{Ops: some})
		if !hasConflict(conflictsIn(err), "which does not exist") {
			t.Errorf("creating %s without its parent: %v", some[0].Ref, err)
		}
	}
	dbtest.Alter(t, path, "DELETE FROM project")
	if _, err := s.Prepare(t.Context(), change.Plan{Ops: undo}); !hasConflict(conflictsIn(err), "project global, which does not exist") {
		t.Errorf("creating a session without its project: %v", err)
	}
}

// TestAllowMissingParent: with AllowMissingParent a plan may create a row without its parent, as the undo of such a row
// does, but it may not delete a parent of a row that stays.
func TestAllowMissingParent(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, sqlstore.Options{})
	ops := deleteAll(load(t, s, id))
	_, err := s.Prepare(t.Context(), change.Plan{Ops: ops[len(ops)-1:], AllowMissingParent: true})
	if !hasConflict(conflictsIn(err), "still refers to it") {
		t.Errorf("deleting a session alone: %v", err)
	}
	dbtest.Run(t, s, ops)
	st, err := s.Prepare(t.Context(), change.Plan{Ops: change.Inverse(ops)[11:12], AllowMissingParent: true})
	dbtest.Must(t, err)
	if out, err := s.Commit(t.Context(), st); err != nil || out.State != change.Committed {
		t.Errorf("creating a part without its message: %+v, %v", out, err)
	}
}

// TestForeignKeyToOtherColumn: a foreign key may name a column that is not the primary key.
func TestForeignKeyToOtherColumn(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, sqlstore.Options{})
	ops := deleteAll(load(t, s, id))
	dbtest.Alter(t, path, "CREATE UNIQUE INDEX other ON session (slug)", "CREATE TABLE extra (id PRIMARY KEY, s REFERENCES session (slug))")
	if _, err := s.Prepare(t.Context(), change.Plan{Ops: ops}); err != nil {
		t.Errorf("no row refers to it: %v", err)
	}
	dbtest.Alter(t, path, "INSERT INTO extra SELECT 'x', slug FROM session")
	if _, err := s.Prepare(t.Context(), change.Plan{Ops: ops}); !hasConflict(conflictsIn(err), "a row of extra still refers to it") {
		t.Errorf("a row refers to it: %v", err)
	}
}

// TestOrphanHidesNoMissingParent: a plan that deletes an orphan and creates another one is refused. SQLite's deferred
// foreign keys only count the orphans, and would commit that.
func TestOrphanHidesNoMissingParent(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, sqlstore.Options{})
	deleted := deleteAll(load(t, s, id))
	create := change.Inverse(deleted)[11:12] // a part, without its message
	dbtest.Run(t, s, deleted)
	dbtest.Alter(t, path, "INSERT INTO part SELECT 'prt_orphan', 'msg_none', 'ses_none', 1, 1, '{}'")
	ref := change.Ref{Kind: change.KindPart, Session: "ses_none", Message: "msg_none", Part: "prt_orphan"}
	now, err := s.Read(t.Context(), []change.Ref{ref})
	if err != nil || now[0] == nil {
		t.Fatalf("Read = %v, %v", now, err)
	}
	ops := append(create, change.Op{Ref: ref, Pre: now[0]})
	before := dbtest.DumpRows(t, path)
	out, err := s.Commit(t.Context(), change.Staged{Store: s.ID(), Ops: ops})
	if err != nil || out.State != change.Aborted || !hasConflict(out.Conflicts, "which does not exist") || dbtest.DumpRows(t, path) != before {
		t.Errorf("Commit = %+v, %v", out, err)
	}
}

// TestOtherRowsStay: a change is refused if the schema would make a statement change other rows, too.
func TestOtherRowsStay(t *testing.T) {
	for name, c := range map[string]struct{ do, want string }{
		"cascade":  {"CREATE TABLE extra (id PRIMARY KEY, m REFERENCES message (id) ON DELETE CASCADE)", "a row of extra still refers to it"},
		"set null": {"CREATE TABLE extra (id PRIMARY KEY, m REFERENCES message (id) ON DELETE SET NULL)", "a row of extra still refers to it"},
		"default":  {"CREATE TABLE extra (id PRIMARY KEY, m DEFAULT 'x' REFERENCES message (id) ON DELETE SET DEFAULT)", "a row of extra still refers to it"},
		"trigger":  {"CREATE TRIGGER extra AFTER DELETE ON message BEGIN DELETE FROM project; END", "the trigger extra"},
	} {
		t.Run(name, func(t *testing.T) {
			path, id := dbtest.Unpack(t, "1.18.33")
			s := open(t, path, sqlstore.Options{})
			ops := deleteAll(load(t, s, id))
			dbtest.Alter(t, path, c.do)
			if name != "trigger" {
				dbtest.Alter(t, path, "INSERT INTO extra SELECT 'x', min(id) FROM message")
			}
			before := dbtest.DumpRows(t, path)
			out, err := s.Commit(t.Context(), change.Staged{Store: s.ID(), Ops: ops})
			refused := hasConflict(out.Conflicts, c.want) || out.Cause != nil && strings.Contains(out.Cause.Error(), c.want)
			if err != nil || out.State != change.Aborted || !refused || dbtest.DumpRows(t, path) != before {
				t.Errorf("Commit = %+v, %v; want %q", out, err, c.want)
			}
		})
	}
}

// TestReplaceConstraint: a row is not created if a constraint of its table would delete another row.
func TestReplaceConstraint(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, sqlstore.Options{})
	before := load(t, s, id)
	deleted := deleteAll(before)
	parts := deleted[:len(deleted)-11]
	dbtest.Run(t, s, parts)
	dbtest.Alter(t, path, dbtest.Rebuild("part", "id text PRIMARY KEY, message_id text, session_id text, time_created integer UNIQUE ON CONFLICT REPLACE, time_updated integer, data"),
		"INSERT INTO part SELECT 'prt_other', min(id), session_id, "+timeOf(parts[0])+", 1, '{}' FROM message")
	previous := dbtest.DumpRows(t, path)
	out, err := s.Commit(t.Context(), change.Staged{Store: s.ID(), Ops: change.Inverse(parts[:1])})
	if err != nil || out.State != change.Aborted || out.Cause == nil || dbtest.DumpRows(t, path) != previous {
		t.Errorf("Commit = %+v, %v", out, err)
	}
}

// timeOf returns when the row that the op deletes was created.
func timeOf(o change.Op) string {
	r, err := change.RowOf(o.Ref, o.Pre)
	if err != nil {
		return err.Error()
	}
	c, _ := r.Col("time_created")
	n, _ := c.Int()
	return strconv.FormatInt(n, 10)
}

// TestReadAgain: an unlocked read is repeated if another program writes meanwhile, and fails after five attempts.
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
			if !errors.Is(err, change.ErrLocked) || strings.Contains(err.Error(), "has the database open") {
				t.Errorf("changing %d times: %v, want %v without a process", times, err, change.ErrLocked)
			}
			continue
		}
		if err != nil || runs != times+1 || title != now {
			t.Errorf("changing %d times: %d runs, %v; read %q, it is %q", times, runs, err, title, now)
		}
	}
}
