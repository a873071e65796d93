package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
	"mend/internal/test/dbtest"
	"mend/internal/test/storetest"
	"mend/sqlstore"
)

// leftover returns a database as a killed agent leaves it: with its last change in a -wal, and with a -shm if shm is set.
func leftover(t testing.TB, shm bool) (path, id string) {
	t.Helper()
	from, id := dbtest.Unpack(t, "1.18.33")
	c := dbtest.Agent(t, from)
	dbtest.Exec(t, c, `UPDATE part SET data = json_set(data, '$.text', 'in the wal') WHERE data LIKE '%%"text":"Running."%%'`)
	path = filepath.Join(t.TempDir(), dbtest.Name)
	for name, data := range dbtest.Files(t, from) {
		if shm || filepath.Ext(name) != ".db-shm" {
			dbtest.Write(t, filepath.Join(filepath.Dir(path), name), data)
		}
	}
	return path, id
}

// TestReadLeftover: a read of a database with a -wal sees the rows of the -wal, and changes no file.
func TestReadLeftover(t *testing.T) {
	for _, shm := range []bool{true, false} {
		path, id := leftover(t, shm)
		before := dbtest.Files(t, path)
		s := open(t, path, sqlstore.Options{})
		if !dbtest.HasText(load(t, s, id), "in the wal") {
			t.Errorf("shm %v: Load does not see the -wal", shm)
		}
		if held, err := s.Held(t.Context()); !held.IsZero() || err != nil {
			t.Errorf("shm %v: Held = %v, %v", shm, held, err)
		}
		dbtest.WantSame(t, before, dbtest.Files(t, path))
	}
}

// TestWriteLeftover: a change is added to the -wal of a killed agent, which is not checkpointed.
func TestWriteLeftover(t *testing.T) {
	path, id := leftover(t, true)
	before := dbtest.Files(t, path)
	previous := dbtest.Dump(t, path)
	s := open(t, path, sqlstore.Options{})
	ops := dbtest.MixedOps(t, load(t, s, id))
	if out := dbtest.Run(t, s, ops); out.State != change.Committed {
		t.Fatalf("Commit = %+v", out)
	}
	after := dbtest.Files(t, path)
	if len(after) != len(before) || after[dbtest.Name] != before[dbtest.Name] {
		t.Errorf("the -wal was checkpointed")
	}
	dbtest.Run(t, s, change.Inverse(ops))
	if dbtest.Dump(t, path) != previous {
		t.Error("after the undo the rows differ")
	}
}

// TestBesideAgent: mend reads and changes a database that an agent has open, without a checkpoint.
func TestBesideAgent(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	c := dbtest.Agent(t, path)
	dbtest.Exec(t, c, "UPDATE session SET title = 'of now'")
	before := dbtest.Files(t, path)
	s := open(t, path, sqlstore.Options{})
	got := load(t, s, id)
	if got.Title != "of now" {
		t.Errorf("title %q", got.Title)
	}
	now := dbtest.Files(t, path)
	delete(before, dbtest.Name+"-shm") // its locks are in it
	delete(now, dbtest.Name+"-shm")
	dbtest.WantSame(t, before, now)

	ops := dbtest.MixedOps(t, got)
	if out := dbtest.Run(t, s, ops); out.State != change.Committed {
		t.Fatalf("Commit = %+v", out)
	}
	after := dbtest.Files(t, path)
	if after[dbtest.Name] != before[dbtest.Name] {
		t.Error("a live database was checkpointed")
	}
	if len(after) != 3 {
		t.Errorf("%d files, want 3", len(after))
	}
	dbtest.Exec(t, c, "UPDATE session SET title = 'later'; PRAGMA integrity_check")
	if got := load(t, s, id); got.Title != "later" || !dbtest.HasText(got, "changed") {
		t.Errorf("title %q; change seen: %v", got.Title, dbtest.HasText(got, "changed"))
	}
}

// TestAgentReads: a long read and checkpoints of the agent between all steps do not prevent a change.
func TestAgentReads(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.2.27")
	reader, c := dbtest.Agent(t, path), dbtest.Agent(t, path)
	dbtest.Exec(t, reader, "BEGIN; SELECT count(*) FROM part")
	s := open(t, path, sqlstore.Options{})
	ops := dbtest.MixedOps(t, load(t, s, id))
	before := dbtest.Dump(t, path)
	for range 3 {
		st, err := s.Prepare(t.Context(), change.Plan{Ops: ops})
		if err != nil {
			t.Fatal(err)
		}
		dbtest.Exec(t, c, "PRAGMA wal_checkpoint(PASSIVE)")
		if out, err := s.Commit(t.Context(), st); err != nil || out.State != change.Committed {
			t.Fatalf("Commit = %+v, %v", out, err)
		}
		dbtest.Exec(t, c, "PRAGMA wal_checkpoint(PASSIVE)")
		if out, err := s.Settle(t.Context(), st); err != nil || out.State != change.Committed {
			t.Fatalf("Settle = %+v, %v", out, err)
		}
		ops = change.Inverse(ops)
	}
	dbtest.Exec(t, reader, "COMMIT")
	dbtest.Run(t, s, ops)
	if dbtest.Dump(t, path) != before {
		t.Error("after the undo the rows differ")
	}
}

// lockedByAgent returns a store with a prepared change, and a connection of the agent that holds the write lock.
func lockedByAgent(t *testing.T, o sqlstore.Options) (*sqlstore.Store, change.Staged, *sqlite3.Conn) {
	t.Helper()
	path, id := dbtest.Unpack(t, "1.18.33")
	c := dbtest.Agent(t, path)
	s := open(t, path, o)
	st, err := s.Prepare(t.Context(), change.Plan{Ops: dbtest.MixedOps(t, load(t, s, id))})
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Exec(t, c, "BEGIN IMMEDIATE")
	return s, st, c
}

// TestBusy: a change is aborted if the agent holds the write lock too long, and Settle decides when the lock is free.
func TestBusy(t *testing.T) {
	s, st, c := lockedByAgent(t, sqlstore.Options{BusyTimeout: 50 * time.Millisecond})
	path := s.ID().Root
	before := dbtest.Dump(t, path)
	out, err := s.Commit(t.Context(), st)
	if err != nil || out.State != change.Aborted || !errors.Is(out.Cause, change.ErrLocked) {
		t.Errorf("Commit = %+v, %v; want aborted, locked", out, err)
	}
	if _, err := s.Settle(t.Context(), st); !errors.Is(err, change.ErrLocked) {
		t.Errorf("Settle: %v, want locked", err)
	}
	dbtest.Exec(t, c, "ROLLBACK")
	if out, err := s.Settle(t.Context(), st); err != nil || out.State != change.Aborted {
		t.Errorf("Settle = %+v, %v; want aborted", out, err)
	}
	if dbtest.Dump(t, path) != before {
		t.Error("rows changed")
	}
	if out, err := s.Commit(t.Context(), st); err != nil || out.State != change.Committed {
		t.Errorf("Commit when free = %+v, %v", out, err)
	}
}

// TestCancelledWhileBusy: a context that ends during the wait for a lock ends the wait with its own error, and not with
// ErrLocked.
func TestCancelledWhileBusy(t *testing.T) {
	s, st, c := lockedByAgent(t, sqlstore.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	out, err := s.Commit(ctx, st)
	if err != nil || out.State != change.Aborted || !errors.Is(out.Cause, context.Canceled) || errors.Is(out.Cause, change.ErrLocked) {
		t.Errorf("Commit = %+v, %v; want aborted, cancelled", out, err)
	}
	if _, err := s.Settle(ctx, st); !errors.Is(err, context.Canceled) || errors.Is(err, change.ErrLocked) {
		t.Errorf("Settle: %v, want cancelled", err)
	}
	dbtest.Exec(t, c, "ROLLBACK")
}

// TestWaitsForLock: Commit waits until the agent releases the lock.
func TestWaitsForLock(t *testing.T) {
	s, st, c := lockedByAgent(t, sqlstore.Options{})
	released := make(chan error)
	time.AfterFunc(100*time.Millisecond, func() { released <- c.Exec("ROLLBACK") })
	if out, err := s.Commit(t.Context(), st); err != nil || out.State != change.Committed {
		t.Errorf("Commit = %+v, %v", out, err)
	}
	if err := <-released; err != nil {
		t.Error(err)
	}
}

// TestSideFileRights: the side files have the mode of the database, and are removed in the end.
func TestSideFileRights(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	modes := map[string]os.FileMode{}
	s := open(t, path, sqlstore.Options{Step: func(what string) error {
		for _, suffix := range []string{"-wal", "-shm"} {
			if info, err := os.Stat(path + suffix); err == nil && what == "commit" {
				modes[suffix] = info.Mode()
			}
		}
		return nil
	}})
	dbtest.Run(t, s, dbtest.MixedOps(t, load(t, s, id)))
	if modes["-wal"] != 0o640 || modes["-shm"] != 0o640 {
		t.Errorf("modes %v, want 640", modes)
	}
	if n := len(dbtest.Files(t, path)); n != 1 {
		t.Errorf("%d files, want 1", n)
	}
}

// TestRollbackJournal: a database that is not in WAL mode, such as a backup, is read and changed.
func TestRollbackJournal(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	dbtest.Alter(t, path, "PRAGMA journal_mode=DELETE")
	previous, before := dbtest.Dump(t, path), dbtest.Files(t, path)
	s := open(t, path, sqlstore.Options{BusyTimeout: 50 * time.Millisecond})
	ops := dbtest.MixedOps(t, load(t, s, id))
	dbtest.WantSame(t, before, dbtest.Files(t, path))
	if out := dbtest.Run(t, s, ops); out.State != change.Committed {
		t.Fatalf("Commit = %+v", out)
	}
	if out := dbtest.Run(t, s, change.Inverse(ops)); out.State != change.Committed {
		t.Fatalf("undo = %+v", out)
	}
	if dbtest.Dump(t, path) != previous || len(dbtest.Files(t, path)) != 1 {
		t.Error("after the undo the rows differ")
	}
	// A reader blocks the COMMIT itself.
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
	if out, err := s.Commit(t.Context(), st); err != nil || out.State != change.Aborted || !errors.Is(out.Cause, change.ErrLocked) {
		t.Errorf("Commit beside a reader = %+v, %v; want aborted, locked", out, err)
	}
	if dbtest.Dump(t, path) != previous {
		t.Error("rows changed")
	}
}

// TestBesideShortAgents: reads succeed while another program repeatedly opens the database, writes and closes it, which
// creates and removes the -wal and the -shm each time.
func TestBesideShortAgents(t *testing.T) {
	storetest.Long(t)
	path, id := dbtest.Unpack(t, "1.18.33")
	stop, done := make(chan struct{}), make(chan error)
	go func() {
		var err error
		for n := 0; err == nil; n++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			var c *sqlite3.Conn
			if c, err = sqlite3.Open(path); err == nil {
				_ = c.BusyTimeout(5 * time.Second)
				err = errors.Join(c.Exec(fmt.Sprintf("UPDATE session SET title = 'number %d'", n)), c.Close())
			}
		}
		done <- err
	}()
	for n := range storetest.Count(200, 50) {
		if _, err := read(t.Context(), open(t, path, sqlstore.Options{}), id); err != nil && !errors.Is(err, change.ErrLocked) {
			t.Errorf("read %d: %v", n, err)
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Errorf("the other program: %v", err)
	}
}
