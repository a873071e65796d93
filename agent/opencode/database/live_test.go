package database

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/sqlstore"
)

// leftover is the state after an agent was killed: the database, a -wal with the
// last change in it, and a -shm if wanted.
func leftover(t testing.TB, shm bool) (path, id string) {
	t.Helper()
	from, id := unpack(t, "1.18.33")
	c := agent(t, from)
	sql(t, c, `UPDATE part SET data = json_set(data, '$.text', 'in the wal') WHERE data LIKE '%%"text":"Running."%%'`)
	path = filepath.Join(t.TempDir(), dbName)
	for name, data := range files(t, from) {
		if shm || filepath.Ext(name) != ".db-shm" {
			write(t, filepath.Join(filepath.Dir(path), name), data)
		}
	}
	return path, id
}

func write(t testing.TB, path, data string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

func hasText(s *record.Session, text string) bool {
	for _, m := range s.Messages {
		for _, p := range m.Parts {
			if p.Text == text {
				return true
			}
		}
	}
	return false
}

func TestReadLeftover(t *testing.T) {
	for _, shm := range []bool{true, false} {
		path, id := leftover(t, shm)
		before := files(t, path)
		s := open(t, path, Options{})
		if !hasText(load(t, s, id), "in the wal") {
			t.Errorf("shm %v: Load does not see the -wal", shm)
		}
		if held, err := s.Held(t.Context()); !held.IsZero() || err != nil {
			t.Errorf("shm %v: Held = %v, %v", shm, held, err)
		}
		same(t, before, files(t, path))
	}
}

func TestWriteLeftover(t *testing.T) {
	path, id := leftover(t, true)
	before := files(t, path)
	was := dump(t, path)
	s := open(t, path, Options{})
	ops := mixedOps(t, load(t, s, id))
	if out := run(t, s, ops); out.State != change.Committed {
		t.Fatalf("Commit = %+v", out)
	}
	after := files(t, path)
	if len(after) != len(before) || after[dbName] != before[dbName] {
		t.Errorf("the -wal was brought into the database")
	}
	run(t, s, change.Inverse(ops))
	if dump(t, path) != was {
		t.Error("undo did not give back what was there")
	}
}

func TestBesideAgent(t *testing.T) {
	path, id := unpack(t, "1.18.33")
	c := agent(t, path)
	sql(t, c, "UPDATE session SET title = 'of now'")
	before := files(t, path)
	s := open(t, path, Options{})
	got := load(t, s, id)
	if got.Title != "of now" {
		t.Errorf("title %q", got.Title)
	}
	now := files(t, path)
	delete(before, dbName+"-shm") // its locks are in it
	delete(now, dbName+"-shm")
	same(t, before, now)

	ops := mixedOps(t, got)
	if out := run(t, s, ops); out.State != change.Committed {
		t.Fatalf("Commit = %+v", out)
	}
	after := files(t, path)
	if after[dbName] != before[dbName] {
		t.Error("a live database was checkpointed")
	}
	if len(after) != 3 {
		t.Errorf("%d files, want 3", len(after))
	}
	sql(t, c, "UPDATE session SET title = 'later'; PRAGMA integrity_check")
	if got := load(t, s, id); got.Title != "later" || !hasText(got, "changed") {
		t.Errorf("title %q; change seen: %v", got.Title, hasText(got, "changed"))
	}
}

// TestAgentReads has a long reader and a checkpoint between all steps. Fault case 28.
func TestAgentReads(t *testing.T) {
	path, id := unpack(t, "1.2.27")
	reader, c := agent(t, path), agent(t, path)
	sql(t, reader, "BEGIN; SELECT count(*) FROM part")
	s := open(t, path, Options{})
	ops := mixedOps(t, load(t, s, id))
	was := dump(t, path)
	for range 3 {
		st, err := s.Prepare(t.Context(), change.Plan{Ops: ops})
		if err != nil {
			t.Fatal(err)
		}
		sql(t, c, "PRAGMA wal_checkpoint(PASSIVE)")
		if out, err := s.Commit(t.Context(), st); err != nil || out.State != change.Committed {
			t.Fatalf("Commit = %+v, %v", out, err)
		}
		sql(t, c, "PRAGMA wal_checkpoint(PASSIVE)")
		if out, err := s.Settle(t.Context(), st); err != nil || out.State != change.Committed {
			t.Fatalf("Settle = %+v, %v", out, err)
		}
		ops = change.Inverse(ops)
	}
	sql(t, reader, "COMMIT")
	run(t, s, ops)
	if dump(t, path) != was {
		t.Error("undo did not give back what was there")
	}
}

// TestBusy: fault case 27.
func TestBusy(t *testing.T) {
	path, id := unpack(t, "1.18.33")
	c := agent(t, path)
	s := open(t, path, Options{BusyTimeout: 50 * time.Millisecond})
	st, err := s.Prepare(t.Context(), change.Plan{Ops: mixedOps(t, load(t, s, id))})
	if err != nil {
		t.Fatal(err)
	}
	was := dump(t, path)
	sql(t, c, "BEGIN IMMEDIATE")
	out, err := s.Commit(t.Context(), st)
	if err != nil || out.State != change.Aborted || !errors.Is(out.Cause, sqlstore.ErrBusy) {
		t.Errorf("Commit = %+v, %v; want aborted, busy", out, err)
	}
	if _, err := s.Settle(t.Context(), st); !errors.Is(err, sqlstore.ErrBusy) {
		t.Errorf("Settle: %v, want busy", err)
	}
	sql(t, c, "ROLLBACK")
	if out, err := s.Settle(t.Context(), st); err != nil || out.State != change.Aborted {
		t.Errorf("Settle = %+v, %v; want aborted", out, err)
	}
	if dump(t, path) != was {
		t.Error("rows changed")
	}
	if out, err := s.Commit(t.Context(), st); err != nil || out.State != change.Committed {
		t.Errorf("Commit when free = %+v, %v", out, err)
	}
}

// TestWaits takes the lock as soon as the agent gives it back.
func TestWaits(t *testing.T) {
	path, id := unpack(t, "1.18.33")
	c := agent(t, path)
	s := open(t, path, Options{})
	st, err := s.Prepare(t.Context(), change.Plan{Ops: mixedOps(t, load(t, s, id))})
	if err != nil {
		t.Fatal(err)
	}
	sql(t, c, "BEGIN IMMEDIATE")
	time.AfterFunc(100*time.Millisecond, func() { _ = c.Exec("ROLLBACK") })
	if out, err := s.Commit(t.Context(), st); err != nil || out.State != change.Committed {
		t.Errorf("Commit = %+v, %v", out, err)
	}
}

// TestSideFileRights: a private database never has side files that others can
// read, and they are gone in the end.
func TestSideFileRights(t *testing.T) {
	path, id := unpack(t, "1.18.33")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	modes := map[string]os.FileMode{}
	s := open(t, path, Options{Step: func(what string) error {
		for _, suffix := range []string{"-wal", "-shm"} {
			if info, err := os.Stat(path + suffix); err == nil && what == "commit" {
				modes[suffix] = info.Mode()
			}
		}
		return nil
	}})
	run(t, s, mixedOps(t, load(t, s, id)))
	if modes["-wal"] != 0o640 || modes["-shm"] != 0o640 {
		t.Errorf("modes %v, want 640", modes)
	}
	if n := len(files(t, path)); n != 1 {
		t.Errorf("%d files, want 1", n)
	}
}

// TestRollbackJournal: a database that is not in WAL mode, such as a backup.
func TestRollbackJournal(t *testing.T) {
	path, id := unpack(t, "1.18.33")
	alter(t, path, "PRAGMA journal_mode=DELETE")
	was, before := dump(t, path), files(t, path)
	s := open(t, path, Options{BusyTimeout: 50 * time.Millisecond})
	ops := mixedOps(t, load(t, s, id))
	same(t, before, files(t, path))
	if out := run(t, s, ops); out.State != change.Committed {
		t.Fatalf("Commit = %+v", out)
	}
	if out := run(t, s, change.Inverse(ops)); out.State != change.Committed {
		t.Fatalf("undo = %+v", out)
	}
	if dump(t, path) != was || len(files(t, path)) != 1 {
		t.Error("undo did not give back what was there")
	}
	// A reader keeps the COMMIT itself from happening.
	st, err := s.Prepare(t.Context(), change.Plan{Ops: ops})
	if err != nil {
		t.Fatal(err)
	}
	c, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.Exec("BEGIN; SELECT count(*) FROM part"); err != nil {
		t.Fatal(err)
	}
	if out, err := s.Commit(t.Context(), st); err != nil || out.State != change.Aborted || !errors.Is(out.Cause, sqlstore.ErrBusy) {
		t.Errorf("Commit beside a reader = %+v, %v; want aborted, busy", out, err)
	}
	if dump(t, path) != was {
		t.Error("rows changed")
	}
}
